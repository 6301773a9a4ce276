"""Verbs that rank: search, explain, semantic, similar."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli.call import Call, later
from recollect.cli.options import (
    ANSWER_OPTIONS,
    ASKING_OPTIONS,
    FILTER_OPTIONS,
    RANKING_OPTIONS,
    REF,
    QueryVerb,
    query_from,
    refuse_unknown,
    search_settings,
)
from recollect.cli.present_hits import show_answer, show_explanation
from recollect.cli.verb import verb
from recollect.errors import UsageError


@verb(
    "search",
    cls=QueryVerb,
    examples=[
        "recollect search how do I rotate the keys",
        "recollect search '\"exact phrase\" -draft tag:ops' --kind note --limit 5",
        "recollect search login --explain",
        "echo 'a long question' | recollect search -",
    ],
)
@click.argument("words", nargs=-1, metavar="QUERY...")
@ANSWER_OPTIONS
@ASKING_OPTIONS
@RANKING_OPTIONS
def search(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """In a query, "a phrase" must stand so, -word leaves out, word* matches beginnings, and kind: tag: drive:
    path: domain: severity: category: importance: tier: after: before: filter. Without words, filters
    browse, newest first.
    """
    return _search(call, query_from(words), given)


@verb(
    "semantic",
    cls=QueryVerb,
    examples=["recollect semantic getting things done", "recollect semantic -- -draft"],
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@ANSWER_OPTIONS
@ASKING_OPTIONS
@RANKING_OPTIONS
def semantic(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """The same as search --no-lexical: words count only through what they mean."""
    given["lexical"] = False
    return _search(call, query_from(words), given)


def _search(call: Call, query: str, given: dict[str, Any]) -> int:
    settings = search_settings(call, given)
    with call.engine() as engine:
        refuse_unknown(engine.search, settings)
        answer = engine.search(query, **settings)
        return call.answer(
            answer.to_dict(),
            lambda screen: show_answer(
                screen,
                answer,
                query=query,
                language=engine.config.lexical.language,
                first=given["offset"] + 1,
            ),
        )


@verb(
    "explain",
    cls=QueryVerb,
    examples=[
        "recollect explain how do I rotate the keys notes/keys.md",
        "recollect explain login memory:/login-bug",
    ],
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY... REF")
@ASKING_OPTIONS
def explain(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """The last word is the ref, an item id, a path or a URL; the words before it are the query."""
    if len(words) < 2:
        raise UsageError("explain takes a query and a ref", hint="recollect explain how do I notes/a.md")
    settings = search_settings(call, given)
    with call.engine() as engine:
        told = engine.explain(query_from(words[:-1]), words[-1], **settings)
        return call.answer(
            told.to_dict(),
            lambda screen: show_explanation(screen, told, language=engine.config.lexical.language),
        )


@verb(
    "similar",
    examples=["recollect similar notes/keys.md", "recollect similar memory:/login-bug --limit 3 --json"],
)
@click.argument("ref", type=REF)
@ANSWER_OPTIONS
@FILTER_OPTIONS
def similar(call: Call, ref: str, **given: Any) -> int:
    """Compares by meaning; the item itself is left out."""
    settings = search_settings(call, given)
    with call.engine() as engine:
        answer = later(engine, "similar")(ref, **settings)
        return call.answer(answer.to_dict(), lambda screen: show_answer(screen, answer, query=""))
