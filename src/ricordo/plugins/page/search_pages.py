"""The search page with its facets, the home that it is before anything is asked, and the command palette."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Query, Request, Response

from ricordo.config.loading import SETTINGS
from ricordo.frozen import frozen
from ricordo.hosting.credentials import Caller
from ricordo.http_api.state import Here, Who
from ricordo.plugins.page.layout import NAVIGATION, author_of, page, page_router, shows, who_is
from ricordo.plugins.page.markup import item_address, terms_of
from ricordo.told_log import ShownItem, answers_of_hooks, with_openings
from ricordo.values.hits import Filters, Hit
from ricordo.values.provenance import PERSON
from ricordo.values.times import moment_since

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.provenance import Provenance
    from ricordo.values.reports import AskedQuestion


pages = page_router()

PAGE = 20
POOL = 1000
"""How many hits are counted for the facets at most."""
LONGEST_PAUSE = 5.0
"""Seconds that the facets wait for others at most."""
MOST_TAGS_LISTED = 40
LABELS = {"disk": "Files", "url": "Web pages", "git": "Commits", "agent": "Kept texts", "memory": "Memories",
          "entry": "Entries", "entity": "Entities"}  # fmt: skip
"""What kinds, and documents of a drive, are called where more than an s is added."""
SPANS = {"1d": "A day", "7d": "7 days", "30d": "30 days", "365d": "A year"}
Many = Annotated[list[str] | None, Query(max_length=20)]


RECENT_SECONDS = 3600.0
MOST_RECENT = 2000


class RecentQueries:
    """The queries of the last hour, by who asked them."""

    def __init__(self, seconds: float = RECENT_SECONDS) -> None:
        self._seconds = seconds
        self._times: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()

    def is_new(self, caller: str, query: str) -> bool:
        """Whether a caller asks this for the first time in a while; it counts as asked from now on."""
        key, now = (caller, query.strip().casefold()), time.monotonic()
        with self._lock:
            before = self._times.pop(key, None)
            self._times[key] = now
            while len(self._times) > MOST_RECENT:
                self._times.popitem(last=False)
        return before is None or now - before > self._seconds


@frozen
class Asked:
    """The input of the search page: the query, the chosen facets, the profile."""

    q: str = ""
    kind: tuple[str, ...] = ()
    drive: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    since: str = ""
    author: str = ""
    profile: str = ""

    def filters(self) -> Filters:
        after = moment_since(self.since) if self.since in SPANS else None
        authors = (self.author,) if self.author else ()
        return Filters(
            kinds=self.kind, drives=self.drive, tags_all=self.tag, tiers=self.tier, after=after, authors=authors
        )

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters as they are in an address."""
        pairs = [("q", self.q)] if self.q else []
        for name in ("kind", "drive", "tag", "tier"):
            pairs += [(name, value) for value in getattr(self, name)]
        return pairs + [(name, value) for name in ("since", "author", "profile") if (value := getattr(self, name))]

    def narrowed(self) -> int:
        """How many filters are chosen."""
        return len([name for name, _ in self.parameters() if name not in ("q", "profile")])

    def only_words(self) -> Asked:
        """The same question without filters."""
        return Asked(self.q, profile=self.profile)

    def in_words(self) -> str:
        """The filters: ``with #security``."""
        tags = ", ".join(f"#{tag}" for tag in self.tag)
        of = ", ".join(LABELS.get(value, value) for value in (*self.kind, *self.drive, *self.tier))
        since = f"since {SPANS[self.since].lower()} ago" if self.since in SPANS else ""
        by = f"by {self.author}" if self.author else ""
        return " ".join(filter(None, (tags and f"with {tags}", of and f"in {of}", by, since)))

    def address(self, path: str = "/", **more: Any) -> str:
        pairs = [*self.parameters(), *((name, str(value)) for name, value in more.items())]
        return path + (f"?{urlencode(pairs)}" if pairs else "")

    def toggled(self, name: str, value: str) -> Asked:
        """The same with one value of a filter chosen or not; of kinds and drives, one is chosen at a time."""
        chosen: tuple[str, ...] = getattr(self, name)
        changes: dict[str, Any] = {"kind": (), "drive": ()} if name in ("kind", "drive") else {}
        several = () if changes else tuple(one for one in chosen if one != value)
        changes[name] = several if value in chosen else (*several, value)
        return replace(self, **changes)

    def lets_pass(self, hit: Hit) -> bool:
        """Whether a hit that was found with the same words and day passes the filters."""
        return all((
            not self.kind or hit.kind in self.kind,
            not self.drive or hit.ref.partition(":")[0] in self.drive,
            {tag.casefold() for tag in self.tag} <= {tag.casefold() for tag in hit.tags},
            not self.author or self.author in (hit.author.name, hit.author.author),
            not self.tier or hit.tier in self.tier,
        ))  # fmt: skip


