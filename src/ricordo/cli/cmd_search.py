"""Commands that show an item: get, which takes several refs, and open."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.generated import REF, command
from ricordo.cli.show import (
    replaced_text,
    short_ref,
    show_content,
    show_fields,
    show_several,
    show_stale_citations,
)
from ricordo.cli.terminal import Screen, one_line
from ricordo.errors import Error, NotFound, Unavailable, UsageError
from ricordo.values.items import items_as_text

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.items import Item

Lines = tuple[int, int]

_SEVERAL = (
    click.Argument(["refs"], nargs=-1, required=True, type=REF, metavar="REF..."),
    click.Option(["--meta"], is_flag=True, help="Print the fields instead of the text."),
    click.Option(
        ["--format", "form"], type=click.Choice(["markdown", "json"]), help="Print all items as one text of this form."
    ),
)


@command("get", without=("ref",), extra=_SEVERAL)
def _get(
    call: Call, refs: tuple[str, ...], meta: bool = False, form: str = "", *, lines: Lines | None = None, **given: Any
) -> int:
    """One ref prints the text exactly as it is stored; several print each under its ref. With lines behind the ref, as
    search prints them (notes/keys.md:8-12), or with --lines, it prints these lines only. A file that is kept without
    text gives its bytes when the output goes to a file or a pipe.
    """
    items: list[Item] = []
    original: bytes | None = None
    missed: list[tuple[str, Error]] = []
    with call.engine() as engine:
        for ref in refs:
            try:
                items.append(_got(engine, ref, lines, **given))
            except Error as error:
                if len(refs) == 1:
                    raise
                missed.append((ref, error))
        if len(items) == len(refs) == 1 and not (items[0].fields.is_textual or meta or call.json):
            original = engine.original(refs[0], version=items[0].version)
    if missed and not items:
        raise missed[0][1]

    def draw(screen: Screen) -> None:
        if form:
            screen.out.write(items_as_text(items, form))
        elif meta:
            for number, item in enumerate(items):
                if number:
                    screen.line()
                show_fields(screen, item)
        elif len(refs) == 1:
            show_content(screen, items[0], original)
        else:
            show_several(screen, items)
        for item in items:
            for one in item.passages:
                screen.line(f"{one.lines[0]}-{one.lines[1]}  {one_line(one.heading)}  {one_line(one.text)}"[:200])
            if item.apart:
                name, others = short_ref(str(item.ref)), ", ".join(map(str, item.apart[:-1]))
                screen.warn(f"{name} was changed on two machines, both versions are kept: see version {others}")
            show_stale_citations(screen, item)
            if replaced := replaced_text(item):
                screen.warn(f"{short_ref(str(item.ref))} is archived: {replaced}")
        for _, error in missed:
            screen.error(error.message, error.hint)

    plain: Any = items[0].to_dict(with_content=not meta)
    if len(refs) > 1:
        failed = [{"ref": ref, "status": "failed", "error": error.to_dict()} for ref, error in missed]
        plain = {"items": [item.to_dict(with_content=not meta) for item in items], "failed": failed}
    if not missed:
        return call.answer(plain, draw)
    message = f"{len(missed)} of {len(refs)} failed"
    partly = {"code": "some_failed", "message": message, "hint": "data.failed says why."}
    return call.answer(plain, draw, exit_code=1, error=partly)


def _got(engine: Ricordo, ref: str, lines: Lines | None, **given: Any) -> Item:
    """An item, or some of its lines. An item whose own name ends like lines goes first."""
    behind = lines_behind(ref)
    if behind is None:
        return engine.get(ref, lines=lines, **given)
    try:
        return engine.get(ref, lines=lines, **given)
    except (NotFound, UsageError):
        return engine.get(behind[0], lines=lines or behind[1], **given)


@verb(
    "open", examples=["ricordo open notes/keys.md", "ricordo open notes/keys.md:12", "ricordo open memory:/login-bug"]
)
@click.argument("ref", type=REF)
def _open(call: Call, ref: str) -> int:
    """A file opens in your editor ($VISUAL or $EDITOR), at the line behind the ref if there is one; a memory, note or
    article opens as its Markdown file, and what you save there is taken in by the next command. A page opens in the
    browser.
    """
    with call.engine() as engine:
        behind = lines_behind(ref)
        try:
            item, line = engine.get(ref), 0
        except (NotFound, UsageError):
            if behind is None:
                raise
            item, line = engine.get(behind[0]), behind[1][0]
        place = engine.place_of(item.ref)
    open_place(place, line)
    return call.answer({"ref": str(item.ref), "place": place, "line": line or None}, lambda screen: None)


_LINES = re.compile(r"(\d+)(?:-(\d+))?")


def lines_behind(ref: str) -> tuple[str, Lines] | None:
    """A ref and the lines behind it (``notes/a.md:8-12``); None if there are none.

    >>> lines_behind("notes/a.md:8-12")
    ('notes/a.md', (8, 12))
    """
    before, _, text = ref.rpartition(":")
    lines = _LINES.fullmatch(text)
    return (before, (int(lines[1]), int(lines[2] or lines[1]))) if before and lines else None


_AT_COLON = ("code", "codium", "cursor", "windsurf", "subl", "zed", "hx", "helix")
"""Editors that take ``file:line``; most others take ``+line file``."""

_WITH_GOTO = ("code", "codium", "cursor", "windsurf")
"""Editors that read ``file:line`` only behind this flag."""


def open_place(place: str, line: int = 0) -> None:
    """Open a file in the editor, and wait until it is closed; or a page in the browser."""
    if place.startswith(("http://", "https://")):
        click.launch(place)
        return
    command = editor_command(place, line)
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        raise Unavailable(
            f"the editor '{command[0]}' cannot be started ({error.strerror})",
            hint="Set VISUAL or EDITOR to an editor that is installed.",
        ) from None
    if done.returncode:
        raise Unavailable(f"the editor '{command[0]}' ended with {done.returncode}", hint=f"The file is {place}.")


def editor_command(place: str, line: int = 0) -> list[str]:
    """The command line that opens a file at a line.

    >>> os.environ["VISUAL"] = "vim"
    >>> editor_command("/notes/a.md", 12)
    ['vim', '+12', '/notes/a.md']
    """
    default = "notepad" if os.name == "nt" else "vi"
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or default, posix=os.name != "nt")
    name = Path(editor[0]).stem.lower()
    if not line or name == "notepad":
        return [*editor, place]
    if name in _AT_COLON:
        goto = ["-g"] if name in _WITH_GOTO else []
        return [*editor, *goto, f"{place}:{line}"]
    return [*editor, f"+{line}", place]
