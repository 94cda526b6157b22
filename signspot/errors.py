"""Every mistake that a user can make, as one tree; a message says what, with which value, and what to do.

SignspotError               base of all
├── VideoError               a video cannot be read
│   ├── NotAVideoError       it is not a video, or holds no picture
│   ├── EmptyVideoError      it holds no frame, or none in the segment asked for
│   └── VideoLimitError      it asks for more pixels, time or memory than is given
├── LandmarksError           landmarks cannot be used
│   ├── NoPersonError        nobody is in view
│   └── NoHandsError         no hand is ever seen
├── DictionaryError          a dictionary cannot be opened or built
│   └── UnknownWordError     a word is not in it (also a KeyError)
├── CheckpointError          weights cannot be loaded
│   └── UnsafeFileError      a file asks to run code: refused
├── TrackError               embeddings cannot be used
│   └── EncoderMismatchError they were made by another encoder
├── FormatError              a file is not what its name says
├── UnreadableFileError      a file cannot be read to its end (also an OSError)
├── OutputError              a result cannot be written
│   └── RefusedOutputError   it would destroy a file, or its name does not fit (also an OptionsError)
├── DownloadError            a file cannot be fetched
├── StoreError               a store of annotations cannot be opened, reached or used
├── EngineError              workers cannot be started, or break down again and again
├── SandboxStartError        the process for untrusted files cannot be started: nothing was read
├── SandboxLimitError        work in that process took too long or too much memory, or broke down
├── NothingToLearnError      a corpus holds nothing that can be learnt
├── OptionsError             a value is out of range (also a ValueError)
└── MissingExtraError        an optional dependency is not installed
    └── MissingWordNetError  WordNet's files are not there
"""

import logging
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from signspot.io.control_characters import message

logging.getLogger("signspot").addHandler(logging.NullHandler())  # the library speaks only where somebody listens


class SignspotError(Exception):
    """Base of all errors that signspot raises for a user's mistake or an unusable file."""

    def __str__(self) -> str:
        """The message on one line, whatever a file that it quotes holds."""
        return message(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is sent between processes: whatever its constructor takes, it arrives with the same text."""
        return _revive, (type(self), self.args, vars(self))


def _revive(kind: type[SignspotError], args: tuple[Any, ...], values: dict[str, Any]) -> SignspotError:
    error = kind.__new__(kind, *args)
    vars(error).update(values)
    return error


class VideoError(SignspotError):
    """A video cannot be read."""


class NotAVideoError(VideoError):
    """A file is not a video, or it holds no picture stream."""


class EmptyVideoError(VideoError):
    """A video holds no frame, or none in the segment that was asked for."""


class VideoLimitError(VideoError):
    """A video asks for more pixels, time or memory than one video is given."""


class LandmarksError(SignspotError):
    """Landmarks cannot be used."""


class NoPersonError(LandmarksError):
    """Nobody is in view."""


class NoHandsError(LandmarksError):
    """No hand is ever seen."""


class DictionaryError(SignspotError):
    """A dictionary cannot be opened or built."""


class UnknownWordError(DictionaryError, KeyError):
    """A word is not in the dictionary."""

    def __init__(self, word: str, words: Iterable[str]):
        allowed = list(words)
        near = get_close_matches(word, allowed, n=1, cutoff=0.6)
        hint = f" Did you mean '{near[0]}'?" if near else " See the words with: signspot dictionary info"
        self.word = word
        self.message = message(f"no word '{word}' in this dictionary ({len(allowed):,} words).{hint}")
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class CheckpointError(SignspotError):
    """Weights cannot be loaded."""


class UnsafeFileError(CheckpointError, DictionaryError):
    """A file asks to run code when it is read; it was refused and nothing was run."""


class TrackError(SignspotError):
    """Embeddings cannot be used."""


class EncoderMismatchError(TrackError):
    """A track or an exemplar was embedded by another encoder."""


class FormatError(SignspotError):
    """A file is not in the format that its name or content promises."""


class UnreadableFileError(SignspotError, OSError):
    """A file is not there, may not be read, or its disk fails."""


class OutputError(SignspotError):
    """A result cannot be written."""


class DownloadError(SignspotError):
    """A file cannot be fetched."""


class StoreError(SignspotError):
    """A store of annotations cannot be opened, reached or used."""


class EngineError(SignspotError):
    """Workers cannot be started, or break down again and again."""


class SandboxStartError(SignspotError):
    """The process for untrusted files cannot be started; nothing was read."""


class SandboxLimitError(SignspotError):
    """Work on an untrusted file took too long or too much memory, or broke down."""


class NothingToLearnError(SignspotError):
    """A corpus holds nothing that can be learnt."""


class OptionsError(SignspotError, ValueError):
    """An option has a value that is not allowed."""


class RefusedOutputError(OutputError, OptionsError):
    """An output was refused before any work: it would destroy a file, or its name does not fit."""


class MissingExtraError(SignspotError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(f"{purpose} needs {package}. Install it with: pip install 'signspot[{extra}]'")


class MissingWordNetError(MissingExtraError):
    """WordNet's files are not there; no pip brings them."""

    def __init__(self, folder: Path, name: str):
        ImportError.__init__(
            self,
            f"English synonyms need WordNet; there is no {name} in {folder}. "
            "Install it, on Debian with: sudo apt-get install wordnet-base, or name its folder.",
        )