@frozen
class Facet:
    """One value that the hits can be narrowed to, and how many there would be then; None before they are counted."""

    label: str
    count: int | None
    chosen: bool
    address: str


def facets_of(asked: Asked, hits: Sequence[Hit] | None) -> list[Facet]:
    """The kinds of what was found, the drives of documents among them, then the tiers, and the tags that are chosen.

    ``hits`` are those of the question without filters.
    """
    chosen = [(name, value) for name in ("kind", "drive", "tag", "tier") for value in getattr(asked, name)]
    found = Counter(kind_or_drive(hit) for hit in hits or ())
    tiers = Counter(("tier", hit.tier) for hit in hits or () if hit.tier)
    values = [*(one for one, _ in found.most_common()), *(tiers if len(tiers) > 1 else ()), *chosen]
    return [_facet(asked, name, value, hits) for name, value in dict.fromkeys(values)]


def kind_or_drive(hit: Hit) -> tuple[str, str]:
    """What a hit is counted as: its kind or, of documents, the drive that it comes from."""
    drive = hit.ref.partition(":")[0]
    return ("drive", drive) if hit.kind == "document" else ("kind", hit.kind)


def _facet(asked: Asked, name: str, value: str, hits: Sequence[Hit] | None) -> Facet:
    toggled = asked.toggled(name, value)
    label = value if name == "tier" else f"#{value}" if name == "tag" else LABELS.get(value, f"{value.capitalize()}s")
    is_chosen = value in getattr(asked, name)
    shown = asked if is_chosen else toggled
    count = None if hits is None else sum(map(shown.lets_pass, hits))
    return Facet(label, count, is_chosen, toggled.address())


def authors_of(
    chosen: str, everything: Sequence[Provenance], passing: Sequence[Provenance]
) -> list[tuple[str, str, int]]:
    """Who wrote it: by name, as people say it, and how many of what passes the other filters are theirs."""
    names = ({chosen: chosen} if chosen else {}) | dict(author_of(one) for one in everything if one.is_known)
    rows = [(name, words, sum(name in (one.name, one.author) for one in passing)) for name, words in names.items()]
    return sorted(rows, key=lambda row: -row[2])


def searched(engine: Ricordo, asked: Asked, *, offset: int, track: bool) -> dict[str, Any]:
    """What the results show: hits that fit, those that fit weakly, and what to say where none fits."""
    options: dict[str, Any] = {"filters": asked.filters(), "profile": asked.profile or None, "tool": "page"}
    answer = engine.search(asked.q, limit=PAGE, offset=offset, track=track, mode="full", **options)
    language, limits = engine.config.lexical.language, fit_limits(engine)
    weak = [hit for hit in answer.hits if hit.fit is not None and hit.fit < limits[0]]
    good = [hit for hit in answer.hits if hit not in weak]
    total = engine.count() if not answer.hits else None
    return {
        "asked": asked, "answer": answer, "hits": answer.hits, "good": good, "weak": weak, "offset": offset,
        "following": offset + PAGE if len(answer.hits) >= PAGE and not weak else None,
        "terms": terms_of(asked.q, language) if asked.q.strip() else frozenset(), "language": language,
        "limits": limits, "total": total, "spans": SPANS, "tags": (), "counts": None, "is_all": True,
        "authors": authors_of(asked.author, (), ()),
        "nothing": _nothing(engine, asked) if asked.q.strip() and not good and not offset and total != 0 else None,
        "facets": facets_of(asked, None),
    }  # fmt: skip


def fit_limits(engine: Ricordo) -> tuple[float, float]:
    """From which fit on a hit is fair, and from which it is strong: what tools and prompts are given."""
    return engine.config.search.min_fit, engine.config.hooks.min_fit


