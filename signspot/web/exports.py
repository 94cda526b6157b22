"""Spottings on their way out of the workbench: any format, one file or an archive of several; and decisions back in."""

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
from signspot.formats.formats import format_names, output_paths, read_spottings, write
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


def kinds() -> dict[str, str]:
    """Every format of spottings by suffix, with its name."""
    return format_names()


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


def save(spottings: Sequence[Spotting], folder: ServedFolder, name: str, suffix: str) -> list[str]:
    """Write spottings into the folder `exports` of the served one, where links to its videos hold.

    Files that a person has changed since are not replaced.
    """
    if suffix not in format_names():
        raise OptionsError(f"no format '{suffix}'. There are: {', '.join(format_names())}")
    target = folder.new_file(f"exports/{file_name(name) or 'spottings'}{suffix}", "the export")
    target.parent.mkdir(exist_ok=True)
    placed = [_placed(spotting, folder) for spotting in spottings]
    outputs = Outputs()
    for path in output_paths(target, (spotting.video for spotting in placed)):
        outputs.claim(path)
    with outputs:
        return [path.relative_to(folder.root).as_posix() for path in write(placed, target)]


def _placed(spotting: Spotting, folder: ServedFolder) -> Spotting:
    known = folder.listing().videos.get(spotting.video)
    return spotting if known is None else replace(spotting, video=str(known.path))


def _labels(spottings: Iterable[Spotting], name: str) -> Export:
    """Labels for training: a person's yes has the confidence 1, their no 0; what is unsure is none."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "labels.jsonl"
        write_records([_label(one) for one in spottings if one.decision != "unsure"], path)
        return Export(f"{file_name(name)}{LABELS}", _KINDS[".jsonl"], path.read_bytes())


def _label(spotting: Spotting) -> Label:
    made = label_of(spotting)
    return replace(made, video=made.video.rpartition(".")[0] or made.video)


def save_labels(spottings: Iterable[Spotting], folder: ServedFolder, name: str, queue: str) -> tuple[str, int]:
    """Write what people decided into the folder `labels` of the served one: trainings and tests read it there.

    A file that a person has changed since is not replaced; queues of one name have a file each.

    Returns:
        Its name in the folder, and how many labels it holds.

    Raises:
        OptionsError: nobody has said yes or no yet.
    """
    labels = [_label(one) for one in spottings if one.decision in ("yes", "no")]
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
    known = {item.item: item.spotting for item in items}
    text = io.StringIO()
    columns = ("spotted_word", "video", "time", *(field.name for field in fields(Decision)))
    table = csv.writer(text)
    table.writerow(columns)
    for decision in decisions:
        spotting = known.get(decision.item)
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
    by_place: dict[tuple[str, str], list[Item]] = {}
    for each in items:
        by_place.setdefault((Path(each.spotting.video).name, each.spotting.exemplar), []).append(each)
    found: dict[int, Decision] = {}
    own: list[Spotting] = []
    for spotting in read_spottings(path):
        item = _nearest(spotting, by_place.get((Path(spotting.video).name, spotting.exemplar), []))
        if not spotting.decision and spotting.source is not LabelSource.VERIFIED:
            continue
        if item is None:
            own.append(spotting)
        else:
            answer: Answer = spotting.decision or "yes"
            if spotting.word != item.spotting.word:
                answer = "word"
            elif answer == "yes" and spotting.variant not in ("", item.spotting.variant):
                answer = "variant"
            found[item.item] = _decision(item, annotator, answer, spotting)
    for item in items:
        if item.item in found and found[item.item].answer == "no":
            named = [one for one in own if _is_over(one, item) and one.word != item.spotting.word]
            if named:
                found[item.item] = _decision(item, annotator, "word", named[0])
    return list(found.values())


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
