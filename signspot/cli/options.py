"""Options of commands: those of all commands, those that several share, and those derived from a dataclass."""

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of all commands, given before or after the command's name."""

    device: str = "cpu"
    force: bool = False  # files that signspot did not write last may be replaced
    pixels: bool = True  # results may show people
    cache: bool = True  # tracks, landmarks and exemplars are kept in the cache folder


_settings: ContextVar[Settings | None] = ContextVar("settings", default=None)


def settings() -> Settings:
    """The settings of the command that is running."""
    return _settings.get() or Settings()


def use_settings(chosen: Settings) -> None:
    """Set the settings of the command that is about to run."""
    _settings.set(chosen)


def _check_device(name: str) -> str:
    """Refuse a device that is not there before anything is read or written; typer calls it."""
    if name != "cpu":
        from signspot.models.encoder_network import find_device

        find_device(name)
    return name


def _choose_estimator(context: typer.Context, name: str | None) -> str | None:
    """Estimate with the named estimator until the command ends; refuse one that is not there; typer calls it."""
    if name is not None:
        from signspot.landmarks.estimators import estimating_with

        context.with_resource(estimating_with(name))
    return name


# Of all commands
Device = Annotated[
    str,
    typer.Option(
        "--device",
        callback=_check_device,
        metavar="NAME",
        help="cpu (default), cuda, mps, openvino … or auto.",
        show_default=False,
    ),
]
EstimatorName = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        callback=_choose_estimator,
        metavar="NAME",
        help="mediapipe, mediapipe-lips or openvino.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace your own files, too; backups are kept.")]
NoPixels = Annotated[bool, typer.Option("--no-pixels", help="Write no images of people.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not use the cache folder.")]

# Of several commands
Out = Annotated[
    list[Path] | None,
    typer.Option("--out", help="Write the spottings to a file (.eaf, .vtt, .csv, .jsonl …); repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a self-contained web page (.html).")]
EncoderName = Annotated[str | None, typer.Option("--encoder", help="Name or file of the encoder. [default: landmark]")]
Confirmed = Annotated[
    Path | None,
    typer.Option(
        "--confirmed",
        help="File of checked spottings (.csv, .eaf …). All but the rejected ones serve as further exemplars.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Number of processes for landmark estimation. [default: all cores but one]",
        show_default=False,
    ),
]


def default_workers(workers: int | None) -> int:
    """The number of processes that was asked for, else one for each core but one."""
    return workers if workers is not None else max(1, usable_cores() - 1)


def usable_cores() -> int:
    """The cores that this process may use: a container, or `taskset`, may leave it fewer than the computer has."""
    affinity = getattr(os, "sched_getaffinity", None)  # on Linux
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of a dataclass that become options of a command, in this order."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, *names: str) -> "Fields":
        """Name some fields; none: all that have a help text."""
        return cls(names)


def derive_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by options: one for each field that has a help text.

    `options: Annotated[SpotOptions, Fields.of("threshold", "top")]` becomes `--threshold` and `--top`. A field's
    metadata holds its `help`, and may hold `min` and `max` of numbers and `option`, the name of the option. The other
    fields keep their defaults. A flag that is off by default gets no `--no-` form.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    records: dict[str, tuple[type[Any], list[str]]] = {}  # by the parameter's name
    for name, parameter in signature.parameters.items():
        kind, fields = _record(hints[name])
        if kind is None:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        parameters += _parameters(kind, fields)
        records[name] = kind, fields

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name, (kind, fields) in records.items():
            values[name] = kind(**{field: values.pop(field) for field in fields})
        command(**values)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _record(hint: Any) -> tuple[type[Any] | None, list[str]]:
    """The dataclass behind an annotation and the fields that become options; None where it is not a dataclass."""
    kind, *remarks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return None, []
    named = next((remark.names for remark in remarks if isinstance(remark, Fields)), ())
    return kind, list(named) or [field.name for field in dataclasses.fields(kind) if "help" in field.metadata]


def _parameters(kind: type[Any], names: Collection[str]) -> list[inspect.Parameter]:
    hints, fields = get_type_hints(kind), {field.name: field for field in dataclasses.fields(kind)}
    return [_parameter(fields[name], hints[name]) for name in names]


def _parameter(field: "dataclasses.Field[Any]", hint: Any) -> inspect.Parameter:
    metadata = field.metadata
    name = metadata.get("option", "--" + field.name.replace("_", "-"))
    either = hint == bool | None or (hint is bool and field.default is True)
    names = f"{name}/--no-{name[2:]}" if either else name
    option = typer.Option(names, help=metadata["help"], min=metadata.get("min"), max=metadata.get("max"))
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option]
    )
