"""What annotation finds and stores: one query for each subtitle and word, and its candidates with their evidence.

Scores are (1 + cosine) / 2, in [0, 1]. Times are seconds in the video. An *impostor* is another word of the dictionary,
drawn at random once for a run: a subtitle has no reason to expect it, so what it scores is what chance scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from signspot.records import LabelSource, Spotting
from signspot.text.lattice import Form


@dataclass(frozen=True, slots=True)
class Query:
    """A word of a subtitle that was looked for around that subtitle; (video, subtitle, word) is unique in a store."""

    video: str  # its path in the corpus, without suffix
    subtitle: int  # in order of time, from 0
    word: str  # as the dictionary has it
    form: Form  # in which form it stands in the text
    first: int  # text[first:last] is what matched; where it stands there more than once, the first time
    last: int
    mentions: int  # how often it stands in the text
    text: str  # of the subtitle
    subtitle_start: float  # when the subtitle is shown
    subtitle_end: float
    start: float  # where it was looked for: the subtitle's time, padded, within the video
    end: float
    exemplars: int  # of the word
    best: float | None  # the highest score of the word between start and end; None: no window lies there
    impostors: int  # how many other words were compared
    impostor_best: float | None  # the highest score of any of them between start and end
    impostor_mean: float | None  # the mean of their highest scores there
    impostors_above: int  # how many of them reach the word's best or more


@dataclass(frozen=True, slots=True)
class Candidate:
    """A peak of a query; (video, subtitle, word, rank) is unique in a store.

    Exemplars and impostors are compared at the peak: each counts with its highest score within a few frames of it.
    """

    video: str
    subtitle: int
    word: str
    rank: int  # among the peaks of the query, from 1, the best
    time: float  # of the peak: the middle of the best window
    start: float  # of the clip: 32 frames around the peak, within the video
    end: float
    score: float  # best over all exemplars and variants
    exemplar: str  # id of the best exemplar
    variant: str  # of the best exemplar
    mirrored: bool  # the exemplar matched left-right mirrored
    exemplars: int  # of the word
    agreeing: int  # exemplars whose score is within the agreement margin of the best, the best one included
    exemplar_second: float | None  # the second-best exemplar's score; None: there is only one
    exemplar_mean: float  # the mean score over all exemplars
    impostors: int  # how many other words were compared
    impostor_best: float | None  # the highest score of any of them at the peak; None: there are none
    impostor_mean: float | None  # the mean of their scores at the peak
    impostors_above: int  # how many of them reach the word's score or more

    @property
    def margin(self) -> float | None:
        """The score less that of the best impostor; None without impostors."""
        return None if self.impostor_best is None else self.score - self.impostor_best

    def as_spotting(self) -> Spotting:
        """The candidate as it leaves for files and training."""
        return Spotting(
            word=self.word,
            video=self.video,
            time=self.time,
            start=self.start,
            end=self.end,
            score=self.score,
            exemplar=self.exemplar,
            variant=self.variant,
            mirrored=self.mirrored,
            source=LabelSource.DICTIONARY,
        )


@dataclass(frozen=True, slots=True)
class VideoRecord:
    """What a store knows of a video."""

    video: str
    digest: str  # of its content; empty if it could not be read
    seconds: float  # how long it is
    problem: str = ""  # why it could not be annotated; empty: it was


@dataclass(frozen=True, slots=True)
class Findings:
    """All that one unit of work found, stored as a whole or not at all."""

    video: VideoRecord
    keys: Mapping[str, str]  # word → what its result follows from, as a digest; these words are done
    queries: tuple[Query, ...] = field(repr=False)
    candidates: tuple[Candidate, ...] = field(repr=False)
