"""`signspot forget`: remove a signer or a video from everything that signspot keeps."""

from typing import Annotated

import typer

from signspot.cli.console import count, log, print_table


def forget(
    who: Annotated[str, typer.Argument(metavar="SIGNER|VIDEO", help="A signer's name, a video's path, or its id.")],
    places: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of dictionaries, corpora, annotation runs, archives, trainings or the workbench; "
            "postgresql://…; files of spottings, tracks or landmarks; .zip and .tar. The cache is always included."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it. Without --yes, nothing is changed.")] = False,
) -> None:
    """Remove a signer or a video from everything that signspot keeps in these places, and list what is removed.

    Example: signspot forget "Signer 7" my-signs/ footage/ run/ found.csv backup.zip --yes
    """
    from signspot.applications.data_removal import OUT_OF_REACH
    from signspot.applications.data_removal import forget as remove
    from signspot.web.person_data import ServerData

    removed = remove(who, places or (), ServerData(), yes=yes)
    print_table(("kind", "removed" if yes else "to be removed"), ((removal.kind, removal.what) for removal in removed))
    if yes:
        log(f"removed {count(len(removed), 'thing')}. Out of reach: {'; '.join(OUT_OF_REACH)}.")
    else:
        log(f"{count(len(removed), 'thing')} would be removed; nothing was. To remove them, add --yes.")
