"""The whole loop of the paper: labels M, adaptation, annotation D, recognisers on M, D and M + D, and one report.

Every stage does what an ordinary command does, keeps a record of what its outcome follows from, by content, and is done
again only where that changed. An interrupted loop continues where it was.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from signspot.annotation.engines import Engine
from signspot.annotation.run import AnnotationJob, MouthingJob, RunReport, annotate, annotate_mouthings
from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.corpus.corpus import Corpus, open_corpus, with_split
from signspot.corpus.labels import are_beside, contradicted
from signspot.corpus.truth import read_records, right_labels, write_records
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.inputs import footage_landmarks
from signspot.errors import DictionaryError, FormatError, NothingToLearnError, OptionsError, SignspotError
from signspot.io.checks import check_numbers, parse_json, path_inside
from signspot.io.files import atomic_write, cache_folder, content_digest, text_digest
from signspot.io.progress import Stage, quiet
from signspot.io.text import read_text
from signspot.landmarks.features import features
from signspot.models.checkpoints import save_encoder
from signspot.plots.curves import COLOURS
from signspot.plots.plot import lettering
from signspot.plots.result_page import Clip, clips, drawing, heading, paragraph, table, write_page
from signspot.plots.skeletons import skeleton_clip
from signspot.recognition.recogniser import Recogniser, RgbRecogniser, as_recogniser, save_recogniser
from signspot.recognition.scoring import RecogniserScores
from signspot.spotting.spotter import load
from signspot.training.adaptation import adapt
from signspot.training.adaptation_data import AdaptOptions
from signspot.training.landmark_clips import ClipOptions, CutSigns, cut_signs
from signspot.training.recogniser import RecogniserConfig, score_recogniser, train_recogniser_on_corpus
from signspot.training.rgb import train_rgb_on_corpus
from signspot.training.rgb_clips import RgbConfig
from signspot.training.run_folder import Run
from signspot.types import Label, LabelSource

LabelsM = Literal["auto", "given", "lips", "none"]
Outcome = dict[str, Any]
SOURCES = {"M": "MV", "D": "D", "M+D": "MDV"}  # recognisers, and the labels that each learns from
# origins of labels
_GIVEN, _LIPS, _DICTIONARY = "given with the corpus", "found on the lips", "found with the dictionary"

SMALL_RECOGNISER = RecogniserConfig(  # as configs/recogniser.toml: half a minute of one core
    steps=400,
    clips=ClipOptions(clips=64, dictionary=0.25),
    model={"hand_width": 32, "part_width": 16, "width": 64, "last_width": 128, "features": 128, "norm": "batch"},
)


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """Options of the loop."""

    labels: LabelsM = "auto"  # M: those of the corpus where there are any, else by lips; or one of both, or none
    encoder: str | None = None  # name or file; None: the shipped one
    adapt: AdaptOptions = field(default_factory=AdaptOptions)
    recogniser: RecogniserConfig | RgbConfig = field(default_factory=lambda: SMALL_RECOGNISER)
    threshold: float | None = None  # of D; None: the encoder's
    language: str = "en"
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_numbers(self, "threshold", least=0, most=1)


@dataclass(frozen=True, slots=True)
class StageDone:
    """A stage of the loop."""

    name: str
    outcome: Mapping[str, Any]  # plain values, among them a line `message`
    redone: bool  # in this run; else it was there


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The outcome of a run of the loop."""

    stages: tuple[StageDone, ...]
    labels: Mapping[str, list[Label]]  # "M" and "D"

    def outcome(self, name: str) -> Mapping[str, Any]:
        """The outcome of a stage by its name; empty where there was none."""
        return next((stage.outcome for stage in self.stages if stage.name == name), {})

    def origin(self, name: str) -> str:
        """For people: where the labels "M", "D" or "M+D" come from."""
        mouthed = str(self.outcome("labels M").get("origin", _LIPS))
        return {"M": mouthed, "D": _DICTIONARY, "M+D": f"{mouthed} or {_DICTIONARY}"}[name]

    def lines(self) -> list[tuple[str, str, str]]:
        """For people: each stage, whether it was done in this run, and what it came to."""
        return [
            (self._title(stage.name), "done now" if stage.redone else "unchanged", str(stage.outcome["message"]))
            for stage in self.stages
        ]

    def _title(self, stage: str) -> str:
        kind, _, name = stage.partition(" ")
        titles = {"labels": "labels {}", "recogniser": "recogniser by labels {}"}
        return titles[kind].format(self.origin(name)) if kind in titles else "adaptation of the encoder"


