"""Why an item is where it is in an answer, or why it is not in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ricordo.search.pipeline import Searcher
from ricordo.search.query import both, parse_query
from ricordo.search.request import Request
from ricordo.search.session_ranking import is_turn, session_of
from ricordo.search.words import ask_for_words
from ricordo.store.base import Store
from ricordo.text.words import fold, holds_phrase
from ricordo.values.hits import Answer, Explanation

DEEP = 1_000


def explain_item(
    search: Callable[[Request], Answer], searcher: Searcher, request: Request, n: int, *, tier: str
) -> Explanation:
    """Do the same search with far more hits, and look for the item of ``searcher``'s store in it."""
    store = searcher.store
    item = store.items.get(n)
    ref = str(item.ref)

    def not_found(reason: str) -> Explanation:
        return Explanation(request.query, ref, False, reason)

    if item.state == "deleted":
        return not_found("it is in the bin; restoring it brings it back")
    answer = search(replace(request, limit=DEEP, explain=True))
    for rank, hit in enumerate(answer.hits, start=1):
        if hit.ref == ref:
            where = f"rank {rank} of {answer.meta.candidates} candidates, score {hit.score:.3f}"
            reason = where if rank <= request.limit else f"{where}: beyond the first {request.limit}"
            return Explanation(request.query, ref, True, reason, rank, hit)
    if is_turn(ref) and any(session_of(hit.ref) == session_of(ref) for hit in answer.hits if is_turn(hit.ref)):
        return not_found("another turn of its session is shown; a filter by thread shows all")
    if tier not in answer.meta.tiers:
        return not_found(f"its tier, {tier}, was not searched")
    if len(answer.meta.tiers) > 1 and any(hit.ref == ref for hit in searcher.search(replace(request, limit=DEEP)).hits):
        return not_found("a higher tier answers with the same ref or the same text")
    return not_found(_missing(searcher, store, request, n))


def _missing(searcher: Searcher, store: Store, request: Request, n: int) -> str:
    item = store.items.get(n)
    if item.state == "archived" and request.as_of is None:
        return "it is archived (superseded or forgotten); its history and a search as of an earlier time still show it"
    query = parse_query(request.query, literal=request.literal)
    filters = replace(both(request.filters, query.filters), states=("live", "archived"))
    if not store.items.passes(n, filters):
        return "a filter leaves it out"
    ask = ask_for_words(query, searcher.analyzer, store.index.languages, respell=request.respell)
    terms = set(searcher.reading.terms(" ".join((item.title, item.ref.path, item.fields.description, item.content))))
    barred = [word for word in query.excluded if (found := searcher.analyzer.terms(word)) and set(found) <= terms]
    if barred:
        return f"it contains the excluded word '{barred[0]}'"
    for phrase in query.phrases:
        if not holds_phrase((item.content, item.title, item.fields.description), phrase):
            return f'it does not contain the phrase "{phrase}"'
    wanted = {term for word in ask.words for term in word.terms}
    begun = any(term.startswith(fold(prefix)) for prefix in ask.prefixes for term in terms)
    if (wanted or ask.prefixes) and not begun and not wanted & terms:
        labels = sorted((*wanted, *(f"{prefix}*" for prefix in ask.prefixes)))
        return f"it contains none of the words of the query ({', '.join(labels[:8])})"
    if request.min_score:
        return f"its score is below the least that was asked for, {request.min_score}"
    return f"it is not among the best {DEEP}"
