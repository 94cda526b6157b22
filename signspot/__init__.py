"""Finds signs in signing video: whether and where a sign of a dictionary occurs.

    import signspot

    spotter = signspot.load()
    dictionary = signspot.open_dictionary("my-signs/")
    for hit in spotter.spot("news.mp4", dictionary["apple"]):
        print(f"{hit.start:.2f}-{hit.end:.2f} s  {hit.word}  {hit.score:.2f}")

Names are loaded when they are first used, so that `import signspot` and `signspot --help` are quick.
"""

from importlib import import_module

from signspot.version import VERSION

TYPE_CHECKING = False  # as in `typing`, which takes longer to load than all of this: Ctrl-C must find us awake
if TYPE_CHECKING:
    from typing import Any

    from signspot.adaptation.adapting import Adapted, adapt
    from signspot.adaptation.options import AdaptOptions
    from signspot.annotation.options import AnnotateOptions
    from signspot.annotation.run import AnnotationJob, annotate
    from signspot.corpus.corpus import Corpus, open_corpus
    from signspot.dictionary.dictionary import Dictionary
    from signspot.dictionary.opening import open_dictionary
    from signspot.embedding.exemplars import Gallery
    from signspot.embedding.tracks import read_track, write_track
    from signspot.errors import (
        CheckpointError,
        DictionaryError,
        DownloadError,
        EmptyVideoError,
        EncoderMismatchError,
        EngineError,
        FormatError,
        LandmarksError,
        MissingExtraError,
        MissingWordNetError,
        NoHandsError,
        NoPersonError,
        NotAVideoError,
        NothingToLearnError,
        OptionsError,
        OutputError,
        RefusedOutputError,
        SignspotError,
        StoreError,
        TrackError,
        UnknownWordError,
        UnreadableFileError,
        UnsafeFileError,
        VideoError,
        VideoLimitError,
    )
    from signspot.formats.formats import read_spottings, write
    from signspot.landmarks.estimate import estimate_landmarks
    from signspot.landmarks.landmarks import Landmarks
    from signspot.landmarks.pose_file import open_landmarks, write_landmarks
    from signspot.models.contract import Encoder
    from signspot.spotting.identification import Match
    from signspot.spotting.options import SpotOptions
    from signspot.spotting.search import Found
    from signspot.spotting.spotter import Spotter, load
    from signspot.types import Exemplar, Grid, Label, Segment, Spotting, Subtitle, Track

__version__ = VERSION


_HOME = {
    "AdaptOptions": "signspot.adaptation.options",
    "Adapted": "signspot.adaptation.adapting",
    "AnnotateOptions": "signspot.annotation.options",
    "AnnotationJob": "signspot.annotation.run",
    "CheckpointError": "signspot.errors",
    "Corpus": "signspot.corpus.corpus",
    "Dictionary": "signspot.dictionary.dictionary",
    "DictionaryError": "signspot.errors",
    "DownloadError": "signspot.errors",
    "EmptyVideoError": "signspot.errors",
    "Encoder": "signspot.models.contract",
    "EncoderMismatchError": "signspot.errors",
    "EngineError": "signspot.errors",
    "Exemplar": "signspot.types",
    "FormatError": "signspot.errors",
    "Found": "signspot.spotting.search",
    "Gallery": "signspot.embedding.exemplars",
    "Grid": "signspot.types",
    "Label": "signspot.types",
    "Landmarks": "signspot.landmarks.landmarks",
    "LandmarksError": "signspot.errors",
    "Match": "signspot.spotting.identification",
    "MissingExtraError": "signspot.errors",
    "MissingWordNetError": "signspot.errors",
    "NoHandsError": "signspot.errors",
    "NoPersonError": "signspot.errors",
    "NotAVideoError": "signspot.errors",
    "NothingToLearnError": "signspot.errors",
    "OptionsError": "signspot.errors",
    "OutputError": "signspot.errors",
    "RefusedOutputError": "signspot.errors",
    "Segment": "signspot.types",
    "SignspotError": "signspot.errors",
    "SpotOptions": "signspot.spotting.options",
    "Spotter": "signspot.spotting.spotter",
    "Spotting": "signspot.types",
    "StoreError": "signspot.errors",
    "Subtitle": "signspot.types",
    "Track": "signspot.types",
    "TrackError": "signspot.errors",
    "UnknownWordError": "signspot.errors",
    "UnsafeFileError": "signspot.errors",
    "VideoError": "signspot.errors",
    "UnreadableFileError": "signspot.errors",
    "VideoLimitError": "signspot.errors",
    "adapt": "signspot.adaptation.adapting",
    "annotate": "signspot.annotation.run",
    "estimate_landmarks": "signspot.landmarks.estimate",
    "load": "signspot.spotting.spotter",
    "open_corpus": "signspot.corpus.corpus",
    "open_dictionary": "signspot.dictionary.opening",
    "open_landmarks": "signspot.landmarks.pose_file",
    "read_spottings": "signspot.formats.formats",
    "read_track": "signspot.embedding.tracks",
    "write": "signspot.formats.formats",
    "write_landmarks": "signspot.landmarks.pose_file",
    "write_track": "signspot.embedding.tracks",
}

__all__ = [
    "AdaptOptions",
    "Adapted",
    "AnnotateOptions",
    "AnnotationJob",
    "CheckpointError",
    "Corpus",
    "Dictionary",
    "DictionaryError",
    "DownloadError",
    "EmptyVideoError",
    "Encoder",
    "EncoderMismatchError",
    "EngineError",
    "Exemplar",
    "FormatError",
    "Found",
    "Gallery",
    "Grid",
    "Label",
    "Landmarks",
    "LandmarksError",
    "Match",
    "MissingExtraError",
    "MissingWordNetError",
    "NoHandsError",
    "NoPersonError",
    "NotAVideoError",
    "NothingToLearnError",
    "OptionsError",
    "OutputError",
    "RefusedOutputError",
    "Segment",
    "SignspotError",
    "SpotOptions",
    "Spotter",
    "Spotting",
    "StoreError",
    "Subtitle",
    "Track",
    "TrackError",
    "UnknownWordError",
    "UnreadableFileError",
    "UnsafeFileError",
    "VideoError",
    "VideoLimitError",
    "adapt",
    "annotate",
    "estimate_landmarks",
    "load",
    "open_corpus",
    "open_dictionary",
    "open_landmarks",
    "read_spottings",
    "read_track",
    "write",
    "write_landmarks",
    "write_track",
]


def __getattr__(name: str) -> "Any":
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'signspot' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
