"""Memories that are told when a prompt is about what they wait for, and ``review`` of them.

A reminder is an item with ``loading: contextual`` whose metadata say what it waits for. So a store without such items
is never asked for reminders. When and how often one was told is read from the log of what hooks told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from ricordo import told_log
from ricordo.context.passages import ContextPassage
from ricordo.errors import ContractError, CorruptStore, NotFound, Unavailable, UsageError
from ricordo.permissions import refuse_agents
from ricordo.search.fit import EVEN, FITS, POWER, POWER_ALONE, STEEP, WORDS, fit_from
from ricordo.speaking import speaker
from ricordo.text.stopwords import has_content
from ricordo.trust.fence import clean, one_line
from ricordo.trust.level import is_vouched
from ricordo.values.hits import Filters, FitPart
from ricordo.values.items import Item, Saved
from ricordo.values.log import Finding
from ricordo.values.times import parse_duration

if TYPE_CHECKING:
    from ricordo.engine.agents import AgentVerbs
    from ricordo.engine.review import ReviewVerbs
    from ricordo.store.base import Store

KEY = "reminder"
KIND = "reminders"
PAUSE = "1d"
_ALL = 1 << 30
LONGEST_SHOWN = 80


def fields_of(fields: Mapping[str, Any], when: str, pause: str, times: int) -> dict[str, Any]:
    """The fields of a text that is told when a prompt is about ``when``."""
    if not has_content(when) or not when.strip(" ,"):
        raise UsageError(f"‘{when}’ says nothing that a prompt could be about", hint="Name it in a few words: release.")
    if fields.get("loading") not in (None, "contextual"):
        raise UsageError(
            "what is told when a prompt is about something is loaded so alone", hint="Leave out ‹loading›."
        )
    parse_duration(pause or PAUSE)
    about: dict[str, Any] = {"when": " ".join(when.split())}
    about |= {"pause": pause} if pause else {}
    about |= {"times": times} if times else {}
    return {**fields, "loading": "contextual", "metadata": {**(fields.get("metadata") or {}), KEY: about}}


def with_reminders(
    passages: Sequence[ContextPassage], engine: AgentVerbs, task: str, stores: Mapping[str, Store]
) -> list[ContextPassage]:
    """The contextual passages of a task: first the reminders that it is about, the surest before the others."""
    own = {
        str(item.ref): (store, _own_words(store, item)) for store in stores.values() for _, item in _reminders(store)
    }
    others = [one for one in passages if one.ref not in own or not _waits_for(own[one.ref][1] or one.item)]
    now = datetime.now(UTC)
    told = _tellings(engine.location) if speaker().via == "hook" else {}
    due = [
        (store, item)
        for ref, (store, item) in own.items()
        if item and _waits_for(item) and not item.validity(now) and _is_due(item, told.get(ref, ()))
    ]
    fits = _fits(engine, task, due)
    surest = sorted(zip(fits, (item for _, item in due), strict=True), key=lambda pair: -pair[0])
    return [*(_passage(item, fit) for fit, item in surest if fit >= FITS), *others]


def findings(store: Store, kinds: Sequence[str]) -> list[Finding]:
    """All reminders, each with what accepting does: switch it off, or let one be told that an agent wrote."""
    if KIND not in kinds:
        return []
    told = _tellings(None)
    return [_finding(n, item, told.get(str(item.ref), ())) for n, item in _reminders(store)]


def accept(engine: ReviewVerbs, finding: Finding) -> Saved | None:
    """Switch a reminder off; one that is not the user's is told from now on."""
    if finding.kind != KIND:
        return None
    n, store = finding.versions[0][0], engine._context.unsynced_store
    if is_vouched(store.items.get(n)):
        return store.changes.archive([n])[0]
    refuse_agents("decide what is told")
    store.audit.decide(n, "accepted")
    return Saved(finding.refs[0], "updated")


def refuse(engine: ReviewVerbs, finding: Finding) -> Saved | None:
    """Put away a reminder that an agent wrote; the user's own stays."""
    if finding.kind != KIND:
        return None
    n, store = finding.versions[0][0], engine._context.unsynced_store
    if is_vouched(store.items.get(n)):
        return Saved(finding.refs[0], "unchanged", reason="it is told as before")
    return store.changes.archive([n])[0]


