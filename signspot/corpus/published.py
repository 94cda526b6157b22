"""Corpora of isolated signs as they are published, as dictionaries: LSA64, WLASL, ASL Citizen, exports of a SignBank.

Words, variants, signers and licences are kept as far as a corpus tells them. Videos that a list names and that are not
there become problems, one line each.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from signspot.corpus.importing import LSA64_NAME, WLASL_LIST, SourceClip, read_wlasl_list
from signspot.dictionary.dictionary import Contents, LeftOut, unique_ids
from signspot.errors import DictionaryError, VideoError
from signspot.io.text import read_text
from signspot.landmarks.landmarks import DEFAULT_FPS
from signspot.types import Exemplar, Segment
from signspot.video import MEDIA_SUFFIXES
from signspot.video.reader import open_video

LSA64_WORDS = (  # as its authors list them: 2 and 8 are both "red", so their numbers are variants
    *("opaque", "red", "green", "yellow", "bright", "light-blue", "colors", "red", "women", "enemy", "son", "man"),
    *("away", "drawer", "born", "learn", "call", "skimmer", "bitter", "sweet milk", "milk", "water", "food"),
    *("argentina", "uruguay", "country", "last name", "where", "mock", "birthday", "breakfast", "photo", "hungry"),
    *("map", "coin", "music", "ship", "none", "name", "patience", "perfume", "deaf", "trap", "rice", "barbecue"),
    *("candy", "chewing-gum", "spaghetti", "yogurt", "accept", "thanks", "shut down", "appear", "to land", "catch"),
    *("help", "dance", "bathe", "buy", "copy", "run", "realize", "give", "find"),
)
LSA64_LICENCE = "CC BY-NC-SA 4.0"
WLASL_LICENCE = "C-UDA"
CITIZEN_LICENCE = "the terms of ASL Citizen"
_CITIZEN_SPLITS = ("train.csv", "val.csv", "test.csv")
_CITIZEN_COLUMNS = ("participant id", "video file", "gloss")
_NUMBERED = re.compile(r"(.*[^\W\d_])(\d{1,2})")  # a gloss with the number of its variant: REMEMBER2
_SIGNBANK_ID = "signbank id"
_GLOSS, _LEMMA = "annotation id gloss", "lemma id gloss"
Row = dict[str, str]  # cells by column, in lower case


def read_published(folder: Path) -> Contents | None:
    """Read a corpus as it is published; None where the folder is none of those that are known here.

    Raises:
        DictionaryError: its list names no video that is there.
        FormatError: its list is damaged.
    """
    if not folder.is_dir():
        return None
    if any(folder.glob(WLASL_LIST)):
        return _checked(_wlasl(folder), folder)
    splits = _citizen_splits(folder)
    if splits:
        return _checked(_citizen(folder, splits), folder)
    table = _signbank_table(folder)
    if table is not None:
        return _checked(_signbank(folder, table), folder)
    clips = sorted(path for path in folder.rglob("*") if LSA64_NAME.fullmatch(path.name))
    return _lsa64(folder, clips) if clips else None


def _checked(contents: Contents, folder: Path) -> Contents:
    if not contents.exemplars:
        raise DictionaryError(f"not one video of the list in {folder} is there. {contents.problems[0]}")
    return contents


def _lsa64(folder: Path, clips: list[Path]) -> Contents:
    exemplars = []
    for path, exemplar_id in zip(clips, unique_ids(path.relative_to(folder).as_posix() for path in clips), strict=True):
        match = LSA64_NAME.fullmatch(path.name)
        assert match is not None
        word, signer = int(match[1]), int(match[2])
        name = LSA64_WORDS[word - 1] if 1 <= word <= len(LSA64_WORDS) else match[1]
        variant = match[1] if LSA64_WORDS.count(name) > 1 else ""
        exemplars.append(_exemplar(name, exemplar_id, path, f"LSA64 signer {signer}", "LSA64", LSA64_LICENCE, variant))
    return Contents(tuple(exemplars))


def _wlasl(folder: Path) -> Contents:
    words, clips = read_wlasl_list(folder)
    exemplars, problems = [], []
    there = [clip for clip in clips if clip.path.is_file()]
    problems = [LeftOut(clip.path, "there is no such video") for clip in clips if not clip.path.is_file()]
    for clip, exemplar_id in zip(there, unique_ids(clip.path.name for clip in there), strict=True):
        number, signer, _ = clip.label
        exemplars.append(
            _exemplar(
                *(words[number], exemplar_id, clip.path, f"WLASL signer {signer}" if signer >= 0 else ""),
                *(f"WLASL, {clip.source}" if clip.source else "WLASL", WLASL_LICENCE, clip.variant),
                _sign_span(clip),
            )
        )
    return Contents(tuple(exemplars), tuple(problems))


def _sign_span(clip: SourceClip) -> Segment | None:
    """Where the sign lies in a video of WLASL; None where its video was cut already, as WLASL's own script does."""
    if clip.span is None:
        return None
    try:
        with open_video(clip.path) as video:
            is_whole = video.info.duration + 0.5 / (video.info.fps or DEFAULT_FPS) >= clip.span[1]
    except VideoError:
        return None  # the problem is named when its header is read
    return Segment(*clip.span) if is_whole else None


