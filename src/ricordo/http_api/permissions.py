"""What a caller who may write, but is no administrator, is refused: files of the server's machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.errors import Forbidden
from ricordo.hosting.credentials import Caller
from ricordo.values.items import Ref

if TYPE_CHECKING:
    from ricordo.engine import Ricordo


def refuse_files(who: Caller, sources: Sequence[str]) -> None:
    """Refuse files of the server's machine, because a token that may only write must not read them."""
    files = [one for one in sources if not one.lower().startswith(("http://", "https://"))]
    if files and not who.may("admin"):
        raise Forbidden(
            f"'{files[0][:200]}' is on the server's machine, which needs the scope 'admin'",
            hint="Send a URL, or the file itself to /api/v1/upload.",
        )


def allowed_ref(engine: Ricordo, who: Caller, ref: str) -> Ref:
    """The ref that is written to. One on ``disk`` names a file, which a later refresh would read."""
    known = engine.resolve(ref)
    if known.drive == "disk" and not who.may("admin"):
        raise Forbidden(
            f"{known} names a file, which needs the scope 'admin'", hint="Use another drive, such as note:/."
        )
    return known
