"""The log: what was changed, asked and told, and sessions, in one list by day; and figures of it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request, Response

from ricordo.errors import Error, UsageError
from ricordo.frozen import frozen
from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import by_day, has_page, page, page_router, picture_of, shows, who_is
from ricordo.plugins.page.markup import item_address
from ricordo.told_log import answers_of_hooks, shown_by_hooks, with_openings
from ricordo.values.provenance import Provenance

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.kinds import LogSummary
    from ricordo.values.reports import AskedQuestion
    from ricordo.values.use import QueryStats, StatsReport

pages = page_router()

MOST = 100
MOST_EVENTS = 400
MOST_OPEN = 5
MOST_ASKERS = 12
MOST_SHOWN = 10
"""How many of the items that hooks showed to agents are listed."""
DAYS = 30
SPANS = (7, 30, 90)
VIEWS = {"all": "Everything", "changed": "Changed", "asked": "Asked", "unanswered": "Without an answer", "told": "Told",
         "sessions": "Sessions", "summary": "Figures"}  # fmt: skip
HOW = {"page": "on the page"}
EMPTY = {
    "changed": "Nothing was changed in this time.", "asked": "Nothing was asked in this time.",
    "unanswered": "Every question found something that fits.",
    "told": "Hooks told nothing in this time. ricordo install sets up an agent's program.",
    "sessions": "No session of an agent is kept in this time. ricordo sessions add takes them in.",
}  # fmt: skip


@frozen
class LogLine:
    """One line of the log: a change, a question, what a hook told, or a session."""

    at: datetime
    sort: str
    picture: str
    words: str
    address: str
    more: tuple[str, ...] = ()
    session: str = ""
    items: tuple[tuple[str, str, str], ...] = ()
    """What was shown or told: the title, the address, and what became of it."""
    doubt: str = ""


@shows(pages, "/log")
async def log_page(
    request: Request,
    here: Here,
    view: Annotated[str, Query(max_length=20)] = "all",
    by: Annotated[str, Query(max_length=200)] = "",
    *,
    day: Annotated[str, Query(max_length=10)] = "",
    days: Annotated[int, Query(ge=1, le=366)] = DAYS,
) -> Response:
    """What was changed, asked, told and said in sessions, in one list by day; of one asker, of one day; or figures."""
    chosen = view if view in VIEWS else "all"

    def work(engine: Ricordo) -> dict[str, Any]:
        logged = {"logged": engine.config.usage.log}
        if chosen == "summary":
            return logged | {"span_chosen": days, "spans": SPANS} | _summary(engine, days)
        return logged | {"by": by, "day": day} | _rows(engine, chosen, by, day)

    template = "log_summary.html" if chosen == "summary" else "log.html"
    empty = EMPTY | {"all": "Nothing happened in this time."}
    return page(request, template, view=chosen, views=VIEWS, empty=empty, **await here.ask(work))


@shows(pages, "/log/open")
async def open_part(request: Request, here: Here) -> Response:
    """For the home: the latest questions without an answer. They are asked again, which takes a moment."""
    found = await here.ask(lambda engine: engine.log(since=f"{DAYS}d", unanswered=True, limit=MOST_OPEN))
    return page(request, "open_part.html", questions=found.questions)


def _rows(engine: Ricordo, view: str, by: str, day: str) -> dict[str, Any]:
    """The rows of a view by day, the latest first, and whose rows there are."""
    since, until = _span(day)
    names = Counter(_called(one.asker) for one in engine.log(since=f"{DAYS}d", limit=1000).questions)
    rows: list[LogLine] = []
    more, elsewhere = False, 0
    if view in ("all", "changed", "sessions"):
        events, more = _happened(engine, view, since, by)
        rows += events
    if view in ("all", "asked", "unanswered"):
        found = engine.log(since=since, until=until, by=by, unanswered=view == "unanswered", limit=MOST)
        rows += [_asked(engine, one) for one in found.questions]
        more |= found.more
    if view in ("all", "told"):
        told, elsewhere = _told(engine, by)
        rows += told
    start = since if isinstance(since, datetime) else datetime.now(UTC) - timedelta(days=DAYS)
    rows = [row for row in rows if row.at >= start and (until is None or row.at < until)]
    rows.sort(key=lambda row: row.at, reverse=True)
    by_date = groupby(rows[:MOST_EVENTS], key=lambda row: row.at.astimezone().date())
    return {
        "days": [(one, list(some)) for one, some in by_date],
        "askers": list((Counter({by: 0} if by else {}) | names).items() if by not in names else names.items())[
            :MOST_ASKERS
        ],
        "left_out": more or len(rows) > MOST_EVENTS,
        "elsewhere": elsewhere,
    }


def _called(asker: Provenance) -> str:
    return asker.name or asker.token or asker.via or asker.author


def _happened(engine: Ricordo, view: str, since: Any, by: str) -> tuple[list[LogLine], bool]:
    """What was made and changed, each event; and sessions, each with its turns of a day as one row; or what one did."""
    found = engine.timeline(since=since, limit=MOST_EVENTS, newest_first=True)
    rows: dict[object, LogLine] = {}
    turns: Counter[object] = Counter()
    for one in found.events:
        if by.lower() not in one.by.lower():
            continue
        if one.what in ("event", "session"):
            key: object = (one.thread, one.at.astimezone().date())
            turns[key] += 1
            if view == "changed" or key in rows:
                continue
            address = f"/session?id={quote(one.thread, safe='')}" if one.thread and has_page("/session") else ""
            rows[key] = LogLine(
                one.at, "session", "session", one.title or one.thread or one.ref, address or item_address(one.ref)
            )
        elif view != "sessions":
            what = "commit" if one.ref.startswith("git:") else one.what
            author, _, name = one.by.partition(" (")[0].partition(" ")
            parts = (what, one.kind, who_is(Provenance(author, name)), "corrected since" if one.corrected_by else "")
            picture = picture_of(one.kind, one.ref)
            rows[one.ref, one.at, one.what] = LogLine(
                one.at, "changed", picture, one.title or one.ref, item_address(one.ref), parts
            )
    for key, count in turns.items():
        if key in rows:
            rows[key] = replace(rows[key], more=("session", f"{count} event{'' if count == 1 else 's'}"))
    return list(rows.values()), found.more


def _asked(engine: Ricordo, one: AskedQuestion) -> LogLine:
    """A question with its best hits; whether anything fitted, and fits now."""
    least, doubt = engine.config.search.min_fit, ""
    if one.fit_now is not None:
        doubt = f"nothing fits now: {one.fit_now:.0%}" if one.fit_now else "nothing fits now"
    elif not one.results:
        doubt = "found nothing"
    elif one.fit is not None and one.fit < least:
        doubt = f"nothing fitted: {one.fit:.0%}"
    fitted = f"fitted {one.fit:.0%}" if one.fit is not None and not doubt else ""
    items = tuple((hit.title, item_address(hit.ref, q=one.text), hit.verdict or ("opened" if hit.opened else ""))
                  for hit in one.shown)  # fmt: skip
    more = (who_is(one.asker) or one.asker.via or "somebody", one.asker.token, HOW.get(one.tool, one.tool), fitted)
    return LogLine(
        one.at, "asked", "question", one.text, f"/?q={quote(one.text, safe='')}", more, one.asker.session, items, doubt
    )


def _span(day: str) -> tuple[Any, datetime | None]:
    """From when to when: one local day, or the last weeks."""
    if not day:
        return f"{DAYS}d", None
    try:
        start = datetime.combine(date.fromisoformat(day), datetime.min.time()).astimezone()
    except ValueError:
        raise UsageError(f"'{day}' is not a day", hint="Write it as 2026-01-31.") from None
    return start, start + timedelta(days=1)


def _told(engine: Ricordo, by: str) -> tuple[list[LogLine], int]:
    """What hooks told, with the titles of what is still kept; and how many answers came from other stores."""
    answers, elsewhere = answers_of_hooks(engine.location, DAYS)
    answers = [one for one in answers if by.lower() in str(one.asker.to_dict()).lower()][:MOST]
    titles: dict[str, tuple[str, str, str]] = {}
    for ref in dict.fromkeys(ref for one in answers for ref in one.refs):
        try:
            titles[ref] = (engine.get(ref, track=False).title, item_address(ref), "")
        except Error:  # it was removed since
            titles[ref] = (ref, "", "(gone)")
    rows = []
    for one in answers:
        more = (who_is(one.asker) or "an agent", f"{one.tokens:,} tokens" if one.tokens else "")
        words = f"Told at {one.event.replace('-', ' ')}"
        items = tuple(titles[ref] for ref in one.refs)
        rows.append(LogLine(one.at, "told", "told", words, "", more, one.asker.session, items))
    return rows, elsewhere


def _summary(engine: Ricordo, days: int) -> dict[str, Any]:
    """The log of some days in figures, charts and tables."""

    def summed(by: LogSummary, limit: int) -> StatsReport:
        summary = engine.log(since=f"{days}d", summary=by, limit=limit).summary
        assert summary is not None
        return summary

    daily, learning, today = summed("day", 366), engine.learn.status(), datetime.now(UTC).date()
    queries, tools = summed("query", 10), summed("tool", 10)
    answers, items = shown_by_hooks(engine.location, days)

    def asked(rows: Sequence[QueryStats], slow: bool = False) -> list[tuple[object, ...]]:
        return [(row.name, f"/?q={quote(row.name, safe='')}", row.count,
                 f"{row.slowest_ms:.0f} ms" if slow else f"{row.average_results:.1f}") for row in rows]  # fmt: skip

    return {
        "daily": daily,
        "learning": learning,
        "figures": (
            ("questions", daily.queries), ("hits per question", f"{daily.average_results:.1f}"),
            ("time per question", f"{daily.average_ms:.0f} ms"), ("found nothing", daily.zero_results),
            ("never found", daily.never_retrieved_count), ("answers of hooks", answers),
        ),
        "tables": (
            ("Asked most", ("question", "times", "hits"), asked(queries.rows)),
            ("Found nothing", ("question", "times", "hits"), asked(queries.zero_result)),
            ("Slowest", ("question", "times", "slowest"), asked(queries.slowest, slow=True)),
            ("Who asks", ("tool", "questions", "hits"),
             [(row.name, "", row.count, f"{row.average_results:.1f}") for row in tools.rows]),
            ("Found and opened most", ("item", "times"),
             [(one.title or one.ref, item_address(one.ref), one.count) for one in queries.most_retrieved]),
            ("Never found", ("item",), [(ref, item_address(ref)) for ref in queries.never_retrieved]),
            ("What hooks showed to agents", ("item", "times", "opened after"),
             [(one.title, item_address(one.ref), one.count, "yes" if one.opened else "no")
              for one in with_openings(engine, items[:MOST_SHOWN])]),
            ("How weights moved", ("profile", "why", "shift"),
             [(one.profile, "", one.reason, f"{one.shift_before:+.3f} → {one.shift_after:+.3f}")
              for one in learning.changes[:20]]),
        ),
        "charts": {
            "asked": by_day({row.name: float(row.count) for row in daily.rows}, days, today),
            "took": by_day({row.name: row.average_ms for row in daily.rows}, days, today),
        },
    }  # fmt: skip
