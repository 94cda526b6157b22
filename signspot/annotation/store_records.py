"""Records of annotation: one query for each subtitle and word, and its candidates with their evidence.

Scores are (1 + cosine) / 2, in [0, 1]. Times are seconds in the video. A *negative* is another word of the dictionary,
drawn at random once for a run: a subtitle has no reason to expect it, so what it scores is what chance scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from signspot.types import Confidence, Label, LabelSource, Spotting, TimeMeaning, VideoRights
from signspot.words.match import Form

BELOW = 0.1  # how far below the encoder's threshold candidates are kept, unless the user says else
SOURCE = "source"  # the setting of a store that says what was searched


@dataclass(frozen=True, slots=True)
class SubtitleQuery:
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
    negatives: int  # how many other words were compared
    negative_best: float | None  # the highest score of any of them between start and end
    negative_mean: float | None  # the mean of their highest scores there
    negatives_above: int  # how many of them reach the word's best or more


@dataclass(frozen=True, slots=True)
class Candidate:
    """A peak of a query; (video, subtitle, word, rank) is unique in a store.

    Exemplars and negatives are compared at the peak: each counts with its highest score within a few frames of it.
    """

    video: str
    subtitle: int
    word: str
    rank: int  # among the peaks of the query, from 1, the best
    time: float  # of the peak: the middle of the best window, or of a mouthing its end
    start: float  # of the sign, as a spotting's
    end: float
    score: float  # best over all exemplars and variants
    exemplar: str  # id of the best exemplar
    variant: str  # of the best exemplar
    mirrored: bool  # the exemplar matched left-right mirrored
    exemplars: int  # of the word
    agreeing: int  # exemplars whose score is within the agreement margin of the best, the best one included
    exemplar_second: float | None  # the second-best exemplar's score; None: there is only one
    exemplar_mean: float  # the mean score over all exemplars
    negatives: int  # how many other words were compared
    negative_best: float | None  # the highest score of any of them at the peak; None: there are none
    negative_mean: float | None  # the mean of their scores at the peak
    negatives_above: int  # how many of them reach the word's score or more
    source: LabelSource = LabelSource.DICTIONARY  # what was searched: signs by a dictionary, or lips
    at: TimeMeaning = TimeMeaning.SPAN  # which part of the sign is known: its span, or with mouthings its end
    confidence: Confidence = ""  # as the spotting has it
    false_alarms_per_hour: float | None = None  # of the word at this score, in this video; None: not known
    licence: str = ""  # of the best exemplar
    consent: str = ""  # of its signer: what they agreed to

    def as_spotting(self, video: str | None = None, rights: VideoRights | None = None) -> Spotting:
        """The candidate as it leaves for files.

        Args:
            video: the path of its video as the user gave it.
            rights: what may be done with that video, as its corpus tells it.
        """
        of_video = rights or VideoRights()
        return Spotting(
            word=self.word,
            video=self.video if video is None else video,
            time=self.time,
            start=self.start,
            end=self.end,
            score=self.score,
            exemplar=self.exemplar,
            variant=self.variant,
            mirrored=self.mirrored,
            source=self.source,
            confidence=self.confidence,
            false_alarms_per_hour=self.false_alarms_per_hour,
            licence=self.licence,
            consent=self.consent,
            video_licence=of_video.licence,
            video_consent=of_video.consent,
        )

    def as_label(self, rights: VideoRights | None = None) -> Label:
        """The candidate as training data; `rights` as with spottings."""
        of_video = rights or VideoRights()
        start, end = (self.start, self.end) if self.at is TimeMeaning.SPAN else (None, None)
        return Label(
            *(self.word, self.video, self.time, self.score, self.source, start, end, self.at),
            licence=self.licence,
            consent=self.consent,
            video_licence=of_video.licence,
            video_consent=of_video.consent,
        )


@dataclass(frozen=True, slots=True)
class VideoRecord:
    """A store's record of a video."""

    video: str
    digest: str  # of its content; empty if it could not be read
    seconds: float  # how long it is
    problem: str = ""  # why it could not be annotated; empty: it was
    remarks: str = ""  # on what could not be seen in it, one per line; empty: there are none


@dataclass(frozen=True, slots=True)
class Findings:
    """Results of one unit of work, stored as a whole or not at all."""

    video: VideoRecord
    keys: Mapping[str, str]  # word → what its result follows from, as a digest; these words are done
    queries: tuple[SubtitleQuery, ...] = field(repr=False)
    candidates: tuple[Candidate, ...] = field(repr=False)
