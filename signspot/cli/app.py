"""The commands, and how errors are shown: one line on stderr; exit 1, 2 for misuse and bad values, 130 for Ctrl-C."""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from signspot.cli import (
    adapt,
    annotate,
    annotation_report,
    cache,
    calibrate,
    convert,
    demo,
    dictionary,
    embed,
    evaluate,
    faux_amis,
    feedback,
    forget,
    identify,
    import_corpus,
    learn,
    mine,
    models,
    mouth,
    search,
    serve,
    spot,
    synthetic,
    train,
    wake,
)
from signspot.cli.console import log, unprinted
from signspot.cli.options import Device, EstimatorName, Force, NoCache, NoPixels, Settings, use_settings
from signspot.errors import OptionsError, SignspotError
from signspot.version import VERSION

_MISUSE = 2
_INTERRUPTED = 130
_STOPPED = "signspot: stopped; no unfinished files are left"
# options of all commands, which may follow the command
_FLAGS, _VALUES = ("--debug", "--force", "--no-pixels", "--no-cache"), ("--device", "--estimator")
_EPILOG = "Options of all commands (--device, --estimator, --force, --no-pixels, --no-cache, --debug): signspot --help"

# panel → name → command or group of commands, and its line in `signspot --help`, of 49 letters at most
PANELS: dict[str, dict[str, tuple[Callable[..., None] | typer.Typer, str]]] = {
    "Begin": {
        "demo": (demo.demo, "Make a small example and find its signs."),
        "spot": (spot.spot, "Find signs in videos."),
        "serve": (serve.serve, "Open the workbench in the browser."),
    },
    "Find": {
        "identify": (identify.identify, "Say which word an isolated sign is."),
        "search": (search.search, "Search an archive for a word or a clip."),
        "mouth": (mouth.mouth, "Find words of subtitles on the signer's lips."),
    },
    "Dictionaries": {
        "dictionary": (dictionary.app, "Build, inspect, fetch; group variants."),
        "mine": (mine.mine, "Find new exemplars of a word in footage."),
    },
    "Annotate": {
        "annotate": (annotate.annotate, "Label a corpus from its subtitles."),
        "annotate-report": (annotation_report.annotate_report, "Report the yield of an annotation run."),
        "convert": (convert.convert, "Convert spottings between formats."),
    },
    "Learn": {
        "train": (train.train, "Train an encoder or a recogniser."),
        "adapt": (adapt.adapt, "Adapt an encoder to your footage."),
        "learn": (learn.learn, "Label, adapt and train a recogniser in one run."),
        "evaluate": (evaluate.app, "Measure what was trained."),
        "calibrate": (calibrate.calibrate, "Choose thresholds by an encoder's false alarms."),
        "import": (import_corpus.import_corpus, "Import a published corpus."),
    },
    "Applications": {
        "feedback": (feedback.feedback, "Tell a learner whether a sign was right."),
        "faux-amis": (faux_amis.faux_amis, "Find look-alike signs of two languages."),
        "wake": (wake.wake, "Wait for a sign in a camera's stream."),
    },
    "Tools": {
        "embed": (embed.embed, "Save tracks or landmarks of videos."),
        "models": (models.models, "List the shipped encoders."),
        "cache": (cache.cache, "Show or empty the cache folder."),
        "forget": (forget.forget, "Remove a signer or a video from everything."),
        "synthetic": (synthetic.app, "Make synthetic signing with exact truth."),
    },
}


class _Panels(TyperGroup):
    """The group of all commands; its help names each panel beside its first command, and fits on one screen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the options of all commands from wherever they were typed."""
        return super().parse_args(ctx, _options_first(args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, commands by panel, and options."""
        self.format_usage(ctx, formatter)
        formatter.write(f"{self.help}\n\n")
        options = [record for param in self.params if (record := param.get_help_record(ctx)) is not None]
        panels = {panel: [(name, line) for name, (_, line) in rows.items()] for panel, rows in PANELS.items()}
        for panel, rows in {**panels, "": [("", "")], "Options": options}.items():
            for number, (name, line) in enumerate(rows):
                formatter.write(f"{'' if number else panel:13}{name:17}{line}".rstrip() + "\n")


app = typer.Typer(
    cls=_Panels,
    name="signspot",
    help="Find signs in signing video. Begin with: signspot demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _commands in PANELS.values():
    for _name, (_command, _line) in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, short_help=_line)
        else:
            app.command(_name, short_help=_line, epilog=_EPILOG)(_command)


class _LogHandler(logging.Handler):
    """Log lines as remarks on the stderr of the moment: it may be another one than when the command began."""

    def emit(self, record: logging.LogRecord) -> None:
        log(self.format(record))


def _show_version(value: bool) -> None:  # typer calls it with the flag's value
    if value:
        typer.echo(f"signspot {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    device: Device = "cpu",
    estimator: EstimatorName = None,
    force: Force = False,
    no_pixels: NoPixels = False,
    no_cache: NoCache = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log more, and show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find signs in signing video. Begin with: signspot demo."""
    handler = _LogHandler()
    handler.setFormatter(logging.Formatter("signspot: %(message)s"))
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger("signspot").setLevel(logging.INFO if debug else logging.WARNING)
    logging.getLogger("signspot.licence").setLevel(logging.INFO)  # of weights, once per run
    if debug:
        os.environ["SIGNSPOT_DEBUG"] = "1"
    use_settings(Settings(device, force, not no_pixels, not no_cache))


def run(stopped: Sequence[int] = ()) -> NoReturn:
    """Run the command that was asked for; show what goes wrong; end.

    Args:
        stopped: empty until Ctrl-C is pressed, where somebody takes note of that.
    """
    try:
        code = app(prog_name="signspot", standalone_mode=False)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # typer has swallowed it
    except SignspotError as error:
        if os.environ.get("SIGNSPOT_DEBUG"):
            raise
        log(_STOPPED if stopped else f"signspot: {error}")
        code = _INTERRUPTED if stopped else _MISUSE if isinstance(error, OptionsError) else 1
    except typer.TyperException as error:  # misuse: an unknown option, a missing argument, no command at all
        text = error.format_message()
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "signspot"
        log(text if "\n" in text else f"signspot: {text} See: {command} --help")
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        log(_STOPPED)
        code = _INTERRUPTED
    except Exception:  # after Ctrl-C, libraries that are being loaded raise whatever they like
        if not stopped or os.environ.get("SIGNSPOT_DEBUG"):
            raise
        log(_STOPPED)
        code = _INTERRUPTED
    if unprinted:
        log(f"signspot: cannot print the results: {unprinted[0]}.")
        code = code or 1
    sys.exit(code if isinstance(code, int) else 0)


def _options_first(arguments: Sequence[str]) -> list[str]:
    """Arguments with the options of all commands before the command, wherever they were typed before a `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    first, rest, position = list[str](), list[str](), 0
    while position < end:
        argument = arguments[position]
        length = 2 if argument in _VALUES and position + 1 < end else 1
        shared = argument in _FLAGS or argument.partition("=")[0] in _VALUES
        (first if shared else rest).extend(arguments[position : position + length])
        position += length
    return [*first, *rest, *arguments[end:]]
