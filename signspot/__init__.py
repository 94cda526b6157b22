"""Finds signs in signing video: whether and where a sign of a dictionary occurs.

    import signspot

    spotter = signspot.load()
    dictionary = signspot.open_dictionary("my-signs/")
    for hit in spotter.spot("news.mp4", dictionary["apple"]):
        print(f"{hit.start:.2f}-{hit.end:.2f} s  {hit.word}  {hit.score:.2f}")

Names are loaded when they are first used, so that `import signspot` and `signspot --help` are quick.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from signspot.version import VERSION

if TYPE_CHECKING:
    from signspot.dictionary.dictionary import Dictionary
    from signspot.dictionary.opening import open_dictionary
    from signspot.embedding.tracks import read_track, write_track
    from signspot.errors import SignspotError
    from signspot.formats.formats import read_spottings, write
    from signspot.landmarks.estimate import estimate_landmarks
    from signspot.landmarks.landmarks import Landmarks
    from signspot.landmarks.pose_file import open_landmarks
    from signspot.models.encoder import Encoder
    from signspot.records import Exemplar, Label, Spotting, Subtitle
    from signspot.spotting.search import SpotOptions
    from signspot.spotting.spotter import Spotter, load
    from signspot.timeline import Grid, Segment, Track

__version__ = VERSION

logging.getLogger(__name__).addHandler(logging.NullHandler())  # the library speaks only where somebody listens

_HOME = {
    "Dictionary": "signspot.dictionary.dictionary",
    "Encoder": "signspot.models.encoder",
    "Exemplar": "signspot.records",
    "Grid": "signspot.timeline",
    "Label": "signspot.records",
    "Landmarks": "signspot.landmarks.landmarks",
    "Segment": "signspot.timeline",
    "SignspotError": "signspot.errors",
    "SpotOptions": "signspot.spotting.search",
    "Spotter": "signspot.spotting.spotter",
    "Spotting": "signspot.records",
    "Subtitle": "signspot.records",
    "Track": "signspot.timeline",
    "estimate_landmarks": "signspot.landmarks.estimate",
    "load": "signspot.spotting.spotter",
    "open_dictionary": "signspot.dictionary.opening",
    "open_landmarks": "signspot.landmarks.pose_file",
    "read_spottings": "signspot.formats.formats",
    "read_track": "signspot.embedding.tracks",
    "write": "signspot.formats.formats",
    "write_track": "signspot.embedding.tracks",
}

__all__ = [
    "Dictionary",
    "Encoder",
    "Exemplar",
    "Grid",
    "Label",
    "Landmarks",
    "Segment",
    "SignspotError",
    "SpotOptions",
    "Spotter",
    "Spotting",
    "Subtitle",
    "Track",
    "estimate_landmarks",
    "load",
    "open_dictionary",
    "open_landmarks",
    "read_spottings",
    "read_track",
    "write",
    "write_track",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'signspot' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
