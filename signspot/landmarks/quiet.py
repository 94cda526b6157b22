"""Keeps the log lines of MediaPipe's C++ parts off the user's stderr."""

import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

_STDERR = 2
_NOISE = re.compile(
    rb"^(?:[IWEF]\d{4,8} \d\d:\d\d:\d+\.\d+ .*"  # absl, with or without its clock
    rb"|WARNING: All log messages before absl::InitializeLog\(\).*"
    rb"|(?:INFO|WARNING): .*(?:TensorFlow Lite|TfLite|XNNPACK|delegate).*)\n?"
)
_lock = threading.RLock()  # stderr belongs to the whole process: one at a time


@contextmanager
def without_noise() -> Iterator[None]:
    """Hold back what is written to stderr meanwhile; then log MediaPipe's lines and pass on all others."""
    with _lock, tempfile.TemporaryFile() as held:
        try:
            stderr = os.dup(_STDERR)
        except OSError:  # there is no stderr, so nothing to keep clean
            yield
            return
        try:
            os.dup2(held.fileno(), _STDERR)
            yield
        finally:
            os.dup2(stderr, _STDERR)
            held.seek(0)
            for line in held:
                if _NOISE.match(line):
                    logger.debug("mediapipe: %s", line.decode(errors="replace").rstrip())
                else:
                    os.write(_STDERR, line)
            os.close(stderr)
