"""Dependencies of routes: the open workbench, the visitor's role, the language."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from signspot.web import language
from signspot.web.guard import Role
from signspot.web.workbench import Workbench


def _bench(request: Request) -> Workbench:
    bench: Workbench = request.app.state.bench
    return bench


def needs(role: Role) -> Callable[[Request], None]:
    """A check that a visitor has at least a role."""

    def check(request: Request) -> None:
        if request.scope.get("role", Role.LOOK) < role:
            raise HTTPException(403, f"This needs the role '{role.name.lower()}'; ask for its token.")

    return check


def language_of(request: Request) -> str:
    """The language of a visitor."""
    return language.chosen(request.cookies.get(language.COOKIE), request.headers.get("accept-language", ""))


OpenWorkbench = Annotated[Workbench, Depends(_bench)]
VERIFIER = Depends(needs(Role.VERIFY))
OWNER = Depends(needs(Role.OWN))
