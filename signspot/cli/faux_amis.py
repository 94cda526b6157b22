"""`signspot faux-amis`: find signs of two languages that look the same."""

import json
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, claim_outputs, count, load_spotter, log, open_outputs, print_line, print_table
from signspot.cli.options import EncoderName, Html, Json, settings


def faux_amis(
    first: Annotated[Path, typer.Argument(help="A dictionary.")],
    second: Annotated[Path, typer.Argument(help="A dictionary of another sign language.")],
    word: Annotated[
        list[str] | None, typer.Option(help="Word of the first dictionary; repeatable. [default: all]")
    ] = None,
    translations: Annotated[
        Path | None, typer.Option(help="CSV table: a word of the first dictionary, its translation in the second.")
    ] = None,
    same: Annotated[
        float | None, typer.Option(help="Maximum cost of equal forms; 1 is that of two different signs.")
    ] = None,
    html: Html = None,
    json_lines: Json = False,
    encoder: EncoderName = None,
) -> None:
    """Find signs of two languages with the same form, and say whether they mean the same.

    Words that are spelled alike count as the same meaning, unless --translations lists the translations.

    Example: signspot faux-amis bsl/ dgs/ --translations bsl-dgs.csv --html faux-amis.html
    """
    from signspot.applications.faux_amis import (
        SAME_FORM,
        FauxAmisOptions,
        find_faux_amis,
        folder_names,
        read_translations,
        write_faux_amis_page,
    )
    from signspot.dictionary.open_dictionary import open_dictionary

    with open_outputs(first, second, translations, encoder) as outputs:
        claim_outputs(outputs, plots=[("report", html)])
        first_dictionary, second_dictionary = open_dictionary(first), open_dictionary(second)
        meanings = (
            read_translations(translations, first_dictionary, second_dictionary) if translations is not None else {}
        )
        options = FauxAmisOptions(SAME_FORM if same is None else same, tuple(word or ()), meanings)
        spotter = load_spotter(encoder)
        with bar("exemplars") as progress:
            result = find_faux_amis(spotter, first_dictionary, second_dictionary, options, progress=progress)
        if html is not None:
            names = folder_names(first.absolute(), second.absolute())
            log(f"wrote {write_faux_amis_page(spotter, result, html, names, pixels=settings().pixels)}")
    if not result.shared:
        log("no word is in both dictionaries, so all meanings count as different. Give a table: --translations")
    elif result.shared < result.words[0]:
        alone = count(result.words[0] - result.shared, "word")
        log(
            f"{alone} of the first dictionary are not in the second, so their meanings count as different. "
            "Give a table: --translations"
        )
    if json_lines:
        for pair in result.pairs:
            words = {"first": pair.first.word, "second": pair.second.word, "exemplars": [pair.first.id, pair.second.id]}
            print_line(json.dumps({**words, "cost": round(pair.cost, 4), "meaning": pair.meaning}, ensure_ascii=False))
        return
    if result.pairs:
        rows = ((pair.first.word, pair.second.word, pair.meaning, f"{pair.cost:.2f}") for pair in result.pairs)
        print_table(("first", "second", "meaning", "cost"), rows)
    elif result.costs.size:
        log(f"no two signs are below the cost {options.same:g}; the nearest two cost {result.costs.min():.2f} (--same)")
    log(f"{len(result.of('other'))} faux amis, {len(result.of('same'))} with the same meaning")