class Loop:
    """One corpus, one dictionary, one folder for everything."""

    def __init__(self, corpus: Path, dictionary: Path, out: Path, options: LearnOptions, engine: Callable[[], Engine]):
        """Prepare the loop; `engine` makes who annotates, for each stage anew.

        Raises:
            FormatError, DictionaryError, CheckpointError: there is no corpus, dictionary or encoder.
        """
        self.folder, self.dictionary, self.out = corpus, dictionary, out
        self.options, self.engine = options, engine
        footage = open_corpus(corpus, options.language)
        self.signs: Dictionary = open_dictionary(dictionary)
        self.spotter = load(options.encoder, device=options.device)
        self.corpus: Corpus = with_split(footage, out / "splits.json")
        self.training = frozenset(video.id for video in self.corpus.in_split("train"))
        self.stages: list[StageDone] = []
        self.asked: list[str] = []  # words that recognisers are tested on

    @cached_property
    def content(self) -> tuple[str, str]:
        """Digests of all files of the corpus and of the dictionary."""
        return _digest(self.folder), _digest(self.dictionary)

    def run(self, stage: Stage = quiet) -> LoopResult:
        """Do what is left to do.

        Raises:
            NothingToLearnError: no two words have labels M or D, or none of the recognisers can be trained.
        """
        footage, signs = self.content
        speech = self.options.language
        inputs = {"footage": footage, "signs": signs, "how": self.options.labels, "language": speech}
        mouthed = self._do("labels M", inputs, lambda: self._mouthings(stage))
        adapted = self._do(
            "adaptation",
            {
                **inputs,
                "encoder": self.options.encoder,
                "how": asdict(self.options.adapt),
                "videos": sorted(self.training),
            },
            lambda: self._adapt(stage),
        )
        how = {**inputs, "how": "", "encoder": adapted["hash"], "threshold": self.options.threshold}
        annotated = self._do("labels D", how, lambda: self._annotate(adapted, stage))
        labels = {"M": self._labels(mouthed), "D": self._labels(annotated)}
        learnt = (label for of_source in labels.values() for label in of_source if label.video in self.training)
        self.asked = sorted({label.word for label in learnt})  # of all recognisers alike
        if len(self.asked) < 2:
            raise NothingToLearnError(
                f"nothing can be learnt from {self.folder}: a recogniser needs labels of two words. "
                f"By lips, or given: {mouthed['message']}. With the dictionary: {annotated['message']}"
            )
        self._recognisers(labels, {"footage": footage, "signs": signs}, stage)
        result = LoopResult(tuple(self.stages), labels)
        messages = [
            f"Labels {result.origin(name)}: {result.outcome(f'recogniser {name}').get('message', 'too few')}"
            for name in SOURCES
        ]
        if not any(stage.name.startswith("recogniser") and stage.outcome.get("files") for stage in self.stages):
            raise NothingToLearnError(
                f"no recogniser can be trained on the labels of {self.folder}, kept in {self.out}. "
                + ". ".join(messages)
            )
        return result

    def _do(self, name: str, key: Mapping[str, Any], work: Callable[[], Outcome]) -> Outcome:
        """Take a stage's outcome from its record, if it follows from the same and its files are there; else do it."""
        digest = text_digest(json.dumps(key, sort_keys=True, default=str))
        earlier = kept_outcome(self.out, name, digest)
        if earlier is not None:
            self.stages.append(StageDone(name, earlier, redone=False))
            return earlier
        outcome = work()
        self.stages.append(StageDone(name, outcome, redone=True))
        if outcome.get("failed"):  # by something that may lie outside of the key: it is tried again next time
            return outcome
        record = {"key": digest, "outcome": outcome, "checksum": _checksum(outcome)}
        with atomic_write(_record(self.out, name)) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return outcome

    def _mouthings(self, stage: Stage) -> Outcome:
        """Labels M: given ones, or those on the lips."""
        how = self.options.labels
        labels = [label for label in self.corpus.labels() if label.source is not LabelSource.DICTIONARY]
        if how == "none":
            return {"message": "none, as asked for", "count": 0}
        if how == "given" and not labels:
            return {"message": f"none: {self.folder / 'labels'} holds no label of a video of the corpus", "count": 0}
        if labels and how != "lips":
            return self._keep("M", labels, _GIVEN)
        store = self.out / f"mouthings-{self.options.language}"
        job = MouthingJob(self.corpus, store, dictionary=self.signs)
        try:
            report = annotate_mouthings(job, RunOptions(language=self.options.language), self.engine(), stage)
        except (OptionsError, FormatError) as error:
            return {"message": _none(error), "count": 0, "failed": True}
        return self._keep("M", [candidate.as_label() for candidate in report.spottings], _LIPS, _unseen(report))

    def _adapt(self, stage: Stage) -> Outcome:
        spotter = self.spotter
        key = text_digest(json.dumps([*self.content, asdict(self.options.adapt), sorted(self.training)]))
        folder = self.out / "adaptation" / f"{key}-{spotter.encoder.hash[:8]}" / "adapted"  # its name is the encoder's
        base = {"hash": spotter.encoder.hash, "file": self.options.encoder}
        try:
            adaptation = adapt(
                spotter, self.corpus, self.signs, folder, self.options.adapt, stage=stage, command="signspot learn"
            )
        except (OptionsError, DictionaryError) as error:
            return {**base, "message": f"not adapted: {error}"}
        gains = {match: adaptation.deciding(match).as_dict() for match in adaptation.gains}
        if adaptation.encoder is None:
            return {**base, "message": f"no gain on held-out footage: '{adaptation.base.name}' stays", "gains": gains}
        target = folder / "adapted.safetensors"
        saved = save_encoder(adaptation.encoder, target, half=True)
        message = (
            f"adapted on {adaptation.learned:,} segments of {adaptation.videos:,} training videos, "
            f"held out {adaptation.held:,}; {adaptation.test_videos:,} test videos were not used"
        )
        files = [str(target.relative_to(self.out))]
        return {"hash": saved.hash, "file": str(target), "message": message, "gains": gains, "files": files}

    def _annotate(self, adapted: Outcome, stage: Stage) -> Outcome:
        store = path_inside(self.out, f"annotation-{adapted['hash'][:8]}-{self.options.language}", "the run")
        how = {"encoder": adapted["file"], "threshold": self.options.threshold, "device": self.options.device}
        job = AnnotationJob(self.corpus, self.signs, store, **how)
        try:
            report = annotate(job, AnnotateOptions(language=self.options.language), self.engine(), stage)
        except (DictionaryError, FormatError) as error:
            return {"message": _none(error), "count": 0, "failed": True}
        labels = [candidate.as_label() for candidate in report.spottings]
        return self._keep("D", labels, _DICTIONARY, f" at a score of {report.threshold:g} or more{_unseen(report)}")

    def _recognisers(self, labels: Mapping[str, list[Label]], digests: Mapping[str, str], stage: Stage) -> None:
        """One on each source of labels, and one on both; on M + D without those M that D contradicts."""
        doubted = contradicted(labels["M"], labels["D"])
        sure = [label for label, is_so in zip(labels["M"], doubted, strict=True) if not is_so]
        cut = cache(lambda: self._cut_signs([*labels["M"], *labels["D"]], stage))
        for name, sources in SOURCES.items():
            chosen = [*sure, *labels["D"]] if name == "M+D" else labels[name]
            remark = (
                f", without {sum(doubted):,} labels that those {_DICTIONARY} contradict"
                if name == "M+D" and any(doubted)
                else ""
            )
            how = {"how": asdict(self.options.recogniser), "sources": sources, "asked": self.asked}
            key = {"labels": text_digest(repr(chosen)), **digests, **how}
            whole = all(labels[source] for source in name.split("+"))  # else it would be another one over again
            if whole and len({label.word for label in chosen}) > 1:
                named = _titled(stage, f"labels {LoopResult(tuple(self.stages), labels).origin(name)}")
                self._do(f"recogniser {name}", key, partial(self._recogniser, name, chosen, key, remark, cut, named))

    def _cut_signs(self, labels: Sequence[Label], stage: Stage) -> CutSigns:
        """The signs of all labels and exemplars that recognisers learn from: each video is read once for all three."""
        assert isinstance(self.options.recogniser, RecogniserConfig), "one of pixels cuts images"
        options = self.options.recogniser.clips
        learned = [label for label in labels if label.video in self.training and options.least.admits(label)]
        words = {label.word for label in learned}
        exemplars = [exemplar for exemplar in self.signs.exemplars if exemplar.word in words and options.dictionary]
        with stage("signs") as progress:
            return cut_signs(self.corpus, learned, exemplars, options, progress)

    def _recogniser(
        self,
        name: str,
        labels: list[Label],
        key: Mapping[str, Any],
        remark: str,
        cut: Callable[[], CutSigns],
        stage: Stage,
    ) -> Outcome:
        config = replace(self.options.recogniser, name=f"recogniser-{name}")
        folder = self.out / "recognisers" / f"{name}-{text_digest(json.dumps(key, default=str))}"
        target = self.out / f"{config.name}.safetensors"
        trained: Recogniser | RgbRecogniser
        try:
            if isinstance(config, RgbConfig):
                trained, scores = self._rgb_recogniser(config, labels, folder, target, stage)
            else:
                recogniser, scores = train_recogniser_on_corpus(
                    replace(config, clips=replace(config.clips, sources=SOURCES[name])),
                    self.corpus,
                    folder,
                    labels=labels,
                    exemplars=self.signs.exemplars,
                    cut=cut(),
                    tested_words=self.asked,
                    stage=stage,
                    device=self.options.device,
                )
                save_recogniser(recogniser, target)
                trained = recogniser
        except OptionsError as error:
            return {"message": f"not trained: {error}", "scores": [], "failed": True}
        plain = [{**asdict(score), "interval": [score.interval.low, score.interval.high]} for score in scores]
        tested = "; ".join(map(str, scores)) or f"not tested: {self._untested()}"
        message = f"learnt from {str(trained.card['data']).removesuffix('.')}{remark}; {tested}"
        return {"message": message, "words": len(trained.words), "scores": plain, "files": [target.name]}

    def _rgb_recogniser(
        self, config: RgbConfig, labels: list[Label], folder: Path, target: Path, stage: Stage
    ) -> tuple[RgbRecogniser, list[RecogniserScores]]:
        """One that sees pixels; its file is an encoder's. Exemplars are those of the corpus's dictionary."""
        run = Run(folder, self.out / "recognisers" / "images", device=self.options.device)
        encoder = train_rgb_on_corpus(config, self.corpus, run, stage=stage, labels=labels)[0]
        trained = as_recogniser(save_encoder(encoder, target).to(self.options.device))
        with stage("tested") as progress:
            return trained, score_recogniser(trained, self.corpus, progress, self.asked)

    def _untested(self) -> str:
        """Why no recogniser can be tested."""
        if not self.corpus.in_split("test"):
            return f"there are no test videos in {self.folder}"
        return "the test videos show no sign of these words that is known, or labelled at 0.9 or more"

    def _keep(self, source: str, labels: list[Label], origin: str, remark: str = "") -> Outcome:
        target = self.out / f"labels-{source}.jsonl"
        write_records(labels, target)
        words = len({label.word for label in labels})
        right = self._right(labels)
        inside = sum(label.video in self.training for label in labels)
        counted = f"{len(labels):,} labels of {words:,} word{'s' * (words != 1)}, {inside:,} in training videos"
        message = f"{counted}, {origin}{remark}" + ("" if right is None else f", {right:.0%} right")
        counts = {"count": len(labels), "words": words, "right": right}
        return {"message": message, "origin": origin, **counts, "files": [target.name]}

    def _right(self, labels: list[Label]) -> float | None:
        """The share of labels at a sign of their word, where the truth is known."""
        signs = {video: self.corpus.signs(video) for video in {label.video for label in labels}}
        hits = right_labels([label for label in labels if signs[label.video]], signs)
        return sum(hits) / len(hits) if hits else None

    def _labels(self, outcome: Outcome) -> list[Label]:
        files = outcome.get("files", [])
        return list(read_records(Label, self.out / files[0])) if files else []


