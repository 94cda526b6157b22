"""`signspot convert`: spottings from one format into another, and a dictionary into a vocabulary for ELAN."""

from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from signspot.cli.console import bar, claim_outputs, count, log, open_outputs, print_line
from signspot.cli.options import settings

if TYPE_CHECKING:  # what takes long to load is loaded when it is used
    from signspot.landmarks.landmarks import Landmarks
    from signspot.types import Spotting


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            help="Spottings: .jsonl .csv .parquet .vtt .eaf .via.json .bobsl.json, BOBSL .pkl; for .ecv: a dictionary."
        ),
    ],
    target: Annotated[Path, typer.Argument(help="The new file; its suffix says which format.")],
    tier: Annotated[
        list[str] | None, typer.Option(help="Tier of an .eaf to read; repeatable. [default: the gloss tiers]")
    ] = None,
    ecv: Annotated[
        Path | None, typer.Option(help="To .eaf: external controlled vocabulary (.ecv) with the words.")
    ] = None,
    ecv_address: Annotated[
        str, typer.Option(help="With --ecv: address of the vocabulary for ELAN. [default: the file]")
    ] = "",
    tier_per: Annotated[
        Literal["word", "hand"] | None,
        typer.Option(
            help="To .eaf: a gloss tier for each word, or for each hand (two-handed signs: the leading hand)."
        ),
    ] = None,
) -> None:
    """Convert spottings between formats, or write the words of a dictionary as a vocabulary for ELAN (.ecv).

    Example: signspot convert corpus.eaf corpus.csv --tier RH-IDgloss --tier LH-IDgloss
    """
    from signspot.formats.elan import ElanOptions, read_vocabulary
    from signspot.formats.formats import check_suffix, read_spottings, write

    if target.suffix.lower() == ".ecv":
        _write_vocabulary(source, target)
        return
    check_suffix(target)
    outputs = open_outputs(source, ecv)
    spottings = read_spottings(source, tiers=tier or ())
    if source.suffix.lower() == ".eaf" and not tier:
        _name_tiers(source)
    vocabulary = read_vocabulary(ecv, ecv_address) if ecv else None
    group = None if tier_per is None else _leading_hand if tier_per == "hand" else attrgetter("word")
    options = ElanOptions(vocabulary=vocabulary, group=group)
    with outputs:
        claim_outputs(outputs, [target], videos=[spotting.video for spotting in spottings])
        written = write(spottings, target, options)
    if len(written) > 1:
        log("one file per video, since a file of this format belongs to one")
    print_line(f"{', '.join(map(str, written))}: {count(len(spottings), 'spotting')}")


def _leading_hand(spotting: "Spotting") -> str:
    """The hand that moves more in a spotting, as the landmarks of its video show.

    Raises:
        OptionsError: its video is not there.
    """
    from signspot.landmarks.signing import dominant_hand

    part = _landmarks(spotting.video).between(spotting.segment)
    return f"{dominant_hand(part) if len(part) else 'right'} hand"


@lru_cache(maxsize=1)
def _landmarks(video: str) -> "Landmarks":
    """The landmarks of a video: of a .pose file, else as a search has cached them, else estimated now."""
    from signspot.errors import OptionsError
    from signspot.landmarks.cache import default_cache
    from signspot.landmarks.video_estimation import landmarks_of

    if not Path(video).is_file():
        raise OptionsError(f"--tier-per hand needs the video, and there is no file {video}. Put it there")
    with bar(f"hands of {video}", "frames") as progress:
        return landmarks_of(video, default_cache() if settings().cache else None, progress)


def _write_vocabulary(source: Path, target: Path) -> None:
    """Write the words of a dictionary for ELAN."""
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.formats.elan import write_vocabulary

    with open_outputs(source) as outputs:
        outputs.claim(target)
        dictionary = open_dictionary(source)
        write_vocabulary(dictionary, target, target.stem)
    print_line(f"{target}: {count(len(dictionary), 'word')}")


def _name_tiers(source: Path) -> None:
    """Say which tiers were passed over."""
    from signspot.formats.elan import EXEMPLAR_TYPE, SCORE_TYPE, list_tiers

    tiers = [tier for tier in list_tiers(source) if tier.annotations and tier.kind not in (SCORE_TYPE, EXEMPLAR_TYPE)]
    chosen, others = ([f"'{t.name}' ({t.annotations})" for t in tiers if t.is_read is read] for read in (True, False))
    if others:
        log(f"read {', '.join(chosen)}; not read {', '.join(others)}. Choose with --tier")
