"""The verbs, and how errors are shown: one line on stderr; exit 1, 2 for misuse and bad values, 130 for Ctrl-C."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from signspot.cli import (
    adapt,
    annotate,
    annotation_report,
    cache,
    calibrate,
    convert,
    corpus,
    demo,
    densify,
    dictionary,
    embed,
    evaluate,
    faux_amis,
    feedback,
    forget,
    identify,
    landmarks,
    learn,
    mine,
    models,
    mouth,
    recognise,
    reproduce,
    search,
    serve,
    spot,
    train,
    variants,
    wake,
    world,
)
from signspot.cli.console import note, unprinted
from signspot.errors import OptionsError, SignspotError
from signspot.version import VERSION

_MISUSE = 2
_INTERRUPTED = 130
_STOPPED = "signspot: stopped; nothing half-written was left behind"
_ANYWHERE = ("--debug", "--verbose")  # options of signspot itself that may also follow the verb

app = typer.Typer(
    name="signspot",
    help="Find signs in signing video. Try: signspot demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("spot")(spot.spot)
app.command("identify")(identify.identify)
app.command("feedback")(feedback.feedback)
app.command("densify")(densify.densify)
app.command("faux-amis")(faux_amis.faux_amis)
app.command("mine")(mine.mine)
app.command("search")(search.search)
app.command("wake")(wake.wake)
app.command("variants")(variants.variants)
app.command("recognise")(recognise.recognise)
app.command("mouth")(mouth.mouth)
app.command("embed")(embed.embed)
app.command("landmarks")(landmarks.landmarks)
app.add_typer(dictionary.app, name="dictionary")
app.command("annotate")(annotate.annotate)
app.command("annotate-report")(annotation_report.annotate_report)
app.command("convert")(convert.convert)
app.command("models")(models.models)
app.add_typer(corpus.app, name="corpus")
app.add_typer(world.app, name="world")
app.command("adapt")(adapt.adapt)
app.command("learn")(learn.learn)
app.command("train")(train.train)
app.add_typer(evaluate.app, name="evaluate")
app.command("calibrate")(calibrate.calibrate)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(cache.app, name="cache")
app.command("forget")(forget.forget)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)


class _NoteHandler(logging.Handler):
    """Log lines as remarks on the stderr of the moment: it may be another one than when the verb began."""

    def emit(self, record: logging.LogRecord) -> None:
        note(self.format(record))


def _show_version(value: bool) -> None:  # typer calls it with the flag's value
    if value:
        typer.echo(f"signspot {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say more about what happens.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop."),
    ] = False,
) -> None:
    """Find signs in signing video. Try: signspot demo."""
    handler = _NoteHandler()
    handler.setFormatter(logging.Formatter("signspot: %(message)s"))
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger("signspot").setLevel(logging.INFO if verbose else logging.WARNING)
    logging.getLogger("signspot.licence").setLevel(logging.INFO)  # of weights, once per run
    if debug:
        os.environ["SIGNSPOT_DEBUG"] = "1"


def run(stopped: Sequence[int] = ()) -> NoReturn:
    """Run the verb that was asked for; show what goes wrong; end.

    Args:
        stopped: empty until Ctrl-C is pressed, where somebody takes note of that.
    """
    try:
        code = app(_options_first(sys.argv[1:]), prog_name="signspot", standalone_mode=False)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # typer has swallowed it
    except SignspotError as error:
        if os.environ.get("SIGNSPOT_DEBUG"):
            raise
        note(_STOPPED if stopped else f"signspot: {error}")
        code = _INTERRUPTED if stopped else _MISUSE if isinstance(error, OptionsError) else 1
    except typer.TyperException as error:  # misuse: an unknown option, a missing argument, no verb at all
        text = error.format_message()
        context = getattr(error, "ctx", None)
        verb = context.command_path if context else "signspot"
        note(text if "\n" in text else f"signspot: {text} See: {verb} --help")
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        note(_STOPPED)
        code = _INTERRUPTED
    except Exception:  # after Ctrl-C, libraries that are being loaded raise whatever they like
        if not stopped or os.environ.get("SIGNSPOT_DEBUG"):
            raise
        note(_STOPPED)
        code = _INTERRUPTED
    if unprinted:
        note(f"signspot: cannot print the results: {unprinted[0]}.")
        code = code or 1
    sys.exit(code if isinstance(code, int) else 0)


def _options_first(arguments: Sequence[str]) -> list[str]:
    """Arguments with signspot's own flags before the verb, wherever they were typed before a `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    flags = [argument for argument in arguments[:end] if argument in _ANYWHERE]
    rest = [argument for argument in arguments[:end] if argument not in _ANYWHERE]
    return [*flags, *rest, *arguments[end:]]
