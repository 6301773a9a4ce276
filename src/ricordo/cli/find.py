"""Verbs that rank: search, explain, semantic, similar, suggest-links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.running import run, with_globals
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import prepared

if TYPE_CHECKING:
    from ricordo.cli.terminal import Screen
    from ricordo.engine import Ricordo
    from ricordo.values.hits import Answer

FORM = (
    click.Option(["--brief", "form"], flag_value="brief", default="", help="Print one line for each hit."),
    click.Option(["--files", "form"], flag_value="files", help="Print only the paths or refs of the hits."),
)


RERANK = click.Option(["--rerank"], metavar="KIND", help="Rank the best hits again with a cross-encoder or llm.")
"""Not one of a few choices: a plugin brings names of its own, and the engine knows them."""


@command("search", cls=QueryVerb, without=("rerank",), extra=(RERANK, *FORM))
def search(call: Call, form: str = "", query: str = "", **given: Any) -> int:
    """In a query, "a phrase" must occur as it is, -word excludes items with the word, and word* matches words that
    begin so. Filters are kind: tag: drive: path: domain: severity: category: importance: tier: after: before:.
    With filters and no words, it lists what passes them, newest first. On a terminal, hits are shown as fully as fits
    the window, and what does not fit goes through your pager.
    """
    return _ranked(call, "search", form, {"query": query, **given})


@command("semantic", cls=QueryVerb, without=("rerank",), extra=(RERANK, *FORM))
def semantic(call: Call, form: str = "", **given: Any) -> int:
    """The query is compared by its meaning only; quotes, dashes and filters in it are plain text. The same as search
    --by meaning.
    """
    return _ranked(call, "semantic", form, given)


@command("similar", extra=FORM)
def similar(call: Call, form: str = "", **given: Any) -> int:
    """Items are compared by meaning. The item itself is not listed."""
    return _ranked(call, "similar", form, given, meaning=False)


def may_use_meaning(given: Mapping[str, Any]) -> bool:
    """Whether a search as it was asked for compares meanings, as far as its own options say."""
    return given.get("by") not in ("words", "text")


def _ranked(call: Call, path: str, form: str, given: dict[str, Any], *, meaning: bool = True) -> int:
    query = given.get("query", "")
    ask = prepared(verb_named(path), with_globals(call, path, given))
    with call.engine(meaning=meaning and bool(query) and may_use_meaning(given)) as engine:
        answer = ask(engine)
        return _show(call, engine, answer, form, query, given.get("offset", 0))


def _show(call: Call, engine: Ricordo, answer: Answer, form: str, query: str, offset: int) -> int:
    language = engine.config.lexical.language

    def draw(screen: Screen) -> None:
        from ricordo.cli.last_search import keep
        from ricordo.cli.present_hits import show_answer
        from ricordo.engine.lending import sealing_store

        keep([hit.ref for hit in answer.hits], offset + 1, sealing_store(engine))
        show_answer(screen, answer, query=query, language=language, first=offset + 1, form=form)

    return call.answer(answer.to_dict(), draw)


@command("explain", cls=QueryVerb)
def explain(call: Call, **given: Any) -> int:
    """The last argument is the ref, id, path or URL of the item; the words before it are the query."""
    from ricordo.cli.last_search import ref_of

    given["ref"] = ref_of(given["ref"])
    ask = prepared(verb_named("explain"), with_globals(call, "explain", given))
    with call.engine(meaning=may_use_meaning(given)) as engine:
        from ricordo.cli.present_hits import show_explanation

        explanation = ask(engine)
        return call.answer(
            explanation.to_dict(),
            lambda screen: show_explanation(screen, explanation, language=engine.config.lexical.language),
        )


@command("suggest-links")
def suggest_links(call: Call, **given: Any) -> int:
    """Items are compared by meaning, or by the words of their titles where there are no vectors."""
    from ricordo.cli.present_hits import show_answer

    return run(call, "suggest-links", given, lambda screen, answer: show_answer(screen, answer, query=""))
