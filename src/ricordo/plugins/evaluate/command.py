"""The verb eval: how well profiles rank the documents of judged queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.terminal import ProgressLine, Screen
from ricordo.errors import UsageError
from ricordo.values.store_addresses import is_address

if TYPE_CHECKING:
    from ricordo.plugins.evaluate.report import Comparison, Suite


@verb(
    "eval",
    examples=[
        "ricordo eval data/scifact",
        "ricordo eval data/* --profile default --profile rrf --json",
        "ricordo eval data/scifact --compare bm25 default",
        "ricordo eval --own --profile default --profile rrf",
        "ricordo eval ~/handbook --passages questions.jsonl",
        "ricordo eval data/scifact --per-query new.jsonl && ricordo eval --compare old.jsonl new.jsonl",
    ],
)
@click.argument("folders", nargs=-1, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--own", is_flag=True, help="Measure with your own queries: what you opened or judged after them.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="A profile or baseline (repeatable).")
@click.option(
    "--per-query", type=click.Path(path_type=Path), metavar="FILE", help="Write the result of every query to this file."
)
@click.option("--compare", nargs=2, metavar="A B", help="Two profiles, or two files of --per-query: is B better?")
@click.option(
    "--limit-queries", type=click.IntRange(min=1), metavar="N", help="Use only N of the queries, spread evenly."
)
@click.option(
    "--passages",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="DIR is a folder of documents: does the passage shown answer the questions in this file?",
)
def _eval(
    call: Call,
    folders: tuple[Path, ...],
    own: bool,
    profiles: tuple[str, ...],
    *,
    per_query: Path | None,
    compare: tuple[str, str] | None,
    limit_queries: int | None,
    passages: Path | None,
) -> int:
    """A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv. Its store is built once and kept, so that the
    next run takes seconds. grep, bm25 and vector are baselines; any other name is a profile. With --own, the queries
    are those of your log, asked of your store as it is; right is what you opened within half an hour, or judged useful.
    With --store postgresql://…, the sets' stores are schemas of that server.
    """
    if passages is not None:
        return _passages(call, folders, passages, _names(call, profiles), plain=not (own or compare or per_query))
    if compare and all(Path(name).is_file() for name in compare):
        from ricordo.plugins.evaluate import report

        comparison = report.compare(*map(report.read_results, compare))
        return call.answer(comparison.to_dict(), lambda screen: _show_comparison(screen, comparison))
    if own and (folders or limit_queries):
        raise UsageError("--own uses your log and your store", hint="Leave out the folders and --limit-queries.")
    if not folders and not own:
        raise UsageError(
            "say which set to measure", hint="Name a folder with corpus.jsonl, queries.jsonl and qrels.tsv."
        )
    names = _names(call, profiles)
    if compare:
        names = list(dict.fromkeys([*names, *compare]))
    suite = _run_own(call, names) if own else _run(call, folders, names, limit_queries)
    if per_query is not None:
        from ricordo.plugins.evaluate.report import write_results

        write_results(suite.reports, per_query)
    if not compare:
        return _answer(call, suite)
    from ricordo.plugins.evaluate.report import compare_profiles

    return _answer(call, suite, compare_profiles(suite.reports, *compare))


def _names(call: Call, profiles: tuple[str, ...]) -> list[str]:
    asked = (call.profile,) if call.profile else ()  # the global flag, before the verb
    return [name for given in profiles or asked for name in given.split(",") if name]


def _passages(call: Call, folders: tuple[Path, ...], questions: Path, names: list[str], *, plain: bool) -> int:
    """Whether the passages that are shown answer."""
    from ricordo.plugins.evaluate.run import evaluate_passages

    if len(folders) != 1 or not plain:
        raise UsageError(
            "--passages takes one folder of documents, and nothing else to measure",
            hint="‹:eval FOLDER --passages FILE›; docs/evaluation.md says what the file looks like.",
        )
    with ProgressLine.for_call(call) as progress:
        report = evaluate_passages(folders[0], questions, profiles=names or ("bm25", "default"), progress=progress)
    return call.answer(report.to_dict(), lambda screen: screen.line(report.table()))


def _run(call: Call, folders: tuple[Path, ...], names: list[str], limit_queries: int | None) -> Suite:
    from ricordo.plugins.evaluate.run import DEFAULT_PROFILES, evaluate_all

    server = call.store if call.store and is_address(call.store) else None
    with ProgressLine.for_call(call) as progress:
        return evaluate_all(
            folders, profiles=names or DEFAULT_PROFILES, limit_queries=limit_queries, server=server, progress=progress
        )


def _run_own(call: Call, names: list[str]) -> Suite:
    from ricordo.plugins.evaluate.report import Suite
    from ricordo.plugins.evaluate.run import OWN_PROFILES, evaluate_own

    with call.engine() as engine, ProgressLine.for_call(call) as progress:
        return Suite((evaluate_own(engine, profiles=names or OWN_PROFILES, progress=progress),))


def _answer(call: Call, suite: Suite, comparison: Comparison | None = None) -> int:
    from ricordo.plugins.evaluate.report import results_table

    plain = suite.to_dict()
    if comparison is not None:
        plain["comparison"] = comparison.to_dict()

    def draw(screen: Screen) -> None:
        screen.line(results_table(suite.reports))
        if comparison is not None:
            screen.line()
            _show_comparison(screen, comparison)
        for report in suite.reports:
            for note in report.notes:
                screen.note(f"note: {report.dataset}: {note}")

    return call.answer(plain, draw)


def _show_comparison(screen: Screen, comparison: Comparison) -> None:
    from ricordo.plugins.evaluate.report import comparison_table

    screen.line(comparison_table(comparison))
    for note in comparison.notes:
        screen.note(f"note: {note}")