def _titled(stage: Stage, about: str) -> Stage:
    """Stages whose titles say what they are about, too."""
    return lambda title: stage(f"{title}, {about}")


def _none(error: SignspotError) -> str:
    """Why there are no labels, as a part of a sentence."""
    return f"none: {str(error).removesuffix('.')}"


def _unseen(report: RunReport) -> str:
    """Videos that could not be looked at, for people."""
    return f", {len(report.failed):,} of {report.videos:,} videos could not be seen" if report.failed else ""


def kept_outcome(out: Path, name: str, key: str) -> Outcome | None:
    """The outcome of a stage by its record in the folder of a run.

    None where there is no record, it follows from something else than `key`, a person changed it, or a file of it is
    gone: then the stage is done again.
    """
    try:
        record = parse_json(read_text(_record(out, name), exact=True).text, name)
        outcome: Outcome = record["outcome"]
        whole = record["key"] == key and record["checksum"] == _checksum(outcome)
        files = [path_inside(out, file, name) for file in outcome.get("files", ())]
    except (FormatError, KeyError, TypeError, AttributeError):
        return None
    return dict(outcome) if whole and all(file.is_file() for file in files) else None


def _record(out: Path, name: str) -> Path:
    return out / "stages" / f"{name.replace(' ', '-')}.json"


