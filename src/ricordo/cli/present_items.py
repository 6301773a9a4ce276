"""How items, versions, trees, diffs and matching lines look to a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ricordo.cli.present_hits import short_ref
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.values.items import FRESH

if TYPE_CHECKING:
    from ricordo.values.hits import GrepMatch, Link, LinkReport
    from ricordo.values.items import Item, TreeNode, Version

_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


def local_time(moment: datetime | None) -> str:
    """A time as the reader's clock shows it, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else "–"


def size_text(size: int) -> str:
    """``812``, ``4.1k``, ``3.2M``: characters or bytes at a glance."""
    if size < 1000:
        return str(size)
    for unit, scale in (("k", 1e3), ("M", 1e6)):
        if size < 999.5 * scale:
            return f"{size / scale:.1f}{unit}"
    return f"{size / 1e9:.1f}G"


def show_items(screen: Screen, items: Sequence[Item]) -> None:
    """One line per item."""
    rows = [(_where(item), item.kind, f"v{item.version}", local_time(item.updated_at), item.title) for item in items]
    screen.table(("ref", "kind", "version", "changed", "title"), rows, paths=(0,))


def _where(item: Item) -> str:
    """The ref, and the other machine that has the file."""
    return f"{one_line(str(item.ref))} on {one_line(item.machine)}" if item.machine else short_ref(str(item.ref))


def show_content(screen: Screen, item: Item, original: bytes | None = None) -> None:
    """The text as it is stored; on a terminal without control characters, and ended by a new line.

    ``original`` are the bytes of an item without text: for files and pipes, never for a terminal.
    """
    if original is not None and not screen.is_terminal:
        screen.write_bytes(original)
        return
    text = item.content
    if screen.is_terminal:
        text = clean(text)
        text += "" if text.endswith("\n") or not text else "\n"
    screen.out.write(text)
    if not item.fields.is_textual:
        kind = item.fields.mime_type or "unknown type"
        screen.note(f"{one_line(str(item.ref))} is kept without text ({kind}); its bytes go to files and pipes only")


def show_stale_citations(screen: Screen, item: Item) -> None:
    """What an item cites that is no longer as it was."""
    for one in item.cites:
        if one.state != FRESH:
            screen.warn(f"it cites {one_line(str(one))}")


def show_several(screen: Screen, items: Iterable[Item]) -> None:
    """Several texts, each under a line with its ref."""
    for number, item in enumerate(items):
        if number:
            screen.line()
        screen.line(screen.bold(f"==> {one_line(str(item.ref))} <=="))
        show_content(screen, item)
        if not screen.is_terminal and item.content and not item.content.endswith("\n"):
            screen.line()


def show_fields(screen: Screen, item: Item) -> None:
    """All fields of an item that are not empty."""
    plain = item.to_dict(with_content=False) | {"cites": list(map(str, item.cites))}
    shown = {name: _field_text(name, value) for name, value in plain.items() if value not in (None, "", [], {})}
    width = max(map(len, shown))
    for name, value in shown.items():
        screen.line(f"{screen.dim(name.ljust(width))}  {one_line(value)}")


def _field_text(name: str, value: Any) -> str:
    if name.endswith("_at"):
        return local_time(datetime.fromisoformat(value))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, (dict, bool)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def show_versions(screen: Screen, versions: Sequence[Version]) -> None:
    """The versions of an item; the current one is marked."""
    machines = {version.provenance.machine.partition("#")[0] for version in versions if not version.commit}
    rows = [
        (
            "commit" if version.commit else f"{version.number}{' *' if version.is_head else ''}",
            local_time(version.created_at),
            size_text(version.size),
            (version.commit or version.content_hash)[:12],
            "written apart" if version.apart else version.state if version.state != "live" else "",
            _written_by(version, with_machine=len(machines) > 1),
            version.fields.title,
        )
        for version in versions
    ]
    screen.table(("version", "made", "size", "hash", "state", "by", "title"), rows, right=(2,))