def _reminders(store: Store) -> Iterator[tuple[int, Item]]:
    contextual = store.items.listing(Filters(loadings=("contextual",)), _ALL, 0)
    return ((n, item) for n, item in contextual if _waits_for(item))


def _waits_for(item: Item) -> str:
    """What a reminder waits for; "" if it is none."""
    about = item.fields.metadata.get(KEY)
    return str(about.get("when") or "") if isinstance(about, dict) else ""


def _own_words(store: Store, item: Item) -> Item | None:
    """An item as the user wrote it last, or agreed to it; None if the user never did, or that is no longer kept."""
    if item.foreign or item.vouched is None:
        return None
    try:
        return store.items.get(store.items.require(item.ref), version=item.vouched)
    except (NotFound, CorruptStore):
        return None


def _tellings(location: str | None) -> dict[str, list[float]]:
    """When hooks told which item of a store, or of any, with a prompt."""
    times: dict[str, list[float]] = {}
    for line in told_log.lines(0):
        is_start = str(line["event"]).lower().replace("-", "") == "sessionstart"
        if not is_start and location in (None, line["store"]):
            for ref in line["refs"]:
                times.setdefault(str(ref), []).append(float(line["at"]))
    return times


def _is_due(item: Item, told: Sequence[float]) -> bool:
    """Whether it may be told again: not too often, and not too soon."""
    about = item.fields.metadata[KEY]
    pause = parse_duration(about.get("pause") or PAUSE).total_seconds()
    return len(told) < about.get("times", len(told) + 1) and time.time() - max(told, default=0.0) >= pause


def _fits(engine: AgentVerbs, task: str, due: Sequence[tuple[Store, Item]]) -> list[float]:
    """How sure it is of each that the task is about what it waits for: the surest of what is named between commas."""
    named = [list(filter(None, map(str.strip, _waits_for(item).split(",")))) for _, item in due]
    cosines = _cosines(engine, task, list(dict.fromkeys(chain.from_iterable(named))))
    return [
        max((_fit(store, task, words, cosines.get(words)) for words in several), default=0.0)
        for (store, _), several in zip(due, named, strict=True)
    ]


def _fit(store: Store, task: str, named: str, cosine: float | None) -> float:
    """How sure it is that a task is about something: the share of its words in the task, and how near they are."""
    words = store.analyzer.content_counts(named).keys()
    share = len(words & store.analyzer.content_counts(task).keys()) / max(1, len(words))
    if cosine is None:
        return fit_from([FitPart("words", share, WORDS * share**POWER_ALONE)]) if share else 0.0
    meaning = FitPart("meaning", cosine, STEEP * (cosine - EVEN))
    return fit_from([meaning, FitPart("words", share, WORDS * share**POWER)])


def _cosines(engine: AgentVerbs, task: str, named: Sequence[str]) -> dict[str, float]:
    """How near each is to the task by meaning; nothing where only words are searched, or no model answers."""
    embedder = engine._context.models.embedder() if named and engine.config.search.backend == "hybrid" else None
    if embedder is None:
        return {}
    try:
        cosines = embedder.embed_documents(named) @ embedder.embed_query(task)
    except (Unavailable, ContractError):
        return {}
    return dict(zip(named, map(float, cosines), strict=True))


def _passage(item: Item, fit: float) -> ContextPassage:
    place = f"for prompts about {one_line(_waits_for(item), LONGEST_SHOWN)}"
    return ContextPassage(item, str(item.ref), clean(item.content), (0, 0), fit, place=place)


def _finding(n: int, item: Item, told: Sequence[float]) -> Finding:
    about = item.fields.metadata[KEY]
    when = f"when a prompt is about ‘{one_line(_waits_for(item), LONGEST_SHOWN)}’"
    if not is_vouched(item):
        found = Finding.about(KIND, {n: item}, f"{item.provenance.author} wants it told {when}.", "let it be told")
    else:
        last = f", last on {datetime.fromtimestamp(max(told)):%Y-%m-%d}" if told else ""
        most = about.get("times", 0)
        count = f"told {len(told):,} of {most:,} times" if most else f"told {len(told):,} time{'s' * (len(told) != 1)}"
        until = f", until {item.fields.valid_until[:10]}" if item.fields.valid_until else ""
        why = f"It is told {when}{until}, once in {about.get('pause') or PAUSE} at most; {count}{last}."
        found = Finding.about(KIND, {n: item}, why, "switch it off")
    return replace(found, alone=True)
