"""How reports look to a person: what was saved, refreshed, removed, checked or measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.cli.present_hits import short_ref
from ricordo.cli.terminal import Screen, one_line

if TYPE_CHECKING:
    from ricordo.values.reports import (
        AddReport,
        DoctorReport,
        JobsReport,
        KnownMachine,
        RefreshReport,
        Root,
        SyncReport,
        TierState,
        VacuumReport,
    )

SHOWN_ITEMS = 3
"""How many items are listed one by one without ``--verbose``, at most."""

SHOWN_REASONS = 20
"""How many reasons are printed without ``--verbose``; the rest are counted."""

_SYNCED = ("created", "updated", "moved", "removed", "conflicts", "written", "unchanged", "failed")
_COLORS = {
    "created": "green",
    "updated": "green",
    "restored": "green",
    "failed": "red",
    "needs_decision": "yellow",
}


def show_saved(screen: Screen, report: Mapping[str, Any]) -> None:
    """``12 created, 3 skipped, 1 failed``, and a reason for what was not saved."""
    items = report["items"]
    one_by_one = len(items) <= SHOWN_ITEMS or screen.verbose
    for item in items if one_by_one else ():
        if item["status"] != "failed":
            screen.line(_saved_line(screen, item))
    show_failures(screen, items)
    if not one_by_one:
        _show_reasons(screen, items)
    if len(items) != 1:
        screen.line(summary(screen, items))
    _show_notes(screen, report.get("notes", ()))


def _show_notes(screen: Screen, notes: Sequence[str]) -> None:
    shown = notes if screen.verbose else notes[:SHOWN_REASONS]
    for note in shown:
        screen.note(f"note: {one_line(note)}")
    if len(notes) > len(shown):
        screen.note(f"{len(notes) - len(shown):,} more notes; --verbose lists them")


def summary(screen: Screen, items: Sequence[Mapping[str, Any]]) -> str:
    """How many items ended in which way, the frequent ways in a fixed order."""
    counts: dict[str, int] = dict.fromkeys(("created", "updated", "skipped"), 0)
    for item in items:
        counts[item["status"]] = counts.get(item["status"], 0) + 1
    lines = [
        screen.style(f"{count:,} {status.replace('_', ' ')}", fg=_COLORS.get(status))
        for status, count in counts.items()
        if count
    ]
    return ", ".join(lines) or "nothing to do"


def _saved_line(screen: Screen, item: Mapping[str, Any]) -> str:
    status = screen.style(item["status"].replace("_", " "), fg=_COLORS.get(item["status"]))
    version = f" (version {item['version']})" if item.get("version") else ""
    reason = f": {one_line(item['reason'])}" if item.get("reason") else ""
    return f"{status} {short_ref(item['ref'])}{version}{reason}"


def show_failures(screen: Screen, items: Sequence[Mapping[str, Any]]) -> None:
    """What failed, one line each, on standard error; never dropped by ``--quiet``."""
    failed = [item for item in items if item["status"] == "failed"]
    shown = failed if screen.verbose else failed[:SHOWN_REASONS]
    for item in shown:
        error = item.get("error") or {}
        reason = error.get("message") or item.get("reason") or item["status"]
        screen.error(f"{short_ref(item['ref'])}: {one_line(reason)}", error.get("hint", "") if len(shown) == 1 else "")
    if len(failed) > len(shown):
        screen.error(f"{len(failed) - len(shown):,} more failed; --verbose lists them")


def _show_reasons(screen: Screen, items: Sequence[Mapping[str, Any]]) -> None:
    """Why items ended as they did: by name where few share a reason, else each reason once with its count."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for item in items:
        if item["status"] in ("skipped", "created", "updated") and item.get("reason"):
            reasons.setdefault((item["status"], one_line(item["reason"])), []).append(item["ref"])
    many = {reason: refs for reason, refs in reasons.items() if len(refs) > SHOWN_ITEMS}
    lines = [f"{len(refs):,} {status}: {reason}" for (status, reason), refs in many.items()]
    named = [(ref, *reason) for reason, refs in reasons.items() if reason not in many for ref in refs]
    lines += [f"{status} {short_ref(ref)}: {reason}" for ref, status, reason in named[:SHOWN_REASONS]]
    if len(named) > SHOWN_REASONS:
        lines.append(f"{len(named) - SHOWN_REASONS:,} more with reasons; --verbose lists them")
    for line in lines:
        screen.note(line)


def show_refreshed(screen: Screen, report: Mapping[str, Any]) -> None:
    """What a refresh found, which items changed, and which have lost their origin."""
    items = report["items"]
    for item in items:
        if item["status"] not in ("unchanged", "skipped", "failed") or screen.verbose:
            screen.line(f"{item['status']} {short_ref(item['ref'])}")
    show_failures(screen, items)
    counts = {name: count for name, count in report.items() if isinstance(count, int) and count}
    screen.line(", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing to do")
    if report.get("missing"):
        screen.note("--prune removes what is missing")
    _show_notes(screen, report.get("notes", ()))


def show_memory(screen: Screen, report: Mapping[str, Any], error: Mapping[str, str] | None = None) -> None:
    """The result of saving a text: saved or not, which items are nearly the same, and which secrets were removed."""
    show_saved(screen, report)
    for item in report["items"]:
        for other in item.get("candidates", ()):
            alike = max(other["ratio"], other["cosine"] or 0.0)
            screen.line(f"  {screen.dim(f'{alike:.2f}')}  {short_ref(other['ref'])}  {one_line(other['snippet'])}")
        if item.get("redacted"):
            screen.warn(f"redacted: {', '.join(item['redacted'])} (--allow-secrets keeps them)")
    if error is not None:
        screen.error("nothing was saved", error["hint"])


