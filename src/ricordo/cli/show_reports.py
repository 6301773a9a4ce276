"""How the other results look to a person, by their types; and which of them are failures.

``present`` writes what a verb returns, ``problem_of`` says whether part of the work failed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.cli.show import PRESENTERS, local_time, short_ref, show_content, show_diff, shows
from ricordo.cli.terminal import Screen, counted, one_line, span_of_time
from ricordo.errors import Conflict, CorruptStore
from ricordo.plugin import installed

if TYPE_CHECKING:
    from ricordo import Profile
    from ricordo.registry import Profiles
    from ricordo.values import reports
    from ricordo.values.items import Item
    from ricordo.values.log import Proposal, ReviewReport, SessionStart, Step, UndoReport, Waiting
    from ricordo.values.provenance import TrustReport
    from ricordo.values.reports import LogReport
    from ricordo.values.use import FeedbackReport, LearningStatus, QueryStats, StatsReport, WeightChange
    from ricordo.verbs.rows import VerbRow

SHOWN_HITS = 3
"""How many of the hits of a question are named."""


@shows
def _show_feedback(screen: Screen, report: FeedbackReport) -> None:
    screen.line(f"noted: {one_line(report.verdict)} {short_ref(report.ref)}")
    if not report.counted:
        screen.note("it does not count for learning")
    _show_changes(screen, report.changes)


@shows
def _show_changes(screen: Screen, changes: Sequence[WeightChange]) -> None:
    screen.table(
        ("id", "when", "profile", "moved by", "verdicts", "why"),
        (
            (
                str(change.id),
                local_time(change.at),
                change.profile,
                f"{change.shift_before:+.4f} → {change.shift_after:+.4f}",
                str(change.counted),
                change.reason,
            )
            for change in changes
        ),
        right=(0, 4),
    )


@shows
def _show_learning(screen: Screen, status: LearningStatus) -> None:
    state = "off" if not status.enabled else "frozen" if status.frozen else "on"
    given = ", ".join(f"{count:,} {verdict}" for verdict, count in status.verdicts.items()) or "none yet"
    screen.line(f"learning is {state}; feedback: {given}")
    screen.table(
        ("profile", "signal", "own", "now", "moved by", "counted", "acceptance"),
        (
            (
                one.profile,
                one.text_signal,
                f"{one.own.get(one.text_signal, 0.0):.4f}",
                f"{one.weights.get(one.text_signal, 0.0):.4f}",
                f"{one.shift:+.4f}",
                f"{one.counted}" if one.counted >= one.needed else f"{one.counted} of {one.needed}",
                "" if one.acceptance is None else f"{one.acceptance:.3f}",
            )
            for one in status.profiles
        ),
        right=(2, 3, 4, 5, 6),
    )
    if screen.verbose:
        for one in status.profiles:
            weights = ", ".join(f"{name} {weight:.4f}" for name, weight in one.weights.items())
            screen.line(f"{one.profile}: {weights}")
    if status.changes:
        _show_changes(screen, status.changes)


def _show_stats(screen: Screen, report: StatsReport) -> None:
    screen.line(
        f"{report.queries:,} quer{'y' if report.queries == 1 else 'ies'} in {report.days:g} days, "
        f"{report.average_results:.1f} results and {report.average_ms:.1f} ms on average, "
        f"{report.zero_results:,} without result"
    )
    _queries(screen, "by day" if report.by == "day" else f"most frequent, by {report.by}", report.by, report.rows)
    _queries(screen, "without result", "query", report.zero_result)
    _queries(screen, "slowest", "query", report.slowest)
    if report.most_retrieved:
        _head(screen, "most retrieved")
        screen.table(
            ("times", "last", "item"),
            ((f"{item.count:,}", local_time(item.last_at), short_ref(item.ref)) for item in report.most_retrieved),
            right=(0,),
        )
    if report.never_retrieved:
        _head(screen, f"never retrieved: {report.never_retrieved_count:,}")
        for ref in report.never_retrieved:
            screen.line(short_ref(ref))
        left = report.never_retrieved_count - len(report.never_retrieved)
        if left > 0:
            screen.note(f"and {left:,} more; --limit shows others")


def _queries(screen: Screen, title: str, kind: str, rows: Sequence[QueryStats]) -> None:
    if not rows:
        return
    _head(screen, title)
    screen.table(
        ("times", "results", "ms", "slowest", "last", kind),
        (
            (
                f"{row.count:,}",
                f"{row.average_results:.1f}",
                f"{row.average_ms:.1f}",
                f"{row.slowest_ms:.1f}",
                local_time(row.last_at),
                row.name or "(no words)",
            )
            for row in rows
        ),
        right=(0, 1, 2, 3),
    )


def _head(screen: Screen, title: str) -> None:
    screen.line()
    screen.line(screen.bold(title))


def _show_changed(screen: Screen, report: LogReport) -> None:
    rows = [
        (local_time(one.at), one.what, one.ref or "-", str(one.version or ""), one.provenance.in_words())
        for one in report.entries
    ]
    empty = "nothing was done that this asks for"
    screen.table(("when", "what", "ref", "version", "by"), rows, paths=(2,), empty=empty)
    if report.more:
        screen.note("there is more before that; --limit shows it")


def _what_agents_get(one: Waiting) -> str:
    """What agents are told of an item until the user decides."""
    if one.gone:
        return f"its file {one.gone} is gone: ‘accept’ puts it into the bin, ‘refuse’ writes the file again"
    if one.yours is None:
        return "it is not told to every agent before you agree"
    if one.is_always:
        return f"every agent gets your version {one.yours}"
    return f"agents find the new version, as the agent's words; yours is version {one.yours}"


def _show_proposals(screen: Screen, proposals: Sequence[Proposal]) -> None:
    for one in proposals:
        about = f"about {one_line(one.file)}" if one.file else f"for this {one.scope}"
        about += f", instead of {one_line(one.corrects)}" if one.corrects else ""
        screen.line(f"{screen.bold(one.ref)}  {one_line(one.text)}")
        origin = f"{one.kind} by {one.way}, {about}, from session:/{one_line(one.session)}/{one.turn}"
        screen.line(screen.dim(f"  {origin} ({local_time(one.at)}): “{one_line(one.quote)}”"))
    if proposals:
        screen.line("  ricordo review PROPOSAL accept|refuse|always|never, or accept --text 'in other words'")


def _show_start(screen: Screen, start: SessionStart) -> None:
    """What a session is told when it starts, and what that costs."""
    adds = f"; what is proposed would add {start.proposed:,}" if start.proposed else ""
    screen.line(f"a session's start tells {start.tokens:,} of {start.budget:,} tokens of yours{adds}")
    for what, refs in (("told", start.told), ("no room for", start.left_out)):
        if refs:
            screen.note(f"{what}: {', '.join(map(one_line, refs))}")


@shows
def _show_review(screen: Screen, report: ReviewReport) -> None:
    if report.decided:
        screen.line(one_line(report.decided))
    for done in report.done:
        reason = f": {one_line(done.reason)}" if done.reason else ""
        screen.line(f"{done.status} {one_line(done.ref)}{reason}")
    if any(done.status != "skipped" for done in report.done):
        screen.note("'ricordo undo' takes all of it back")
    if not (report.waiting or report.proposals or report.findings or report.done):
        screen.note("nothing waits for you")
    _show_proposals(screen, report.proposals)
    for rule in report.rules:
        screen.line(f"{screen.bold(rule.ref)}  {rule.rule}  (ricordo review {rule.ref} ask takes it back)")
    for one in report.waiting:
        always = ", for every agent" if one.is_always else ""
        screen.line(f"{screen.bold(one_line(one.ref))}  version {one.version} by {one.provenance.in_words()}{always}")
        screen.line(screen.dim(f"  {_what_agents_get(one)}"))
        if one.diff:
            show_diff(screen, f"{one.diff}\n")
        screen.line(f"  ricordo review {shlex.quote(one_line(one.ref))} accept|refuse")
    _show_findings(screen, report)
    if report.start is not None:
        _show_start(screen, report.start)


@shows
def _show_log(screen: Screen, report: LogReport) -> None:
    if report.erased is not None:
        screen.line(f"{report.erased:,} quer{'y' if report.erased == 1 else 'ies'} erased from the log")
    elif report.summary is not None:
        _show_stats(screen, report.summary)
    elif report.retrievals:
        rows = [
            (
                local_time(one.at), short_ref(one.ref), f"v{one.version}",
                "" if one.score is None else f"{one.score:.3f}",
                one.query if one.query is not None else "(opened)", one.tool or "",
            )
            for one in report.retrievals
        ]  # fmt: skip
        empty = "the log has nothing about that; the setting usage.log says whether it is kept"
        screen.table(("when", "item", "version", "score", "query", "by"), rows, paths=(1,), empty=empty)
    elif report.what == "asked":
        _show_asked(screen, report)
    else:
        _show_changed(screen, report)


def _show_asked(screen: Screen, report: LogReport) -> None:
    if not report.questions:
        screen.note("nothing was asked that this asks for")
        return
    for one in report.questions:
        fits = [f"{words} {fit:.2f}" for fit, words in ((one.fit, "fit"), (one.fit_now, "now")) if fit is not None]
        outcome = ", ".join([counted(one.results, "hit"), *fits])
        screen.line(f"{local_time(one.at)}  {screen.bold(one_line(one.text))}  {outcome}")
        screen.note(f"{one.asker.short or 'unknown'}, {one.tool}")
        for hit in one.shown[:SHOWN_HITS]:
            became = ", ".join(filter(None, ("opened" if hit.opened else "", hit.verdict)))
            screen.line(f"  {one_line(hit.ref)}{f'  ({became})' if became else ''}")
    if report.more:
        screen.note("there is more before that; --limit shows it")


@shows
def _show_undo(screen: Screen, report: UndoReport) -> None:
    if report.undone is None:
        rows = [(one.id, local_time(one.at), one.words, _state(one), one.provenance.short) for one in report.steps]
        empty = "there is no step that could be undone"
        screen.table(("step", "when", "what", "changes", "by"), rows, paths=(2,), empty=empty)
        return
    screen.line(f"undone: {one_line(report.undone.words)}")
    for one in report.items:
        reason = f": {one_line(one.reason)}" if one.reason else ""
        screen.line(f"  {one.status} {one_line(one.ref)}{reason}")
    for note in report.notes:
        screen.note(note)


def _state(step: Step) -> str:
    if step.is_undone:
        return "undone"
    if not step.can_be_undone:
        return "cannot be undone"
    return counted(step.changes, "change")


def _show_findings(screen: Screen, report: ReviewReport) -> None:
    """What should be done about memories, by kind, each with its id, its items, why, and what is suggested."""
    from ricordo.values.log import finding_kinds

    words = finding_kinds()
    for kind, count in report.counts.items():
        screen.line(screen.bold(f"{kind} ({count:,}): {words[kind]}"))
        shown = [one for one in report.findings if one.kind == kind]
        for one in shown:
            screen.line(f"  {one.id}  {', '.join(map(one_line, one.refs))}")
            screen.line(f"            {one_line(one.why)}  Suggested: {one.action}.")
        if len(shown) < count:
            screen.note(f"{count - len(shown):,} more; --limit shows them")
    if report.counts:
        screen.note("'ricordo review KIND accept' does what is suggested about all of a kind, 'ID accept' about one")


SHOWN_ITEMS = 3
"""How many items are listed one by one without ``--verbose``, at most."""

SHOWN_REASONS = 20
"""How many reasons are printed without ``--verbose``; the rest are counted."""

_SYNCED = ("created", "updated", "moved", "removed", "conflicts", "written", "unchanged", "failed")
_COLORS = {"created": "green", "updated": "green", "restored": "green", "failed": "red", "needs_decision": "yellow"}


@shows
def show_saved(screen: Screen, report: reports.AddReport) -> None:
    """``12 created, 3 skipped, 1 failed``, and a reason for what was not saved; which items are nearly the same, and
    which secrets were removed.
    """
    plain = report.to_dict()
    items = plain["items"]
    one_by_one = len(items) <= SHOWN_ITEMS or screen.verbose
    for item in items if one_by_one else ():
        if item["status"] != "failed":
            status = screen.style(item["status"].replace("_", " "), fg=_COLORS.get(item["status"]))
            version = f" (version {item['version']})" if item.get("version") else ""
            screen.line(f"{status} {short_ref(item['ref'])}{version}{_reason(item)}")
    show_failures(screen, items)
    if not one_by_one:
        _show_reasons(screen, items)
    if len(items) != 1:
        screen.line(summary(screen, items))
    for item in items:
        for other in item.get("candidates", ()):
            alike = max(other["same"], other["cosine"] or 0.0)
            screen.line(f"  {screen.dim(f'{alike:.2f}')}  {short_ref(other['ref'])}  {one_line(other['snippet'])}")
        if item.get("redacted"):
            kept = "" if set(item["redacted"]) == {"private"} else " (--allow-secrets keeps secrets)"
            screen.warn(f"redacted: {', '.join(item['redacted'])}{kept}")
    _show_notes(screen, plain.get("notes", ()))
    problem = problem_of(report)
    if problem is not None and problem[1]["code"] == "needs_decision":
        screen.error("nothing was saved", problem[1]["hint"])


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


def _reason(item: Mapping[str, Any]) -> str:
    return f": {one_line(item['reason'])}" if item.get("reason") else ""


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


@shows
def show_refresh(screen: Screen, refreshed: reports.RefreshReport | reports.WatchEvent) -> None:
    """What a refresh found, which items changed, and which have lost their origin."""
    report: Mapping[str, Any] = refreshed.to_dict()
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


@shows
def _show_removed(screen: Screen, report: reports.RemovalReport) -> None:
    items = [saved.to_dict() for saved in report.items]
    for item in items:
        if item["status"] != "failed":
            screen.line(f"{item['status']} {short_ref(item['ref'])}{_reason(item)}")
    show_failures(screen, items)
    if not items:
        screen.note("nothing to do")
    for note in report.notes:
        screen.note(f"note: {note}")


@shows
def show_checks(screen: Screen, report: reports.DoctorReport) -> None:
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
    if problem := problem_of(report):
        screen.error(problem[1]["message"], problem[1]["hint"])


@shows
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
        return " ".join(f"{name}={_fact(part)}" for name, part in value.items() if part not in (None, "", [], {}))
    return one_line(str(value)) if value is not None else ""


@shows
def _show_synced(screen: Screen, report: reports.SyncReport) -> None:
    plain = report.to_dict()
    for item in plain["items"]:
        if item["status"] != "failed":
            screen.line(f"{item['status']} {short_ref(item['ref'])}{_reason(item)}")
    show_failures(screen, [{**item, "ref": item["file"]} for item in plain["items"]])
    screen.line(", ".join(f"{plain[name]:,} {name}" for name in _SYNCED if plain[name]) or "no files yet")
    for note in plain["notes"]:
        screen.note(f"note: {one_line(note)}")


@shows
def _show_roots(screen: Screen, roots: Sequence[reports.Root]) -> None:
    rows = [
        (
            f"{root.items:,}",
            one_line(root.path),
            " ".join(root.globs),
            one_line(root.about),
            f"on {one_line(root.machine)}" if root.machine else "" if root.is_there else "gone",
        )
        for root in roots
    ]
    empty = "no folder was added; 'ricordo add FOLDER' adds one"
    screen.table(("items", "folder", "only", "what it holds", ""), rows, right=(0,), empty=empty)


@shows
def _show_left_root(screen: Screen, root: reports.Root) -> None:
    screen.line(f"left {root.path}")
    if root.items:
        stay = "its item stays" if root.items == 1 else f"its {root.items:,} items stay"
        screen.note(f"{stay}; 'ricordo rm {root.path}/' removes {'it' if root.items == 1 else 'them'}")


def size_text_of(count: int) -> str:
    """A number of bytes in kB or MB."""
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"


@shows
def _show_tiers(screen: Screen, states: Sequence[reports.TierState]) -> None:
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


@shows
def show_trust(screen: Screen, report: TrustReport) -> None:
    """What is trusted, or would be, and what that grants."""
    if report.status == "listed":
        rows = [(one.place, one.since, one.how) for one in report.places]
        empty = "no project and no folder is trusted; your own store always is"
        screen.table(("place", "since", "how"), rows, empty=empty)
        return
    screen.line(f"{report.status}: {one_line(report.place)}")
    if report.status not in ("trusted", "would be trusted"):
        return
    if report.repository:
        screen.line(f"  it belongs to the repository {one_line(report.repository)}: others may write to it")
    for what, names in (
        ("told to every agent", report.always),
        ("knowledge files that say that you wrote them, or that every agent gets them", report.knowledge),
        ("added files that every agent gets", report.files),
        ("skills in its store", report.skills),
        ("settings that run commands, reach hosts or name folders", report.settings),
    ):
        if names:
            screen.line(f"  {len(names):,} {what}:")
            for name in names[:SHOWN_REASONS]:
                screen.line(f"    {one_line(name)}")
            if len(names) > SHOWN_REASONS:
                screen.line(f"    and {len(names) - SHOWN_REASONS:,} more")


def _show_unlinked(screen: Screen, count: int) -> None:
    screen.line(f"{counted(count, 'link')} removed")


@shows
def _show_item(screen: Screen, item: Item) -> None:
    show_content(screen, item)
    if place := str(item.fields.metadata.get("location") or ""):
        screen.note(f"from {one_line(place)}")


@shows
def _show_embedded(screen: Screen, report: reports.EmbedReport) -> None:
    if report.backlog is not None:
        show_facts(screen, {name: value for name, value in report.backlog.items() if name != "kinds"})
        if report.backlog["kinds"]:
            screen.line()
            rows = [
                (row["state"], row["kind"], f"{row['count']:,}", row["error"] or "") for row in report.backlog["kinds"]
            ]
            screen.table(("state", "kind", "passages", "why"), rows, right=(2,))
        if report.backlog["pending"]:
            screen.note("'ricordo embed' makes the vectors that are pending")
        return
    show_facts(screen, report.to_dict())
    if problem := problem_of(report):
        screen.error(problem[1]["message"], problem[1]["hint"])


@shows
def _show_backup(screen: Screen, report: reports.BackupReport) -> None:
    count = counts_text({"item": report.items})
    screen.line(f"{size_text_of(report.bytes)} in {report.seconds:.1f} s, checked, {count}: {report.file}")
    for one in report.damaged:
        screen.note(f"damaged, in the store too: {one}")


@shows
def _show_profiles(screen: Screen, known: Profiles) -> None:
    def about(profile: Profile) -> str:
        weights = profile.weights(vectors=True).items() if screen.verbose else ()
        return " ".join(f"{label}={weight:.2g}" for label, weight in weights if weight) or profile.description

    rows = [
        (f"{name}{' *' if name == known.default else ''}", profile.source, about(profile))
        for name, profile in known.items()
    ]
    screen.table(("profile", "from", "weights" if screen.verbose else "what it does"), rows)


@shows
def _show_models(screen: Screen, states: Sequence[reports.ModelState]) -> None:
    def needs(state: reports.ModelState) -> str:
        return f"lacks {state.lacks}" if state.lacks else state.about or ("has its key" if state.has_key else "")

    marks = {"in use": " *", "fallback": " +"}
    rows = [
        (f"{one.provider}{marks.get(one.role, '')}", one.model, str(one.dimensions or ""), needs(one)) for one in states
    ]
    screen.table(("provider", "model", "dims", ""), rows, right=(2,))


@shows
def _show_switch(screen: Screen, switch: reports.ModelSwitch) -> None:
    name = f"{switch.provider} {one_line(switch.model)}".strip()
    length = f", {switch.dimensions} dimensions" if switch.dimensions else ""
    screen.line(f"{'uses' if switch.is_written else 'would use'} {name}{length}")
    if switch.embedding is not None and switch.is_written:
        made = switch.embedding.embedded + switch.embedding.cached
        got = "1 passage got" if made == 1 else f"{made:,} passages got"
        screen.line(f"{got} a vector of it" if made else "every passage has a vector of it already")
    elif switch.chunks:
        screen.line(_cost(switch))
        if switch.is_written:
            screen.note("until then, search goes by words: ricordo embed")
    for note in switch.notes:
        screen.note(f"note: {one_line(note)}")
    if problem := problem_of(switch):
        screen.error(problem[1]["message"], problem[1]["hint"])


def _cost(switch: reports.ModelSwitch) -> str:
    time = f", about {span_of_time(max(switch.seconds, 1))}" if switch.seconds is not None else ""
    need = "1 passage needs" if switch.chunks == 1 else f"{switch.chunks:,} passages need"
    return f"{need} a vector of it: about {switch.tokens:,} tokens{time}"


_RECORDS = {
    "item": ("item", "items"), "link": ("link", "links"), "feedback": ("verdict", "verdicts"),
    "weights": ("change of weights", "changes of weights"), "query": ("query", "queries"),
    "opening": ("opening", "openings"), "root": ("folder", "folders"), "proposal": ("proposal", "proposals"),
}  # fmt: skip


def counts_text(records: Mapping[str, int]) -> str:
    """``12 items, 3 links``; rare kinds of records are not mentioned."""
    text = [f"{records[name]:,} {words[records[name] != 1]}" for name, words in _RECORDS.items() if records.get(name)]
    return ", ".join(text) or "nothing"


Problem = tuple[int, Mapping[str, str]]
"""An exit code, and the error that it stands for."""

PRESENTERS.update(diff=show_diff, unlink=_show_unlinked)  # texts, numbers and plain rows go by the verb


def present(screen: Screen, row: VerbRow, result: Any, plain: Mapping[str, Any]) -> None:
    """Write the result of a verb for a person; names and values on lines, where its type has no form."""
    if row.plugin:
        installed()[row.plugin].load_cli()
    several = re.fullmatch(r"(?:builtins\.)?(?:list|tuple|Sequence)\[(\w+)(?:, \.\.\.)?\]", row.returns)
    kind = f"Sequence[{several[1]}]" if several else row.returns.replace("dict[", "Mapping[")
    if show := PRESENTERS.get(kind) or PRESENTERS.get(row.name):
        show(screen, plain if result is None else result)
    else:
        for name, value in plain.items():
            label = name.replace("_", " ")
            if isinstance(value, list):
                screen.line(f"{label}: {len(value):,}")
                for part in value:
                    screen.line(f"  {_fact(part)}")
            else:
                screen.line(f"{label}: {_fact(value) or '-'}")


_QUESTIONS = {"archived": "Archive", "removed": "Remove", "purged": "Erase for good"}


def question_of(would: Any) -> str:
    """What a person is asked before a verb does what it would do; empty where it can be done without."""
    match type(would).__name__:
        case "RemovalReport" if len(would.items) > 1 or would.how == "purged":
            return f"{_QUESTIONS[would.how]} {counted(len(would.items), 'item')}?"
        case "TrustReport" if would.status == "would be trusted":
            return f"Trust {one_line(would.place)}?"
        case "ModelSwitch" if would.chunks:
            return f"{_cost(would)}. Make them now?"
    return ""


def problem_of(result: Any) -> Problem | None:
    """The exit code and the error of a result of which part failed; None for one that is whole."""
    code, message, hint = "some_failed", "", "Each failed item carries its error in data.items."
    match type(result).__name__:
        case "AddReport" if [one.status for one in result.items] == ["needs_decision"]:
            ways = "supersede (replace the old one), save (keep both), skip (cancel) or merge (into the old one)."
            message, hint = result.items[0].reason or "", f"Decide: --on-duplicate {ways}"
            return Conflict.exit_code, {"code": "needs_decision", "message": message, "hint": hint}
        case "EmbedReport" if result.stopped:
            hint = "What is left stays in the backlog."
            return 5, {"code": "unavailable", "message": result.stopped, "hint": hint}
        case "EmbedReport" if result.failed:
            message = f"{result.failed} failed"
            hint = "ricordo embed --status shows why; ricordo embed --retry tries again."
        case "ModelSwitch" if (report := result.embedding) and (report.stopped or report.failed):
            message = report.stopped or f"{report.failed} passages failed"
            hint = "Nothing was switched; run the same command again."
            return 5, {"code": "unavailable", "message": message, "hint": hint}
        case "BackupReport":
            hint = "'ricordo doctor' names them."
            error = CorruptStore(f"{len(result.damaged)} versions or rows are damaged", hint=hint)
            return (1, error.to_dict()) if result.damaged else None
        case "DoctorReport" if bad := [one.name for one in result.checks if not (one.ok or one.repaired)]:
            code, message = "unhealthy", f"these checks failed: {', '.join(bad)}"
            hint = "Read the details above, or try: ricordo doctor --repair"
        case "SyncReport" if result.failed:
            message = f"{result.failed} of {result.to_dict()['checked']} failed"
        case "AddReport" | "RefreshReport" | "RemovalReport" if result.failed:
            message = f"{result.failed} of {len(result.items)} failed"
        case _ if failure := getattr(result, "failure", None):  # a value of a plugin says it itself
            code, message, hint = failure
    return (1, {"code": code, "message": message, "hint": hint}) if message else None
