"""The verbs for folders that were added: roots, relocate."""

from __future__ import annotations

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.options import REF
from ricordo.cli.present_reports import show_refreshed
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb import verb, verb_group

roots = verb_group(
    "roots",
    examples=["ricordo roots", "ricordo roots rm ~/notes", "ricordo rm ~/notes/"],
    details="refresh finds new files in these folders. 'roots rm' leaves a folder and keeps its items; 'rm FOLDER/'"
    " removes the items, too.",
)


@verb("list", line="List the folders that were added.", examples=["ricordo roots list"])
def list_roots(call: Call) -> int:
    """A folder that is marked as gone was moved or deleted: relocate says where it is now."""
    with call.engine() as engine:
        found = engine.roots()

    def draw(screen: Screen) -> None:
        rows = [
            (f"{root.items:,}", one_line(root.path), " ".join(root.globs), "" if root.is_there else "gone")
            for root in found
        ]
        screen.table(("items", "folder", "only", ""), rows, right=(0,))
        if not rows:
            screen.note("no folder was added; 'ricordo add FOLDER' adds one")

    return call.answer({"roots": [root.to_dict() for root in found]}, draw)


@verb("rm", line="Leave a folder, and keep its items.", examples=["ricordo roots rm ~/notes"])
@click.argument("folder", type=REF)
def forget_root(call: Call, folder: str) -> int:
    """refresh finds no more new files in it. To remove the items as well, use: ricordo rm FOLDER/"""
    with call.engine() as engine:
        root = engine.forget_root(folder)

    def draw(screen: Screen) -> None:
        screen.line(f"left {root.path}")
        if root.items:
            stay = "its item stays" if root.items == 1 else f"its {root.items:,} items stay"
            screen.note(f"{stay}; 'ricordo rm {root.path}/' removes {'it' if root.items == 1 else 'them'}")

    return call.answer(root.to_dict(), draw)


roots.add_command(list_roots)
roots.add_command(forget_root)


@verb("relocate", examples=["ricordo relocate ~/old/notes ~/new/notes"])
@click.argument("old", type=REF)
@click.argument("new", type=REF)
def relocate(call: Call, old: str, new: str) -> int:
    """The items keep their history, their fields and their vectors. A project that was moved together with its store
    is noticed by refresh, and needs no relocate.
    """
    with call.engine() as engine:
        report = engine.relocate(old, new)
    plain = report.to_dict()
    failed = report.count("failed")
    return call.answer(
        plain,
        lambda screen: show_refreshed(screen, plain),
        exit_code=1 if failed else 0,
        error=some_failed(failed, len(report.items)) if failed else None,
    )