def _nothing(engine: Ricordo, asked: Asked) -> dict[str, Any]:
    """Why nothing fits: the filters alone are to blame, or nothing stored answers it; then who asked it lately."""
    least = engine.config.search.min_fit
    if asked.narrowed():
        hits = engine.search(asked.q, limit=PAGE, track=False, snippets=False, tool="page").hits
        if fitting := sum(1 for hit in hits if (hit.fit or 0.0) >= least):
            return {"words": f"Nothing {asked.in_words()}.", "without": fitting, "askers": ()}
    questions = engine.log(since="7d", limit=LOOKED_THROUGH).questions
    same = [one for one in questions if one.text.strip().casefold() == asked.q.strip().casefold()]
    askers = Counter(filter(None, (who_is(one.asker) for one in same if one.asker.author != PERSON)))
    named = [(name[:1].upper() + name[1:], times) for name, times in askers.most_common(2)]
    return {"words": "Nothing stored answers this.", "without": 0, "askers": named}


def counted(engine: Ricordo, asked: Asked) -> dict[str, Any]:
    """What the hits can be narrowed to: all that the question finds is counted, not only what a page shows."""
    bare = replace(asked.only_words(), since=asked.since)
    options: dict[str, Any] = {"filters": bare.filters(), "profile": asked.profile or None, "tool": "page"}
    pool = engine.search(asked.q, limit=POOL, track=False, evidence=False, snippets=False, **options).hits
    least = engine.config.search.min_fit
    fitting = [hit for hit in pool if hit.fit is None or hit.fit >= least]
    hits = fitting or pool
    by_all = [hit for hit in hits if replace(asked, author="").lets_pass(hit)]
    left = [hit for hit in by_all if asked.lets_pass(hit)]
    tags = Counter(tag for hit in left for tag in hit.tags if tag not in asked.tag)
    return {
        "facets": facets_of(asked, hits),
        "authors": authors_of(asked.author, [hit.author for hit in hits], [hit.author for hit in by_all]),
        "tags": tags.most_common(MOST_TAGS_LISTED), "spans": SPANS,
        "counts": (len(left), len(hits), len(fitting)), "is_all": len(pool) < POOL,
    }  # fmt: skip


def asked_from(
    q: Annotated[str, Query(max_length=10_000)] = "",
    kind: Many = None,
    drive: Many = None,
    tag: Many = None,
    *,
    tier: Many = None,
    since: Annotated[str, Query(max_length=10)] = "",
    author: Annotated[str, Query(max_length=200)] = "",
    profile: Annotated[str, Query(max_length=100)] = "",
) -> Asked:
    """The parameters of the search page."""
    kinds, drives, tags, tiers = (tuple(filter(None, values or ())) for values in (kind, drive, tag, tier))
    return Asked(q, kinds, drives, tags, tiers, since, author, profile)


AskedHere = Annotated[Asked, Depends(asked_from)]
"""What the address of a page asks for."""


@shows(pages, "/")
async def search_page(request: Request, here: Here, who: Who, asked: AskedHere) -> Response:
    """The page, with the results of the query in its address; without one, the home."""
    is_new = bool(asked.q.strip()) and request.app.state.recent_queries.is_new(who.id, asked.q)

    def work(engine: Ricordo) -> dict[str, Any]:
        shown: dict[str, Any] = {"home": None, "asked": asked}
        found = searched(engine, asked, offset=0, track=is_new) if asked.parameters() else home_of(engine)
        return shown | found

    return page(request, "search.html", **await here.ask(work))


@shows(pages, "/hits")
async def hits(
    request: Request,
    here: Here,
    asked: AskedHere,
    offset: Annotated[int, Query(ge=0, le=1000)] = 0,
) -> Response:
    """Only the results, while the user types; a query that is not finished yet is not recorded."""
    found = await here.ask(lambda engine: searched(engine, asked, offset=offset, track=False))
    return page(request, "more_hits.html" if offset else "results.html", **found)


@shows(pages, "/facets")
async def facets(request: Request, here: Here, asked: AskedHere) -> Response:
    """What the hits can be narrowed to. All that is found must be looked at for it, which takes several times as long
    as the hits; so it is asked for after them, not before one rests from typing, and pages that somebody asked for come
    first.
    """
    await here.threads.when_free(LONGEST_PAUSE)
    if await request.is_disconnected():
        return Response(status_code=204)  # one went on to another page
    return page(request, "facets_part.html", asked=asked, **await here.ask(lambda engine: counted(engine, asked)))