def _written_by(version: Version, *, with_machine: bool) -> str:
    """Who wrote a version; where several machines did, also on which."""
    if version.commit:
        return str(version.fields.metadata.get("author", ""))
    machine = version.provenance.machine.partition("#")[0] if with_machine else ""
    return (version.provenance.short or "unknown") + (f" on {one_line(machine)}" if machine else "")


def show_tree(screen: Screen, node: TreeNode) -> None:
    """The tree of refs with how many items each branch holds."""
    screen.line(f"{screen.bold(one_line(node.path or node.name))} {screen.dim(f'({node.items:,})')}")
    _show_branches(screen, node.children, "")


def _show_branches(screen: Screen, nodes: Sequence[TreeNode], indent: str) -> None:
    for number, given in enumerate(nodes, 1):
        node = _folded(given)
        is_last = number == len(nodes)
        tail = screen.dim(f" ({node.items:,})") if node.children or not node.ref else ""
        if node.ref and node.title and node.title != node.name:
            tail = screen.dim(f"  {one_line(node.title)}") + tail
        screen.line(f"{screen.dim(indent + ('└── ' if is_last else '├── '))}{one_line(node.name)}{tail}")
        _show_branches(screen, node.children, indent + ("    " if is_last else "│   "))


def _folded(node: TreeNode) -> TreeNode:
    """A folder that holds only one folder is shown on one line with it: ``home/me/notes``."""
    while len(node.children) == 1 and not node.ref and node.children[0].children and not node.children[0].ref:
        child = node.children[0]
        gap = "" if node.name.endswith("/") else "/"
        node = replace(child, name=f"{node.name}{gap}{child.name}")
    return node


def show_diff(screen: Screen, diff: str) -> None:
    """A unified diff, additions green and removals red."""
    for line in diff.splitlines():
        shown = clean(line) if screen.is_terminal else line
        if line.startswith(("+++", "---")):
            screen.line(screen.bold(shown))
        else:
            color = _DIFF_COLORS.get(line[:1])
            screen.line(screen.style(shown, fg=color) if color else shown)


def show_matches(screen: Screen, matches: Sequence[GrepMatch], *, context: int) -> None:
    """``ref:line:text`` per match, neighbours with dashes, groups separated, as grep prints it."""
    for number, match in enumerate(matches):
        if number and context:
            screen.line(screen.dim("--"))
        ref = screen.style(short_ref(match.ref), fg="magenta")
        for offset, text in enumerate(match.before, -len(match.before)):
            screen.line(f"{ref}-{match.line + offset}-{_line(screen, text)}")
        screen.line(f"{ref}:{screen.style(str(match.line), fg='green')}:{_line(screen, match.text)}")
        for offset, text in enumerate(match.after, 1):
            screen.line(f"{ref}-{match.line + offset}-{_line(screen, text)}")


def _line(screen: Screen, text: str) -> str:
    return clean(text) if screen.is_terminal else text


def show_links(screen: Screen, report: LinkReport) -> None:
    """One line per link, the near ones first; farther ones are indented."""
    screen.line(screen.bold(short_ref(report.ref)))
    for one in report.links:
        screen.line("  " * one.distance + _link_line(screen, one))
    for target in report.unresolved:
        screen.line(f"  → {screen.dim('mentions')} {one_line(target)} {screen.dim('(not in the store)')}")
    if not report.links and not report.unresolved:
        screen.note("no links; 'ricordo suggest-links' finds what may belong together")


def _link_line(screen: Screen, one: Link) -> str:
    arrow = "→" if one.direction == "out" else "←"
    near = one.source if one.direction == "out" else one.target
    title = f"  {screen.dim(one_line(one.title))}" if one.title else ""
    via = f"  {screen.dim(f'via {short_ref(near)}')}" if one.distance > 1 else ""
    return f"{arrow} {screen.style(one_line(one.type), fg='cyan')} {short_ref(one.ref)}{title}{via}"


def show_link(screen: Screen, one: Link) -> None:
    """The link as a sentence."""
    screen.line(f"{short_ref(one.source)} {screen.style(one_line(one.type), fg='cyan')} {short_ref(one.target)}")
