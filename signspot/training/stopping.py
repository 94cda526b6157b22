"""How a training is stopped: Ctrl-C, or a cluster's SIGTERM, is noted, and obeyed after the step, when all is saved."""

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_PATIENCE = 1.0  # seconds; signals nearer than that are one


class StopSign:
    """Within the block, a signal to stop is only noted; a second one, a while later, stops at once."""

    def __init__(self) -> None:
        self.heard = False
        self._first = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSign":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.heard and time.monotonic() - self._first > _PATIENCE:
            raise KeyboardInterrupt
        if not self.heard:
            self.heard, self._first = True, time.monotonic()