@shows(pages, "/settled")
async def settled(request: Request, here: Here, who: Who, q: Annotated[str, Query(max_length=10_000)] = "") -> Response:
    """Record a query that the user stopped at; what was typed before it is not a query."""
    if q.strip() and request.app.state.recent_queries.is_new(who.id, q):
        await here.ask(lambda engine: engine.search(q, limit=PAGE, track=True, tool="page"))
    return Response(status_code=204)


MOST_LATEST = 6
MOST_TOLD = 5
MOST_QUESTIONS = 3
LOOKED_THROUGH = 60
"""How many of the latest questions are looked through for the person's own."""
EXAMPLES = ("What did we decide last week?", "How do I set this up?", "kind:memory")
"""Searches for somebody who has just begun."""


def home_of(engine: Ricordo) -> dict[str, Any]:
    """The parts of the first page. A store that holds nothing is told apart, because there is only one thing to do."""
    status = engine.status()
    if not status["items"]:
        return {"home": {"is_first": True, "examples": EXAMPLES, "health": None}}
    today = datetime.now(UTC).astimezone().date()
    told = [one for one in answers_of_hooks(engine.location, days=1)[0] if one.at.astimezone().date() == today]
    times = Counter(ref for one in told for ref in one.refs)
    titled = with_openings(engine, [ShownItem(ref, count, told[-1].at, told[0].at)
                                    for ref, count in times.most_common(MOST_TOLD)])  # fmt: skip
    return {
        "home": {
            "is_first": False,
            "latest": engine.list(limit=MOST_LATEST),
            "searches": _own(engine.log(since="30d", limit=LOOKED_THROUGH).questions),
            "told": titled,
            "told_times": len(told),
            "told_tokens": sum(one.tokens for one in told),
            "health": _health(engine, status),
        }
    }


def _own(questions: tuple[AskedQuestion, ...]) -> list[AskedQuestion]:
    """The latest searches of a person, each text once."""
    latest: dict[str, AskedQuestion] = {}
    for question in questions:
        if question.asker.author == PERSON:
            latest.setdefault(question.text.casefold(), question)
    return list(latest.values())[:MOST_QUESTIONS]


def _health(engine: Ricordo, status: Any) -> dict[str, Any]:
    """The state of the store in one line: figures, and what is wrong."""
    jobs = engine.embed(status=True).to_dict()
    away = [one.name for one in engine.tiers() if not one.reachable]
    wrong = [f"the tier {name} cannot be reached" for name in away]
    if jobs["failed"]:
        wrong.append(f"{jobs['failed']:,} passages could not be embedded")
    return {
        "items": status["items"],
        "passages": status["chunks"],
        "waiting": jobs["pending"] + jobs["running"],
        "in_bin": status["in_bin"],
        "wrong": wrong,
    }


MOST_SETTINGS = 8
MOST_TAGS = 4
MOST_ITEMS = 6


@frozen
class Choice:
    """A line of the palette: what it is, and where it leads. With ``key``, the palette presses a key of the page."""

    group: str
    words: str
    address: str = ""
    more: str = ""
    key: str = ""


PLACES = (
    ("/", "Search"), ("/browse", "Browse"), ("/add", "Add"), ("/graph", "Graph"), ("/log", "Log"),
    ("/log?view=asked", "What was asked"), ("/log?view=unanswered", "Questions without an answer"),
    ("/log?view=told", "What hooks told agents"), ("/log?view=changed", "Timeline: what changed"),
    ("/log?view=sessions", "Sessions"), ("/log?view=summary", "Figures of the log"), ("/review", "Review"),
    ("/tags", "Tags"), ("/bin", "Bin"), ("/bin?state=archived", "Archive"), ("/profiles", "Ranking"),
    ("/compare", "Compare two rankings"), ("/why", "Why is something not found"), ("/jobs", "Health and tasks"),
    ("/settings", "Settings"), ("/settings?all=true", "All settings"), ("/api", "API"),
)  # fmt: skip
DEEDS = (
    ("Write a note", "/add#write", "write"),
    ("Upload files", "/add#drop", "write"),
    ("Check the store", "/jobs", "write"),
    ("Make a token", "/settings?tokens=true", "admin"),
)


