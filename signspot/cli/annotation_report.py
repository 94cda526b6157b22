"""`signspot annotate-report`: what an annotation run yields, and which words are worth asking for."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import claim_outputs, count, log, open_outputs, print_line, print_table
from signspot.cli.options import Json


def annotate_report(
    run: Annotated[str, typer.Argument(help="Folder, SQLite file or database URL of a run.")],
    corpus: Annotated[
        Path | None, typer.Option(help="The annotated corpus; its mouthing labels show which signs are new.")
    ] = None,
    decoys: Annotated[
        str | None, typer.Option(help="Run of the same corpus with --decoys, to estimate precision and confidence.")
    ] = None,
    mouthings: Annotated[
        str | None, typer.Option(help="Run of the same corpus with --source mouthing, to see which spottings agree.")
    ] = None,
    thresholds: Annotated[str, typer.Option(help="Thresholds to report, such as 0.9,0.95. [default: eight]")] = "",
    spottings: Annotated[
        Path | None, typer.Option(help="With --decoys: write the accepted spottings (.csv, .eaf …).")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Minimum confidence of an accepted spotting, from 0 to 1.")] = 0.9,
    as_json: Json = False,
    out: Annotated[Path, typer.Option(help="Folder for yield.md, yield.png and words.csv.")] = Path("report"),
) -> None:
    """Report words and spottings by threshold; with decoys, also the estimated precision and the words to leave out.

    Example: signspot annotate-report RUN --corpus footage/ --decoys RUN-DECOYS --spottings accepted.csv
    """
    from signspot.annotation.report import CONFIDENCE, accepted, report_yield
    from signspot.annotation.run import media_of, rights_of
    from signspot.annotation.run_spottings import marked, mouthing_labels
    from signspot.annotation.store import open_store
    from signspot.corpus.corpus import open_corpus
    from signspot.errors import OptionsError
    from signspot.formats.formats import write

    try:
        levels = tuple(float(value) for value in thresholds.split(",") if value.strip())
    except ValueError:
        raise OptionsError(
            f"thresholds are numbers separated by commas, such as 0.9,0.95; got '{thresholds}'"
        ) from None
    if spottings is not None and decoys is None:
        raise OptionsError("--spottings needs --decoys, by which confidence is estimated")
    footage = open_corpus(corpus) if corpus is not None else None
    media, rights = (media_of(footage), rights_of(footage)) if footage is not None else ({}, {})
    with ExitStack() as stack:
        outputs = stack.enter_context(open_outputs(corpus, run, decoys, mouthings))
        for name in ("yield.md", "yield.png", *(["words.csv"] if decoys else [])):
            outputs.claim(out / name)
        store = stack.enter_context(open_store(run))
        videos = [media.get(video.video, video.video) for video in store.videos()] if spottings is not None else []
        claim_outputs(outputs, [spottings] if spottings else [], videos=videos)
        by_chance = stack.enter_context(open_store(decoys)) if decoys is not None else None
        lips = None
        if mouthings is not None:
            with open_store(mouthings) as mouthed:
                lips = mouthing_labels(mouthed, CONFIDENCE)
        report = report_yield(store, out, footage, by_chance, levels, lips)
        if spottings is not None and report.judged is not None:
            chosen = list(marked(accepted(store, report.judged, confidence), lips or [], media, rights))
            written = write(chosen, spottings, videos=videos)
            log(f"written: {count(len(chosen), 'spotting')} to {', '.join(map(str, written))}")
    log(f"written: {out / 'yield.md'}, {out / 'yield.png'}" + (f", {out / 'words.csv'}" if decoys else ""))
    if as_json:
        content = {"tables": [table.as_dict() for table in report.tables], "unseen": report.unseen}
        print_line(json.dumps(content, ensure_ascii=False))
        return
    for table in report.tables:
        print_line(f"\n{table.title}")
        print_table(table.columns, table.cells())
        if table.note:
            print_line(table.note)
    for line in report.unseen:
        log(f"not searched completely: {line}")
