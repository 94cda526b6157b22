"""`signspot serve`: the workbench in the browser, for one folder."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import log, print_line
from signspot.cli.options import EncoderName, settings


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder of videos, dictionaries and annotation runs.")],
    dictionary: Annotated[
        list[Path] | None, typer.Option(help="Dictionary outside of the folder, which is only read; repeatable.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8321,
    name: Annotated[
        list[str] | None, typer.Option(help="Host name by which people reach this machine; repeatable.")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="Require a token on this machine, too.")] = False,
    database: Annotated[
        str | None, typer.Option(help="Database (postgresql://…). [default: a SQLite file in .signspot]")
    ] = None,
    upload_limit: Annotated[int, typer.Option(min=1, help="Maximum size of an upload, in megabytes.")] = 4000,
    encoder: EncoderName = None,
    holistic: Annotated[
        Path | None,
        typer.Option(help="Unpacked npm package @mediapipe/holistic: the sign page estimates landmarks itself."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Open the workbench: see, search, sign and verify in the browser.

    The server answers this machine only, unless another --host is given. Then each role (own, verify, look) has an
    address with a token of its own, printed once. Uploads, decisions and jobs stay in the folder. Ctrl-C ends the
    server; the next start continues a running job. With --no-pixels, skeletons replace videos and thumbnails, no video
    is accepted, and earlier thumbnails are removed. With --holistic, frames of a recorded sign do not leave the page;
    only their landmarks are sent.

    Example: signspot serve my-videos/ --open
    """
    try:
        from signspot.web.access import AccessPolicy
        from signspot.web.server import serve as run
        from signspot.web.server_state import WorkbenchOptions
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