@shows(pages, "/palette")
async def palette_part(
    request: Request,
    here: Here,
    who: Who,
    q: Annotated[str, Query(max_length=200)] = "",
    *,
    ref: Annotated[str, Query(max_length=4096)] = "",
) -> Response:
    """What fits the letters; on the page of an item, also what can be done with it."""
    wanted = q.strip()
    needs = {address: scope for address, _, _, _, scope in NAVIGATION}
    places = [Choice("Go to", words, address) for address, words in PLACES if who.may(needs.get(address, "read"))]
    deeds = [Choice("Do", words, address) for words, address, scope in DEEDS if who.may(scope)]
    fixed = [choice for choice in (*_of_item(ref, who), *places, *deeds) if _fits(choice.words, wanted)]

    def work(engine: Ricordo) -> list[Choice]:
        return [*_tag_choices(engine, wanted), *_item_choices(engine, wanted)] if wanted else []

    found = _by_name([*fixed, *_setting_choices(wanted), *await here.ask(work)], wanted)
    if wanted:
        found.append(Choice("Search", f"Search for “{wanted}”", f"/?{urlencode({'q': wanted})}"))
    return page(request, "palette_part.html", choices=found, q=wanted)


@shows(pages, "/pick")
async def pick_part(request: Request, here: Here, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Items to choose one from, for a field that holds a ref."""
    found = await here.ask(lambda engine: _item_choices(engine, q.strip(), most=8) if q.strip() else [])
    return page(request, "pick_part.html", choices=found)


def _fits(words: str, wanted: str) -> bool:
    """Whether every word that is wanted begins a word of the line, or all of it stands in the line."""
    line = words.casefold()
    begins = line.replace(".", " ").replace("_", " ").split()
    return wanted.casefold() in line or all(
        any(one.startswith(part) for one in begins) for part in wanted.casefold().split()
    )


def _of_item(ref: str, who: Caller) -> list[Choice]:
    if not ref:
        return []
    name = quote(ref, safe="")
    found = [
        Choice("This item", "Show its versions", f"/item?ref={name}&view=versions"),
        Choice("This item", "Show it in the graph", f"/graph?ref={name}"),
        Choice("This item", "Export it as Markdown", f"/export?format=markdown&ref={name}"),
        Choice("This item", "Export it as JSON", f"/export?format=json&ref={name}"),
        Choice("This item", "Why is it not found", f"/why?ref={name}"),
    ]
    if who.may("write"):
        found[:0] = [
            Choice("This item", "Edit it", f"/edit?ref={name}"),
            Choice("This item", "Correct it", f"/edit?ref={name}&how=correct"),
            Choice("This item", "Tag, archive, remove or move it", key="x"),
        ]
    return found


def _setting_choices(wanted: str) -> list[Choice]:
    """Settings by their names, whole or in parts."""
    if not wanted:
        return []
    found = [
        Choice("Settings", name, f"/settings?q={name}#set-{name}", SETTINGS[name].doc)
        for name in SETTINGS
        if _fits(name, wanted)
    ]
    return _by_name(found, wanted)[:MOST_SETTINGS]


def _by_name(choices: list[Choice], wanted: str) -> list[Choice]:
    """First the group that holds the name, and in each group what is called so, then what begins so."""
    wanted = wanted.casefold().removeprefix("#")

    def distance(one: Choice) -> int:
        name = one.words.casefold().removeprefix("#")
        return 0 if name == wanted else 1 if name.startswith(wanted) else 2

    nearest = sorted(choices, key=distance)
    groups = list(dict.fromkeys(one.group for one in nearest))
    return sorted(nearest, key=lambda one: groups.index(one.group))


def _tag_choices(engine: Ricordo, wanted: str) -> list[Choice]:
    tag = wanted.removeprefix("#").casefold()
    found = [one for one in engine.tags() if tag and one.tag.casefold().startswith(tag)]
    return [
        Choice("Tags", f"#{one.tag}", f"/?{urlencode({'tag': one.tag})}", f"{one.count:,}") for one in found[:MOST_TAGS]
    ]


def _item_choices(engine: Ricordo, wanted: str, most: int = MOST_ITEMS) -> list[Choice]:
    """The items that a search for the letters finds; the palette's own questions are not recorded."""
    options: dict[str, Any] = {"limit": most, "track": False, "rerank": "none", "evidence": False, "tool": "page"}
    hits = engine.search(wanted, literal=True, **options).hits
    return [Choice("Items", hit.title or hit.ref, item_address(hit.ref), hit.ref) for hit in hits]
