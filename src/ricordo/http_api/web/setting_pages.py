"""The settings: what is in force and where it came from, and changing them; tokens and signed-in browsers."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Request, Response

from ricordo.errors import Forbidden
from ricordo.http_api.serving import Here, Who
from ricordo.http_api.setting_changes import changed_setting, settings_in_force
from ricordo.http_api.web.frame import page, page_router, shows

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.hosting.credentials import Caller

settings = page_router()


@shows(settings, "/settings")
async def settings_page(request: Request, here: Here, who: Who) -> Response:
    """All settings by section, and the tokens and browsers that may use this server."""
    found = await here.ask(lambda engine: settings_in_force(engine.config))
    sections = [(name, list(rows)) for name, rows in groupby(found, key=lambda row: str(row["name"]).partition(".")[0])]
    credentials = here.credentials.all() if who.may("admin") else []
    return page(request, "settings.html", sections=sections, credentials=credentials, may_change=who.may("admin"))


@shows(settings, "/settings", "POST")
async def change(
    request: Request,
    here: Here,
    who: Who,
    name: Annotated[str, Form(min_length=1, max_length=200)],
    value: Annotated[str, Form(max_length=10_000)] = "",
    reset: Annotated[bool, Form()] = False,
) -> Response:
    """Change one setting in the user's file, or go back to its default."""
    _refuse_others(who)

    def work(engine: Ricordo) -> tuple[dict[str, Any], dict[str, Any]]:
        changed = changed_setting(name, None if reset else value)
        row = next((one for one in settings_in_force(engine.config) if one["name"] == changed["name"]), {})
        return changed, row

    changed, row = await here.ask(work)
    words = "back to its default" if reset else "saved"
    if changed.get("in_force") is False:
        words = f"saved, but {changed['source']} wins over it"
    return page(request, "setting_part.html", row=row, said=words, problem=None, may_change=True)


@shows(settings, "/tokens", "POST")
async def new_token(
    request: Request,
    here: Here,
    who: Who,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    scope: Annotated[str, Form(max_length=20)] = "read",
) -> Response:
    """Make a token and show it, which is done only once."""
    _refuse_others(who)
    secret, made = await here.ask(lambda engine: here.credentials.add(name, scope))
    return page(request, "token_part.html", secret=secret, made=made)


@shows(settings, "/tokens/remove", "POST")
async def remove_token(
    request: Request,
    here: Here,
    who: Who,
    id: Annotated[str, Form(min_length=1, max_length=100)],  # noqa: A002
) -> Response:
    """Remove a token or a browser's session."""
    _refuse_others(who)
    gone = await here.ask(lambda engine: here.credentials.remove(id))
    return page(request, "said_part.html", words=f"{gone[0].name} may not ask any more.")


def _refuse_others(who: Caller) -> None:
    if not who.may("admin"):
        raise Forbidden("changing settings needs the scope 'admin'", hint="ricordo serve tokens add NAME --scope admin")
