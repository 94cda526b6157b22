"""`signspot serve`: the workbench in the browser, for one folder."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import log, print_line
from signspot.cli.options import EncoderName, settings


def serve(
    folder: Annotated[Path, typer.Argument(help="A folder of videos, dictionaries and annotation runs.")],
    dictionary: Annotated[
        list[Path] | None, typer.Option(help="A dictionary that lies elsewhere; repeatable. It is not changed.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to bind; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")] = 8321,
    name: Annotated[
        list[str] | None, typer.Option(help="A host name by which people reach this machine; repeatable.")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="Ask for a token on this machine, too.")] = False,
    database: Annotated[
        str | None, typer.Option(help="postgresql://… [default: a SQLite file in the folder's .signspot]")
    ] = None,
    upload_limit: Annotated[int, typer.Option(min=1, help="Megabytes of one upload, at most.")] = 4000,
    encoder: EncoderName = None,
    holistic: Annotated[
        Path | None,
        typer.Option(help="npm's package @mediapipe/holistic, unpacked: the sign page estimates."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Open the workbench: see, search, sign and verify in the browser.

    It answers this machine only, unless another --host is given. Then each role (own, verify, look) has an address with
    a token of its own, printed once. Uploads, decisions and jobs stay in the folder; Ctrl-C ends the server, and a job
    that was running goes on with the next start. With --no-pixels skeletons replace videos and thumbnails, no video
    is accepted, and thumbnails of earlier servers are removed. With --holistic the frames of a recorded sign do not
    leave the page: it estimates their landmarks and sends these.

    Example: signspot serve my-videos/ --open
    """
    try:
        from signspot.web.access import AccessPolicy
        from signspot.web.server import serve as run
        from signspot.web.workbench import WorkbenchOptions
    except ModuleNotFoundError as error:
        from signspot.errors import MissingExtraError

        raise MissingExtraError((error.name or "a package").split(".")[0], "serve", "the workbench") from None

    access = AccessPolicy.create(host, frozenset(name or ()), token=token)
    options = WorkbenchOptions(
        folder,
        tuple(dictionary or ()),
        database,
        encoder,
        upload_limit * 1_000_000,
        access,
        settings().device,
        settings().pixels,
        holistic,
    )

    def report(address: str) -> None:
        print_line(address)
        if browser and not address.startswith(("verify:", "look:")):
            import webbrowser

            webbrowser.open(address.removeprefix("own: "))

    log(f"serving {folder}; Ctrl-C ends it")
    run(options, port, report)
