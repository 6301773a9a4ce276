"""Verbs that rank: search, explain, semantic, similar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.options import (
    ANSWER_OPTIONS,
    AS_OF,
    ASKING_OPTIONS,
    FILTER_OPTIONS,
    FORM,
    RANKING_OPTIONS,
    REF,
    TRACK,
    QueryVerb,
    filters_from,
    limited,
    query_from,
    search_settings,
)
from ricordo.cli.verb import verb
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.cli.terminal import Screen
    from ricordo.engine import Ricordo
    from ricordo.values.hits import Answer


@verb(
    "search",
    cls=QueryVerb,
    examples=[
        "ricordo search how do I rotate the keys",
        "ricordo search '\"exact phrase\" -draft tag:ops' --kind note --limit 5",
        "ricordo search login --explain",
        "ricordo search login --files",
        "echo 'a long question' | ricordo search -",
    ],
)
@click.argument("words", nargs=-1, metavar="QUERY...")
@FORM
@ANSWER_OPTIONS
@ASKING_OPTIONS
@RANKING_OPTIONS
def search(call: Call, words: tuple[str, ...], form: str, **given: Any) -> int:
    """In a query, "a phrase" must occur as it is, -word excludes items with the word, and word* matches words that
    begin so. Filters are kind: tag: drive: path: domain: severity: category: importance: tier: after: before:.
    With filters and no words, it lists what passes them, newest first. On a terminal, hits are shown as fully as fits
    the window, and what does not fit goes through your pager.
    """
    query = query_from(words)
    settings = search_settings(call, given)
    meaning = bool(query) and settings.get("vectors", True) and settings.get("backend", "hybrid") == "hybrid"
    with call.engine(meaning=meaning) as engine:
        return _answer(
            call, engine, engine.search(query, **settings), form, query, given["offset"], bool(given["as_of"])
        )


@verb("semantic", cls=QueryVerb, examples=["ricordo semantic getting things done"])
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@FORM
@ANSWER_OPTIONS
@FILTER_OPTIONS
@AS_OF
def semantic(call: Call, words: tuple[str, ...], form: str, **given: Any) -> int:
    """The query is compared by its meaning only; quotes, dashes and filters in it are plain text."""
    query = query_from(words)
    settings = search_settings(call, given)
    settings.pop("profile", None)
    with call.engine(meaning=True) as engine:
        return _answer(
            call, engine, engine.semantic(query, **settings), form, query, given["offset"], bool(given["as_of"])
        )


@verb(
    "similar",
    examples=["ricordo similar notes/keys.md", "ricordo similar memory:/login-bug --limit 3 --json"],
)
@click.argument("ref", type=REF)
@FORM
@limited(10)
@TRACK
@FILTER_OPTIONS
def similar(call: Call, ref: str, form: str, limit: int, track: bool | None, **given: Any) -> int:
    """Items are compared by meaning. The item itself is not listed."""
    with call.engine() as engine:
        answer = engine.similar(ref, limit=limit, filters=filters_from(call, given), track=track)
        return _answer(call, engine, answer, form)


def _answer(
    call: Call, engine: Ricordo, answer: Answer, form: str, query: str = "", offset: int = 0, dated: bool = False
) -> int:
    language = engine.config.lexical.language
    if dated:
        answer = engine.with_replacements(answer)

    def draw(screen: Screen) -> None:
        from ricordo.cli.present_hits import show_answer

        show_answer(screen, answer, query=query, language=language, first=offset + 1, form=form)

    return call.answer(answer.to_dict(), draw)


@verb(
    "explain",
    cls=QueryVerb,
    examples=[
        "ricordo explain how do I rotate the keys notes/keys.md",
        "ricordo explain login memory:/login-bug",
    ],
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY... REF")
@ASKING_OPTIONS
@RANKING_OPTIONS
def explain(call: Call, words: tuple[str, ...], **given: Any) -> int:
    """The last argument is the ref, id, path or URL of the item; the words before it are the query."""
    if len(words) < 2:
        raise UsageError("explain takes a query and a ref", hint="ricordo explain how do I notes/a.md")
    settings = search_settings(call, given)
    with call.engine(meaning=settings.get("vectors", True)) as engine:
        from ricordo.cli.present_hits import show_explanation

        explanation = engine.explain(query_from(words[:-1]), words[-1], **settings)
        return call.answer(
            explanation.to_dict(),
            lambda screen: show_explanation(screen, explanation, language=engine.config.lexical.language),
        )
