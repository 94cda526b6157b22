"""One open workbench: the folder, its database, searches, queues and jobs; how routes get it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from pydantic import Field
from starlette.exceptions import HTTPException

from signspot.annotation.store import Database
from signspot.io.files import clean_up
from signspot.web.access import AccessPolicy, Role
from signspot.web.database_tables import open_database
from signspot.web.edited_signs import Signs
from signspot.web.folder import MEDIA_FOLDER, ServedFolder
from signspot.web.jobs import Jobs
from signspot.web.media import Media
from signspot.web.recordings import HolisticPackage, Recordings
from signspot.web.searcher import Searcher, States
from signspot.web.uploads import MOST_BYTES
from signspot.web.verification import Queues
from signspot.web.worker import JobSettings, Worker


@dataclass(frozen=True, slots=True)
class WorkbenchOptions:
    """Options of serving a folder."""

    folder: Path
    dictionaries: Sequence[Path] = ()  # that lie elsewhere
    database: str | None = None  # URL; None: SQLite in the folder
    encoder: str | None = None  # name or file; None: the shipped one
    most_bytes: int = MOST_BYTES  # of one upload
    access: AccessPolicy = field(default_factory=AccessPolicy)
    device: str = "cpu"  # where networks run
    pixels: bool = True  # people are shown and thumbnails of them stored; otherwise skeletons are drawn
    holistic: Path | None = None  # a package that estimates landmarks in the browser


@dataclass(frozen=True)
class Workbench:
    """All parts of an open workbench."""

    options: WorkbenchOptions
    folder: ServedFolder
    database: Database
    worker: Worker
    searcher: Searcher
    queues: Queues
    signs: Signs
    jobs: Jobs
    states: States
    recordings: Recordings
    media: Media
    holistic: HolisticPackage | None = None

    @classmethod
    def open(cls, options: WorkbenchOptions) -> "Workbench":
        """Open a folder; create its database if there is none, and remove temporary files of killed servers.

        Raises:
            OptionsError: there is no such folder, or no such package.
            StoreError: the database cannot be used.
        """
        holistic = None if options.holistic is None else HolisticPackage.open(options.holistic)
        others = tuple(path.resolve() for path in options.dictionaries)
        folder = ServedFolder(options.folder, others, options.pixels)
        clean_up(folder.state)  # among them uploads that show people
        if not options.pixels:
            for path in (folder.state / MEDIA_FOLDER).glob("*"):  # thumbnails of servers that showed people
                path.unlink(missing_ok=True)
        database = open_database(options.database, folder.state)
        settings = JobSettings(str(folder.root), options.database, options.encoder, options.device)
        worker = Worker()
        queues = Queues(database)
        searcher = Searcher(folder, worker, queues, options.encoder, options.device)
        media = Media(folder.state / MEDIA_FOLDER, searcher, worker)
        parts = queues, Signs(database), Jobs(database, settings), States(searcher), Recordings(), media
        return cls(options, folder, database, worker, searcher, *parts, holistic)

    def close(self) -> None:
        """Stop jobs and recordings, and close the database."""
        self.recordings.close()
        self.jobs.stop()
        self.worker.close()
        self.database.close()


def _bench(request: Request) -> Workbench:
    bench: Workbench = request.app.state.bench
    return bench


def needs(role: Role) -> Callable[[Request], None]:
    """A check that a visitor has at least a role."""

    def check(request: Request) -> None:
        if request.scope.get("role", Role.LOOK) < role:
            raise HTTPException(403, f"This needs the role '{role.name.lower()}'; ask for its token.")

    return check


Seconds = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]  # a time of a request
OpenWorkbench = Annotated[Workbench, Depends(_bench)]
VERIFIER = Depends(needs(Role.VERIFY))
OWNER = Depends(needs(Role.OWN))