def _checksum(outcome: Outcome) -> str:
    return text_digest(json.dumps(outcome, sort_keys=True))


def _digest(folder: Path) -> str:
    """Names all files of a folder, or a file, by their content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
    visible = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return text_digest("\n".join(f"{path.relative_to(folder)} {content_digest(path)}" for path in visible or files))


_WORDS = 30  # bars of a plot
_EXAMPLES = 6  # of each kind
_NEAR = 1.0  # seconds between the middles of a D and an M of the same sign, at most
_RIGHT, _WRONG = "#009e73", "#d55e00"
_MEASURES = {
    "naming": "of two segments the one whose subtitle names a word scores higher",
    "labelled": "reciprocal rank of a labelled word among all words, at its label",
}


def write_loop_report(result: LoopResult, corpus: Corpus, path: str | Path) -> Path:
    """Write a self-contained page; people are shown as skeletons alone."""

    def blocks() -> Iterator[str]:
        spotted = result.labels["D"]
        right = _judged(spotted, corpus)
        yield table(("stage", "", "outcome"), result.lines())
        yield heading("Gain on held-out footage")
        yield paragraph(gained(result))
        yield from _gains(result)
        scores = list(_scores(result))
        if scores:
            yield table(("labels", "tested on", "signs", "top 1", "top 5", "per word, top 1", "95 %"), scores)
        yield heading("Labels by score")
        named = {result.origin(name): labels for name, labels in result.labels.items() if labels}
        yield drawing(draw_yield(named), "number of labels and words at each confidence or above")
        yield heading("Labels by word")
        caption = "right and wrong labels of each word" if right else "labels of the most frequent words"
        yield drawing(draw_right(spotted, right) if right else draw_words(named), caption)
        order = sorted(range(len(spotted)), key=lambda index: -spotted[index].confidence)
        if not right:
            yield heading(f"The surest labels {_DICTIONARY}")
            yield clips(_examples([spotted[index] for index in order], corpus))
            return
        for title, correct in (("that are right", True), ("that are wrong", False)):
            chosen = [spotted[index] for index in order if right[index] is correct]
            yield heading(f"The surest labels {_DICTIONARY} {title}")
            yield clips(_examples(chosen, corpus)) if chosen else paragraph("There are none.")

    return write_page(path, f"What was learnt from {corpus.folder.name}", blocks())


def gained(result: LoopResult) -> str:
    """The loop in one sentence: what the recogniser on M + D, or on what there is, reaches, beside the others."""
    shares: dict[str, Mapping[str, float]] = {}
    reasons = []
    for name in SOURCES:
        outcome = result.outcome(f"recogniser {name}")
        shares[name] = {score["tested"]: score["instance"][0] for score in outcome.get("scores", ())}
        reasons.append(str(outcome.get("message", "")).partition("not tested: ")[2])
    best = next((name for name in reversed(SOURCES) if shares[name]), "")
    if not best:
        return f"Nothing can be said about a gain: {next(filter(None, reasons), 'no recogniser was tested')}."
    parts = []
    for tested, share in shares[best].items():
        others = [
            f"{shares[n][tested]:.0%} by those {result.origin(n)} alone"
            for n in ("M", "D")
            if n != best and tested in shares[n]
        ]
        source = f"labels {result.origin(best)}"
        parts.append(f"of {tested} {share:.0%} are named right by what was learnt from {source}" + _beside(others))
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _beside(others: Sequence[str]) -> str:
    return f", {' and '.join(others)}" if others else ""


def _gains(result: LoopResult) -> Iterator[str]:
    gains = result.outcome("adaptation").get("gains", {})
    if gains:
        heads = ("adaptation", "measure", "words", "before", "after", "difference, 95 %")
        rows = []
        for match, gain in gains.items():
            gap = gain["difference"]
            interval = f"{gap['value']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}]"
            shares = (f"{gain['before']:.3f}", f"{gain['after']:.3f}")
            rows.append((match, _MEASURES.get(gain["measure"], gain["measure"]), str(gain["words"]), *shares, interval))
        yield table(heads, rows)


def _scores(result: LoopResult) -> Iterator[tuple[str, ...]]:
    for name in SOURCES:
        for score in result.outcome(f"recogniser {name}").get("scores", ()):
            low, high = score["interval"]
            top_1, top_5 = score["instance"]
            cells = (f"{top_1:.3f}", f"{top_5:.3f}", f"{score['classes'][0]:.3f}", f"{low:.3f} to {high:.3f}")
            yield (result.origin(name), score["tested"], f"{score['clips']:,}", *cells)


def _judged(labels: Sequence[Label], corpus: Corpus) -> list[bool]:
    """Whether each label is right; empty where the truth about any of their videos is not known."""
    signs = {video: corpus.signs(video) for video in {label.video for label in labels}}
    return right_labels(labels, signs) if all(signs.values()) else []


def draw_yield(labels: Mapping[str, Sequence[Label]]) -> Figure:
    """Draw the words with labels and the number of labels by confidence, by the origin of the labels.

    Where two origins are given, a curve shows how many of the last are near one of the first with the same word.
    """
    figure = Figure(figsize=(10, 3.2), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    curves = dict(labels)
    if len(labels) > 1:
        earlier, later = labels.values()
        near = are_beside(later, earlier, _NEAR, str.__eq__)
        curves["both, within 1 s"] = [label for label, is_near in zip(later, near, strict=True) if is_near]
    for number, (origin, members) in enumerate(curves.items()):
        ordered = sorted(members, key=lambda label: label.confidence)
        values = [label.confidence for label in ordered]
        right.step(values, np.arange(len(values), 0, -1), where="post", color=COLOURS[number], label=origin)
        if origin in labels:
            words = [len({label.word for label in ordered[first:]}) for first in range(len(ordered))]
            left.step(values, words, where="post", color=COLOURS[number], label=origin)
    left.set(xlabel="least confidence", ylabel="words")
    left.yaxis.get_major_locator().set_params(integer=True)
    right.set(xlabel="least confidence", ylabel="labels")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    return figure


def draw_words(labels: Mapping[str, Sequence[Label]]) -> Figure:
    """Labels of the words that have most, by source."""
    counts = {source: Counter(label.word for label in members) for source, members in labels.items()}
    return _bars({source: (COLOURS[number], count) for number, (source, count) in enumerate(counts.items())})


def draw_right(labels: Sequence[Label], right: Sequence[bool]) -> Figure:
    """Labels of the words that have most: those that are right, and those that are not."""
    parts = {
        name: (colour, Counter(label.word for label, fits in zip(labels, right, strict=True) if fits is correct))
        for name, colour, correct in (("right", _RIGHT, True), ("wrong", _WRONG, False))
    }
    return _bars(parts)


def _bars(parts: Mapping[str, tuple[str, Counter[str]]]) -> Figure:
    total: Counter[str] = Counter()
    for _, count in parts.values():
        total.update(count)
    words = [word for word, _ in total.most_common(_WORDS)]
    figure = Figure(figsize=(10, 3.4), layout="constrained", facecolor="white")
    axes = figure.add_subplot(ylabel="labels")
    below = np.zeros(len(words))
    for name, (colour, count) in parts.items():
        heights = np.array([count[word] for word in words], float)
        axes.bar(range(len(words)), heights, bottom=below, color=colour, label=name)
        below += heights
    axes.set_xticks(range(len(words)), [lettering(word)[0] for word in words], rotation=60, ha="right", size=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if len(total) > len(words):
        axes.set_title(f"the {len(words)} most frequent of {len(total):,} words", fontsize=9, loc="left")
    return figure


def _examples(labels: Sequence[Label], corpus: Corpus) -> Iterator[Clip]:
    words: set[str] = set()
    for label in labels:
        video = corpus.videos.get(label.video)
        if label.word in words or video is None or len(words) >= _EXAMPLES:
            continue
        try:
            footage = footage_landmarks(video, cache_folder() / "landmarks")
            landmarks = footage.between(label.segment.padded(0.3)).resampled(25.0)
            caption = f"{label.word} {label.confidence:.2f}, {label.video} at {label.time:.1f} s"
            yield skeleton_clip(features(landmarks), caption)
            words.add(label.word)
        except SignspotError:
            continue