def _citizen_splits(folder: Path) -> list[Path]:
    """The lists of ASL Citizen in a folder, or in its folder `splits`."""
    paths = [parent / name for parent in (folder / "splits", folder) for name in _CITIZEN_SPLITS]
    return [path for path in paths if path.is_file() and set(_CITIZEN_COLUMNS) <= set(_header(path))]


def _citizen(folder: Path, splits: list[Path]) -> Contents:
    videos = folder / "videos" if (folder / "videos").is_dir() else folder
    rows = [row for path in splits for row in _rows(path)]
    exemplars: list[Exemplar] = []
    problems: list[LeftOut] = []
    ids = unique_ids(row["video file"].strip() for row in rows)
    for row, exemplar_id in zip(rows, ids, strict=True):
        path, gloss = videos / row["video file"].strip(), row["gloss"].strip()
        if not path.is_file():
            problems.append(LeftOut(path, "there is no such video"))
            continue
        numbered = _NUMBERED.fullmatch(gloss)
        word, variant = (numbered[1], gloss) if numbered else (gloss, "")
        signer = f"ASL Citizen {row['participant id'].strip()}"
        exemplars.append(_exemplar(word, exemplar_id, path, signer, "ASL Citizen", CITIZEN_LICENCE, variant))
    return Contents(tuple(exemplars), tuple(problems))


def _signbank_table(folder: Path) -> Path | None:
    """The table of glosses that a SignBank exported into a folder."""
    tables = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".csv", ".tsv"))
    return next(
        (path for path in tables if _SIGNBANK_ID in (columns := _header(path)) and _column(columns, _GLOSS)), None
    )


def _signbank(folder: Path, table: Path) -> Contents:
    """Glosses of one lemma are variants of it. Videos are named by the gloss, the entry's number or both."""
    columns = _header(table)
    gloss_column, lemma_column = _column(columns, _GLOSS), _column(columns, _LEMMA)
    media = sorted(path for path in folder.rglob("*") if path.suffix.lower() in MEDIA_SUFFIXES)
    names = {path.stem.casefold(): path for path in reversed(media)}
    listed: list[tuple[Row, Path]] = []
    problems: list[LeftOut] = []
    for row in _rows(table):
        number, gloss = row[_SIGNBANK_ID].strip(), row[gloss_column].strip()
        path = next((names[n] for n in (f"{gloss}-{number}".casefold(), number, gloss.casefold()) if n in names), None)
        if path is None:
            problems.append(LeftOut(folder / f"{gloss}-{number}.mp4", "there is no video of this gloss"))
        elif gloss:
            listed.append((row, path))
    ids = unique_ids(path.relative_to(folder).as_posix() for _, path in listed)
    exemplars = []
    for (row, path), exemplar_id in zip(listed, ids, strict=True):
        gloss = row[gloss_column].strip()
        lemma = row[lemma_column].strip() if lemma_column else ""
        licence = row.get("licence", "") or row.get("license", "")
        source = row.get("dataset", "").strip() or "SignBank"
        exemplars.append(
            _exemplar(lemma or gloss, exemplar_id, path, "", source, licence.strip(), gloss if lemma != gloss else "")
        )
    return Contents(tuple(exemplars), tuple(problems))


def _exemplar(
    word: str,
    exemplar_id: str,
    path: Path,
    signer: str,
    source: str,
    licence: str,
    variant: str = "",
    segment: Segment | None = None,
) -> Exemplar:
    return Exemplar(
        *(" ".join(word.split()), exemplar_id, path, signer, source, licence), variant=variant, segment=segment
    )


def _header(path: Path) -> list[str]:
    """The columns of a table, in lower case, without the spaces of "Annotation ID Gloss: Dutch" beyond the first."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline(100_000)
    return [cell.strip().lower() for cell in next(csv.reader([first], delimiter=_delimiter(first)), [])]


def _column(columns: list[str], name: str) -> str:
    """The column that begins with a name: the English one of several languages, else the first; "" if there is none."""
    fitting = [column for column in columns if column.startswith(name)]
    return next((column for column in fitting if "english" in column), fitting[0] if fitting else "")


def _rows(path: Path) -> Iterator[Row]:
    text = read_text(path).text
    lines = csv.reader(text.splitlines(), delimiter=_delimiter(text.partition("\n")[0]))
    next(lines, None)
    columns = _header(path)
    for cells in lines:
        if len(cells) >= len(columns):
            yield dict(zip(columns, cells, strict=False))


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)
