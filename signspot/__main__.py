"""The entry point of `signspot` and `python -m signspot`: Ctrl-C is heeded before the commands are loaded.

Nothing is imported here that takes long: until `run` begins, Ctrl-C is Python's own, which answers with a traceback.
"""

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def run() -> "NoReturn":
    """Load the commands and run the one that was asked for."""
    stopped: list[int] = []

    def end_at_once(number: int, frame: "FrameType | None") -> None:
        """Nothing was begun, and modules that are half loaded cannot be left in order."""
        os.write(2, b"signspot: stopped; nothing was begun\n")
        os._exit(130)

    def interrupt(number: int, frame: "FrameType | None") -> "NoReturn":
        """Libraries that are being loaded turn this into errors of all kinds, so it is noted, too."""
        stopped.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end_at_once)
    from signspot.cli.app import run as run_command

    signal.signal(signal.SIGINT, interrupt)
    run_command(stopped)


if __name__ == "__main__":
    run()
