"""Export of spottings in any format, as one file or an archive of several; import of decisions."""

import csv
import io
import uuid
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from signspot.corpus.labels import label_of
from signspot.corpus.truth import write_records
from signspot.dictionary.build import file_name
from signspot.errors import OptionsError
from signspot.formats.formats import format_names, read_spottings, write
from signspot.io.files import Outputs
from signspot.types import Label, LabelSource, Spotting
from signspot.web.folder import ServedFolder
from signspot.web.verification import OTHER_VARIANT, Answer, Decision, Item

LABELS, DECISIONS = ".labels.jsonl", ".decisions.csv"  # labels for training; every decision with who, when, how long
_SAME_SCORE = 1e-6  # scores of one spotting before and after a file differ by no more
_NEAR = 0.3  # seconds between the times of one spotting, where its score was lost
_KINDS = {
    ".jsonl": "application/jsonl", ".csv": "text/csv", ".parquet": "application/vnd.apache.parquet",
    ".vtt": "text/vtt", ".eaf": "application/xml", ".json": "application/json", ".zip": "application/zip",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Export:
    """A file to be downloaded."""

    name: str
    kind: str  # media type
    content: bytes


def export(spottings: Sequence[Spotting], name: str, suffix: str) -> Export:
    """Write spottings in a format; several files, as of ELAN documents for several videos, come as one archive.

    Raises:
        OptionsError: the suffix is unknown.
    """
    if suffix == LABELS:
        return _labels(spottings, name)
    if suffix not in format_names():
        raise OptionsError(f"no format '{suffix}'. There are: {', '.join(format_names())}")
    with TemporaryDirectory() as folder:
        base = file_name(name) or "spottings"
        files = write(spottings, Path(folder) / f"{base}{suffix}")
        if len(files) == 1:
            return Export(files[0].name, _KINDS[files[0].suffix], files[0].read_bytes())
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.name)
        return Export(f"{base}{suffix}.zip", _KINDS[".zip"], packed.getvalue())


def _labels(spottings: Iterable[Spotting], name: str) -> Export:
    """Labels for training: a person's yes has the confidence 1, their no 0; what is unsure is none."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "labels.jsonl"
        write_records([_label(spotting) for spotting in spottings if spotting.decision != "unsure"], path)
        return Export(f"{file_name(name)}{LABELS}", _KINDS[".jsonl"], path.read_bytes())


def _label(spotting: Spotting) -> Label:
    label = label_of(spotting)
    return replace(label, video=label.video.rpartition(".")[0] or label.video)


def save_labels(spottings: Iterable[Spotting], folder: ServedFolder, name: str, queue: str) -> tuple[str, int]:
    """Write what people decided into the folder `labels` of the served one: trainings and tests read it there.

    A file that a person has changed since is not replaced; queues of one name have a file each.

    Returns:
        Its name in the folder, and how many labels it holds.

    Raises:
        OptionsError: nobody has said yes or no yet.
    """
    labels = [_label(spotting) for spotting in spottings if spotting.decision in ("yes", "no")]
    if not labels:
        raise OptionsError("nobody has said yes or no in this queue yet: decide first")
    target = folder.new_file(f"labels/verified-{file_name(name)}-{queue}.jsonl", "the labels")
    target.parent.mkdir(exist_ok=True)
    outputs = Outputs()
    outputs.claim(target)
    with outputs:
        write_records(labels, target)
    return target.relative_to(folder.root).as_posix(), len(labels)


def decisions(decisions: Iterable[Decision], items: Iterable[Item], name: str) -> Export:
    """Every decision that was ever made, undone ones included, as a table: who, when, how long, what."""
    spottings = {item.item: item.spotting for item in items}
    text = io.StringIO()
    columns = ("spotted_word", "video", "time", *(field.name for field in fields(Decision)))
    table = csv.writer(text)
    table.writerow(columns)
    for decision in decisions:
        spotting = spottings.get(decision.item)
        about = (spotting.word, spotting.video, spotting.time) if spotting else ("", "", "")
        table.writerow([_unformula(value) for value in (*about, *asdict(decision).values())])
    return Export(f"{file_name(name)}{DECISIONS}", _KINDS[".csv"], text.getvalue().encode())


def _unformula(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def read_back(path: Path, items: Sequence[Item], annotator: str) -> list[Decision]:
    """Decisions that a person made in VIA, ELAN or a table, for the items of a queue.

    A spotting belongs to the item of the same video and exemplar that is nearest in score and time. A person's own
    spotting of another word over an item that is a "no" says which word it is. What is not answered is left out.

    Args:
        path: the file.
        items: of the queue.
        annotator: whose decisions these are.
    """
    by_exemplar: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        by_exemplar.setdefault((Path(item.spotting.video).name, item.spotting.exemplar), []).append(item)
    decisions: dict[int, Decision] = {}
    unmatched: list[Spotting] = []
    for spotting in read_spottings(path):
        nearest = _nearest(spotting, by_exemplar.get((Path(spotting.video).name, spotting.exemplar), []))
        if not spotting.decision and spotting.source is not LabelSource.VERIFIED:
            continue
        if nearest is None:
            unmatched.append(spotting)
        else:
            answer: Answer = spotting.decision or "yes"
            if spotting.word != nearest.spotting.word:
                answer = "word"
            elif answer == "yes" and spotting.variant not in ("", nearest.spotting.variant):
                answer = "variant"
            decisions[nearest.item] = _decision(nearest, annotator, answer, spotting)
    for item in items:
        if item.item in decisions and decisions[item.item].answer == "no":
            others = (
                spotting for spotting in unmatched if _is_over(spotting, item) and spotting.word != item.spotting.word
            )
            named = next(others, None)
            if named is not None:
                decisions[item.item] = _decision(item, annotator, "word", named)
    return list(decisions.values())


def _nearest(spotting: Spotting, items: Sequence[Item]) -> Item | None:
    def distance(item: Item) -> tuple[bool, float]:
        return abs(item.spotting.score - spotting.score) > _SAME_SCORE, abs(item.spotting.time - spotting.time)

    best = min(items, key=distance, default=None)
    return best if best is not None and (not distance(best)[0] or distance(best)[1] < _NEAR) else None


def _is_over(spotting: Spotting, item: Item) -> bool:
    same = Path(spotting.video).name == Path(item.spotting.video).name
    return same and spotting.decision in ("", "yes") and spotting.segment.overlap(item.spotting.segment) > 0


def _decision(item: Item, annotator: str, answer: Answer, spotting: Spotting) -> Decision:
    named = {"word": spotting.word, "variant": "" if spotting.variant == OTHER_VARIANT else spotting.variant}
    word = named.get(answer, "")
    key = uuid.uuid4().hex  # reading a file is an act of its own: it counts whatever was decided before
    return Decision(key, item.queue, item.item, annotator, answer, word, spotting.start, spotting.end, 0.0)
