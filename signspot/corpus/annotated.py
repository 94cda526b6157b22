"""Annotated footage as a dictionary: the glosses of ELAN documents, each an exemplar cut out of its video."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from signspot.dictionary.dictionary import Contents, LeftOut, unique_ids
from signspot.errors import DictionaryError, FormatError, OptionsError
from signspot.formats.elan import LinkedVideo, document_licence, linked_videos, list_tiers
from signspot.formats.elan import read as read_document
from signspot.types import Exemplar, Segment
from signspot.video import VIDEO_SUFFIXES

SUFFIX = ".eaf"


def read_annotated(source: Path, tiers: Sequence[str] = (), video: Path | None = None) -> Contents | None:
    """Read an ELAN document, or all of a folder; None where the source is neither.

    Args:
        source: a document, or a folder with documents and their videos.
        tiers: to read; none: those that look like glosses.
        video: of a single document; None: the one that it links.

    Raises:
        DictionaryError: it is not clear which video belongs to a document, or no annotation can be used.
        FormatError: a document cannot be read, or a tier is not there.
        OptionsError: a video is given for several documents.
    """
    if source.is_dir():
        documents = sorted(path for path in source.iterdir() if path.suffix.lower() == SUFFIX)
    else:
        documents = [source] if source.suffix.lower() == SUFFIX and source.is_file() else []
    if not documents:
        return None
    if video is not None and len(documents) > 1:
        raise OptionsError(f"--video names one video, and {source} has {len(documents)} documents. Leave it out")
    exemplars: list[Exemplar] = []
    problems: list[LeftOut] = []
    for document in documents:
        try:
            exemplars += _exemplars(document, tiers, video, problems)
        except (DictionaryError, FormatError) as error:
            if len(documents) == 1:
                raise
            problems.append(LeftOut(document, str(error).removeprefix(str(document)).lstrip(": ")))
    if not exemplars:
        first = f" {problems[0]}" if problems else ""
        raise DictionaryError(f"no annotation in {source} can be used as an exemplar.{first}")
    names = (str(exemplar.path and exemplar.path.name) for exemplar in exemplars)
    ids = unique_ids(names, (exemplar.segment for exemplar in exemplars))
    named = (replace(exemplar, id=name) for exemplar, name in zip(exemplars, ids, strict=True))
    return Contents(tuple(named), tuple(problems))


def _exemplars(document: Path, tiers: Sequence[str], video: Path | None, problems: list[LeftOut]) -> list[Exemplar]:
    summaries = {summary.name: summary for summary in list_tiers(document)}
    chosen = list(tiers) or [summary.name for summary in summaries.values() if summary.is_read]
    spottings = [(name, spotting) for name in chosen for spotting in read_document(document, [name])]
    if not chosen:
        read_document(document)  # which says that no tier looks like glosses
    path, licence = video or _video_of(document), document_licence(document)
    exemplars = []
    for name, spotting in spottings:
        word = " ".join(spotting.word.split())
        if spotting.decision == "no" or not word or spotting.end <= spotting.start:
            problems.append(
                LeftOut(document, f"the annotation at {spotting.start:g} s has no word or no length, or was rejected")
            )
            continue
        signer = summaries[name].signer if name in summaries else ""
        exemplars.append(
            Exemplar(
                *(word, "", path, signer, document.name, licence or spotting.video_licence, spotting.video_consent),
                segment=Segment(spotting.start, spotting.end),
            )
        )
    return exemplars


def _video_of(document: Path) -> Path:
    """The video of a document: the only one that it links, or the one of its own name beside it.

    Raises:
        DictionaryError: there are several, or none.
    """
    linked = linked_videos(document)
    if len(linked) > 1:
        names = ", ".join(video.address for video in linked)
        raise DictionaryError(f"{document} links {len(linked)} videos ({names}). Say which one: --video FILE")
    if linked and linked[0].file is not None:
        return linked[0].file
    beside = sorted(
        file
        for file in document.parent.iterdir()
        if file.stem == document.stem and file.suffix.lower() in VIDEO_SUFFIXES | {".pose"}
    )
    if len(beside) == 1:
        return beside[0]
    raise DictionaryError(f"{document} {_missing(linked)}. Put it beside the document, or name it: --video FILE")


def _missing(linked: Sequence[LinkedVideo]) -> str:
    if not linked:
        return "links no video"
    address = linked[0].address
    if "://" in address and not address.startswith("file:"):
        return f"links a video on the web ({address}), which is not fetched"
    return f"links a video that is not there ({address})"