def show_removed(screen: Screen, items: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> None:
    """What was removed or archived, or would be."""
    for item in items:
        if item["status"] != "failed":
            reason = f": {one_line(item['reason'])}" if item.get("reason") else ""
            screen.line(f"{item['status']} {short_ref(item['ref'])}{reason}")
    show_failures(screen, items)
    if not items:
        screen.note("nothing to do")
    for note in notes:
        screen.note(f"note: {note}")


def show_checks(screen: Screen, report: DoctorReport) -> None:
    """One line per check: ✓ passed, ↻ repaired, ✗ failed."""
    for check in report.checks:
        if check.repaired:
            sign = screen.style("↻ repaired", fg="yellow")
        elif check.ok:
            sign = screen.style("✓", fg="green")
        else:
            sign = screen.style("✗", fg="red")
        detail = f"  {screen.dim(one_line(check.detail))}" if check.detail else ""
        screen.line(f"{sign} {one_line(check.name)}{detail}")


def show_facts(screen: Screen, facts: Mapping[str, Any], indent: str = "") -> None:
    """Names and values, one per line; groups are indented under their name."""
    shown = {name.replace("_", " "): value for name, value in facts.items() if value not in (None, "", [], (), {})}
    width = max((len(label) for label, value in shown.items() if not isinstance(value, Mapping)), default=0)
    for label, value in shown.items():
        if isinstance(value, Mapping):
            screen.line(f"{indent}{screen.bold(label)}")
            show_facts(screen, value, indent + "  ")
        else:
            screen.line(f"{indent}{screen.dim(label.ljust(width))}  {_fact(value)}")


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_fact(part) for part in value)
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_fact(part)}" for name, part in value.items() if part not in (None, ""))
    return one_line(str(value))


def show_saved_report(screen: Screen, report: AddReport) -> None:
    """What became of each item, from the report itself."""
    show_saved(screen, report.to_dict())


def show_refreshed_report(screen: Screen, report: RefreshReport) -> None:
    """What changed, from the report itself."""
    show_refreshed(screen, report.to_dict())


def show_synced(screen: Screen, report: SyncReport) -> None:
    """A line for each change, then the counts."""
    plain = report.to_dict()
    for item in plain["items"]:
        if item["status"] != "failed":
            reason = f": {one_line(item['reason'])}" if item.get("reason") else ""
            screen.line(f"{item['status']} {short_ref(item['ref'])}{reason}")
    show_failures(screen, [{**item, "ref": item["file"]} for item in plain["items"]])
    screen.line(", ".join(f"{plain[name]:,} {name}" for name in _SYNCED if plain[name]) or "no files yet")
    for note in plain["notes"]:
        screen.note(f"note: {one_line(note)}")


def show_roots(screen: Screen, roots: Sequence[Root]) -> None:
    """The folders; one that is gone was moved or deleted."""
    rows = [
        (
            f"{root.items:,}",
            one_line(root.path),
            " ".join(root.globs),
            f"on {one_line(root.machine)}" if root.machine else "" if root.is_there else "gone",
        )
        for root in roots
    ]
    screen.table(("items", "folder", "only", ""), rows, right=(0,))
    if not rows:
        screen.note("no folder was added; 'ricordo add FOLDER' adds one")


def show_machines(screen: Screen, machines: Sequence[KnownMachine]) -> None:
    """This machine first, then the others that have files in the store."""
    rows = [(one_line(one.name), one.id, f"{one.files:,}", "this one" if one.is_here else "") for one in machines]
    screen.table(("machine", "id", "files", ""), rows, right=(2,))


def show_left_root(screen: Screen, root: Root) -> None:
    """The folder that was left, and what stays of it."""
    screen.line(f"left {root.path}")
    if root.items:
        stay = "its item stays" if root.items == 1 else f"its {root.items:,} items stay"
        screen.note(f"{stay}; 'ricordo rm {root.path}/' removes {'it' if root.items == 1 else 'them'}")


def show_vacuumed(screen: Screen, report: VacuumReport) -> None:
    """The size before and after, and what was erased."""
    screen.line(f"{size_text_of(report.bytes_before)} before, {size_text_of(report.bytes_after)} after")
    gone = {"items from the bin": report.emptied, "unused vectors": report.vectors, "unused files": report.blobs}
    for name, count in gone.items():
        if count:
            screen.line(f"{count:,} {name} erased")
    if not report.rewritten:
        screen.note("the file was not rewritten, because that would save little (--full does it anyway)")


def size_text_of(count: int) -> str:
    """A number of bytes in kB or MB."""
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"


def show_tiers(screen: Screen, states: Sequence[TierState]) -> None:
    """A line for each store; new items go to the one marked *."""
    rows = [
        (
            f"{state.name}{' *' if state.is_written else ''}",
            f"{state.weight:g}",
            f"{state.items:,}" if state.items is not None else "–",
            one_line(state.location),
            "" if state.reachable else one_line(state.detail),
        )
        for state in states
    ]
    screen.table(("tier", "weight", "items", "store", "problem"), rows, right=(1, 2))


def show_jobs(screen: Screen, report: JobsReport) -> None:
    """The counts, then which kinds of items wait, and why passages failed."""
    plain = report.to_dict()
    show_facts(screen, {name: value for name, value in plain.items() if name != "kinds"})
    if plain["kinds"]:
        screen.line()
        rows = [(row["state"], row["kind"], f"{row['count']:,}", row["error"] or "") for row in plain["kinds"]]
        screen.table(("state", "kind", "passages", "why"), rows, right=(2,))
    if plain["pending"]:
        screen.note("'ricordo embed' makes the vectors that are pending")
