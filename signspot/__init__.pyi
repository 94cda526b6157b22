# The public names, each spelled once: type checkers read this file, and `__init__.py` loads from it.
from . import errors as errors
from .annotation.run import AnnotationJob as AnnotationJob
from .annotation.run import annotate as annotate
from .annotation.run_options import AnnotateOptions as AnnotateOptions
from .corpus.corpus import Corpus as Corpus
from .corpus.corpus import open_corpus as open_corpus
from .dictionary.dictionary import Dictionary as Dictionary
from .dictionary.open_dictionary import open_dictionary as open_dictionary
from .embedding.tracks import read_track as read_track
from .embedding.tracks import write_track as write_track
from .errors import SignspotError as SignspotError
from .errors import UnknownWordError as UnknownWordError
from .errors import VideoError as VideoError
from .formats.formats import read_spottings as read_spottings
from .formats.formats import write as write
from .landmarks.landmarks import Landmarks as Landmarks
from .landmarks.pose_file import open_landmarks as open_landmarks
from .landmarks.pose_file import write_landmarks as write_landmarks
from .landmarks.video_estimation import estimate_landmarks as estimate_landmarks
from .models.encoder import Encoder as Encoder
from .spotting.spot_options import SpotOptions as SpotOptions
from .spotting.spotter import Spotter as Spotter
from .spotting.spotter import load as load
from .training.adaptation import adapt as adapt
from .training.adaptation_data import AdaptOptions as AdaptOptions
from .types import Exemplar as Exemplar
from .types import Label as Label
from .types import Segment as Segment
from .types import Spotting as Spotting
from .types import Subtitle as Subtitle
from .types import Track as Track

__version__: str
__all__: list[str]
