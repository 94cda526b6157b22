"""The whole loop of the paper: labels M, adaptation, annotation D, and recognisers on M, D and M + D.

Every stage is what an ordinary verb does, keeps a record of what its outcome follows from, by content, and is done
again only where that changed. Killed, the loop goes on where it was.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from signspot.adaptation.adapting import adapt
from signspot.adaptation.options import AdaptOptions
from signspot.annotation.engines import Engine
from signspot.annotation.records import AnnotateOptions, RunOptions
from signspot.annotation.run import AnnotationJob, MouthingJob, RunReport, annotate, annotate_mouthings, mouthings
from signspot.annotation.statistics import spottings
from signspot.annotation.store import open_store
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.labels import contradicted
from signspot.corpus.truth import read_records, right_labels, write_records
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.opening import open_dictionary
from signspot.errors import DictionaryError, FormatError, NothingToLearnError, OptionsError, SignspotError
from signspot.io.checks import parse_json, path_inside
from signspot.io.files import atomic_write, content_digest, text_digest
from signspot.io.progress import Stage, quiet
from signspot.io.text import read_text
from signspot.models.checkpoints import save_encoder
from signspot.recognition.recogniser import save_recogniser
from signspot.spotting.spotter import load
from signspot.training.recogniser.clips import ClipOptions
from signspot.training.recogniser.on_corpus import train_on_labels
from signspot.training.recogniser.training import TrunkConfig
from signspot.types import Label, LabelSource

LabelsM = Literal["auto", "given", "lips", "none"]
Outcome = dict[str, Any]
SOURCES = {"M": "MV", "D": "D", "M+D": "MDV"}  # recognisers, and the labels that each learns from

SMALL_RECOGNISER = TrunkConfig(  # as configs/recogniser.toml: half a minute of one core
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
    recogniser: TrunkConfig = field(default_factory=lambda: SMALL_RECOGNISER)
    threshold: float | None = None  # of D; None: the encoder's
    language: str = "en"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise OptionsError(f"threshold is a score in [0, 1]; got {self.threshold}")


@dataclass(frozen=True, slots=True)
class StageDone:
    """A stage of the loop."""

    name: str
    outcome: Mapping[str, Any]  # plain values, among them a line `told`
    redone: bool  # in this run; else it was there


@dataclass(frozen=True, slots=True)
class Learnt:
    """The outcome of a run of the loop."""

    stages: tuple[StageDone, ...]
    labels: Mapping[str, list[Label]]  # "M" and "D"

    def outcome(self, name: str) -> Mapping[str, Any]:
        """The outcome of a stage by its name; empty where there was none."""
        return next((stage.outcome for stage in self.stages if stage.name == name), {})

    def lines(self) -> list[tuple[str, str, str]]:
        """For people: each stage, whether it was done in this run, and what it came to."""
        return [
            (each.name, "done now" if each.redone else "unchanged", str(each.outcome["told"])) for each in self.stages
        ]


class Loop:
    """One corpus, one dictionary, one folder for everything."""

    def __init__(self, corpus: Path, dictionary: Path, out: Path, options: LearnOptions, engine: Callable[[], Engine]):
        """Prepare the loop; `engine` makes who annotates, for each stage anew.

        Raises:
            FormatError, DictionaryError, CheckpointError: there is no corpus, dictionary or encoder.
        """
        self.folder, self.dictionary, self.out = corpus, dictionary, out
        self.options, self.engine = options, engine
        self.corpus: Corpus = open_corpus(corpus, options.language)
        self.signs: Dictionary = open_dictionary(dictionary)
        self.spotter = load(options.encoder, device=options.device)
        self.stages: list[StageDone] = []
        self.asked: list[str] = []  # words that recognisers are tested on

    def run(self, stage: Stage = quiet) -> Learnt:
        """Do what is left to do.

        Raises:
            NothingToLearnError: no two words have labels M or D, or none of the recognisers can be trained.
        """
        footage, signs = _digest(self.folder), _digest(self.dictionary)
        speech = self.options.language
        heard = {"footage": footage, "signs": signs, "how": self.options.labels, "language": speech}
        mouthed = self._do("labels M", heard, lambda: self._mouthings(stage))
        adapted = self._do(
            "adaptation",
            {**heard, "encoder": self.options.encoder, "how": asdict(self.options.adapt)},
            lambda: self._adapt(stage),
        )
        how = {**heard, "how": "", "encoder": adapted["hash"], "threshold": self.options.threshold}
        annotated = self._do("labels D", how, lambda: self._annotate(adapted, stage))
        labels = {"M": self._labels(mouthed), "D": self._labels(annotated)}
        self.asked = sorted({label.word for own in labels.values() for label in own})  # of all recognisers alike
        if len(self.asked) < 2:
            raise NothingToLearnError(
                f"nothing can be learnt from {self.folder}: a recogniser needs labels of two words. "
                f"Labels M: {mouthed['told']}. Labels D: {annotated['told']}"
            )
        self._recognisers(labels, {"footage": footage, "signs": signs}, stage)
        learnt = Learnt(tuple(self.stages), labels)
        told = [f"{name}: {learnt.outcome(f'recogniser {name}').get('told', 'too few labels')}" for name in SOURCES]
        if not any(stage.name.startswith("recogniser") and stage.outcome.get("files") for stage in self.stages):
            raise NothingToLearnError(
                f"no recogniser can be trained on the labels of {self.folder}, kept in {self.out}. {'. '.join(told)}"
            )
        return learnt

    def _do(self, name: str, key: Mapping[str, Any], work: Callable[[], Outcome]) -> Outcome:
        """Take a stage's outcome from its record, if it follows from the same and its files are there; else do it."""
        digest = text_digest(json.dumps(key, sort_keys=True, default=str))
        kept = kept_outcome(self.out, name, digest)
        if kept is not None:
            self.stages.append(StageDone(name, kept, redone=False))
            return kept
        outcome = work()
        self.stages.append(StageDone(name, outcome, redone=True))
        if outcome.get("failed"):  # by something that may lie outside of the key: it is tried again next time
            return outcome
        record = {"key": digest, "outcome": outcome, "seal": _seal(outcome)}
        with atomic_write(_record(self.out, name)) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return outcome

    def _mouthings(self, stage: Stage) -> Outcome:
        """Labels M: given ones, or those on the lips."""
        how = self.options.labels
        given = [label for label in self.corpus.labels() if label.source is not LabelSource.DICTIONARY]
        if how == "none":
            return {"told": "none, as asked for", "count": 0}
        if how == "given" and not given:
            return {"told": f"none: {self.folder / 'labels'} holds no label of a video of the corpus", "count": 0}
        if given and how != "lips":
            return self._keep("M", given, "given")
        place = self.out / f"mouthings-{self.options.language}"
        job = MouthingJob(self.folder, place, dictionary=self.dictionary)
        try:
            report = annotate_mouthings(job, RunOptions(language=self.options.language), self.engine(), stage)
        except (OptionsError, FormatError) as error:
            return {"told": _none(error), "count": 0, "failed": True}
        with open_store(job.out) as store:
            found = mouthings(store, report.threshold, self.corpus)
        return self._keep("M", [each.as_label() for each in found], f"by lips{_unseen(report)}")

    def _adapt(self, stage: Stage) -> Outcome:
        spotter = self.spotter
        key = text_digest(json.dumps([_digest(self.folder), _digest(self.dictionary), asdict(self.options.adapt)]))
        folder = self.out / "adaptation" / f"{key}-{spotter.encoder.hash[:8]}" / "adapted"  # its name is the encoder's
        base = {"hash": spotter.encoder.hash, "file": self.options.encoder}
        try:
            made = adapt(
                spotter, self.corpus, self.signs, folder, self.options.adapt, stage=stage, command="signspot learn"
            )
        except (OptionsError, DictionaryError) as error:
            return {**base, "told": f"not adapted: {error}"}
        gains = {match: made.deciding(match).as_dict() for match in made.gains}
        if made.encoder is None:
            return {**base, "told": f"no gain on held-out footage: '{made.base.name}' stays", "gains": gains}
        target = folder / "adapted.safetensors"
        kept = save_encoder(made.encoder, target, half=True)
        told = f"adapted on {made.learned:,} stretches, held out {made.held:,}"
        files = [str(target.relative_to(self.out))]
        return {"hash": kept.hash, "file": str(target), "told": told, "gains": gains, "files": files}

    def _annotate(self, adapted: Outcome, stage: Stage) -> Outcome:
        place = path_inside(self.out, f"annotation-{adapted['hash'][:8]}-{self.options.language}", "the run")
        job = AnnotationJob(
            self.folder, self.dictionary, place, encoder=adapted["file"], threshold=self.options.threshold
        )
        options = AnnotateOptions(language=self.options.language)
        try:
            report = annotate(replace(job, device=self.options.device), options, self.engine(), stage)
        except (DictionaryError, FormatError) as error:
            return {"told": _none(error), "count": 0, "failed": True}
        with open_store(place) as store:
            found = list(spottings(store, report.threshold, overlap=options.overlap))
        return self._keep("D", [each.as_label() for each in found], f"threshold {report.threshold:g}{_unseen(report)}")

    def _recognisers(self, labels: Mapping[str, list[Label]], seen: Mapping[str, str], stage: Stage) -> None:
        """One on each source of labels, and one on both; on M + D without those M that D contradicts."""
        doubted = contradicted(labels["M"], labels["D"])
        sure = [label for label, is_so in zip(labels["M"], doubted, strict=True) if not is_so]
        for name, sources in SOURCES.items():
            own = [*sure, *labels["D"]] if name == "M+D" else labels[name]
            remark = f", without {sum(doubted):,} labels M that D contradicts" if name == "M+D" and any(doubted) else ""
            how = {"how": asdict(self.options.recogniser), "sources": sources, "asked": self.asked}
            key = {"labels": text_digest(repr(own)), **seen, **how}
            whole = all(labels[source] for source in name.split("+"))  # else it would be another one over again
            if whole and len({label.word for label in own}) > 1:
                self._do(f"recogniser {name}", key, partial(self._recogniser, name, own, key, remark, stage))

    def _recogniser(self, name: str, labels: list[Label], key: Mapping[str, Any], remark: str, stage: Stage) -> Outcome:
        config = self.options.recogniser
        config = replace(config, name=f"recogniser-{name}", clips=replace(config.clips, sources=SOURCES[name]))
        folder = self.out / "recognisers" / f"{name}-{text_digest(json.dumps(key, default=str))}"
        try:
            trained, scores = train_on_labels(
                config,
                self.corpus,
                folder,
                labels=labels,
                exemplars=self.signs.exemplars,
                asked=self.asked,
                stage=stage,
                device=self.options.device,
            )
        except OptionsError as error:
            return {"told": f"not trained: {error}", "scores": [], "failed": True}
        target = save_recogniser(trained, self.out / f"{config.name}.safetensors")
        plain = [{**asdict(each), "interval": [each.interval.low, each.interval.high]} for each in scores]
        tested = "; ".join(map(str, scores)) or f"not tested: {self._untested()}"
        told = f"learnt from {trained.card['data']}{remark}; {tested}"
        return {"told": told, "words": len(trained.words), "scores": plain, "files": [target.name]}

    def _untested(self) -> str:
        """Why no recogniser can be tested."""
        if not self.corpus.in_split("test"):
            return f"{self.corpus.layout.splits} names no test videos"
        return "the test videos show no sign of these words that is known, or labelled at 0.9 or more"

    def _keep(self, source: str, labels: list[Label], remark: str) -> Outcome:
        target = self.out / f"labels-{source}.jsonl"
        write_records(labels, target)
        words = len({label.word for label in labels})
        right = self._right(labels)
        told = f"{len(labels):,} labels of {words:,} word{'s' * (words != 1)}, {remark}" + (
            "" if right is None else f", {right:.0%} right"
        )
        return {"told": told, "count": len(labels), "words": words, "right": right, "files": [target.name]}

    def _right(self, labels: list[Label]) -> float | None:
        """The share of labels at a sign of their word, where the truth is known."""
        signs = {video: self.corpus.signs(video) for video in {label.video for label in labels}}
        hits = right_labels([label for label in labels if signs[label.video]], signs)
        return sum(hits) / len(hits) if hits else None

    def _labels(self, outcome: Outcome) -> list[Label]:
        files = outcome.get("files", [])
        return list(read_records(Label, self.out / files[0])) if files else []


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
        kept = parse_json(read_text(_record(out, name), exact=True).text, name)
        outcome: Outcome = kept["outcome"]
        whole = kept["key"] == key and kept["seal"] == _seal(outcome)
        files = [path_inside(out, file, name) for file in outcome.get("files", ())]
    except (FormatError, KeyError, TypeError, AttributeError):
        return None
    return dict(outcome) if whole and all(file.is_file() for file in files) else None


def _record(out: Path, name: str) -> Path:
    return out / "stages" / f"{name.replace(' ', '-')}.json"


def _seal(outcome: Outcome) -> str:
    return text_digest(json.dumps(outcome, sort_keys=True))


def _digest(folder: Path) -> str:
    """Names all files of a folder, or a file, by their content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
    visible = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return text_digest("\n".join(f"{path.relative_to(folder)} {content_digest(path)}" for path in visible or files))
