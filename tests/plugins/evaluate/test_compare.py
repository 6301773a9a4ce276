"""Two runs side by side, from memory and from their files."""

from pathlib import Path

import pytest

from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.plugins.evaluate.report import (
    QueryResult,
    Report,
    Suite,
    compare,
    compare_profiles,
    comparison_table,
    read_results,
    results_table,
    write_results,
)


def report(scores: dict[str, dict[str, float]], *, dataset: str = "made-up", digest: str = "abc") -> Report:
    """A report in which every metric of a query has the given value."""
    results = [
        QueryResult(
            query,
            profile,
            dict.fromkeys(("ndcg@10", "recall@10", "recall@100", "mrr@10"), score),
            2.0,
            ("d1",),
        )
        for profile, row in scores.items()
        for query, score in row.items()
    ]
    return Report(dataset, digest, tuple(results))


STEADY = {f"q{n}": 0.5 for n in range(20)}
BETTER = {f"q{n}": 0.6 for n in range(20)}


def test_runs_with_one_profile_each_are_paired_whatever_its_name() -> None:
    (row,) = compare(report({"bm25": STEADY}), report({"default": BETTER})).rows
    assert (row.profile_a, row.profile_b) == ("bm25", "default")
    assert row.outcome.difference == pytest.approx(0.1)
    assert row.outcome.significant


def test_runs_with_several_profiles_are_paired_by_name() -> None:
    comparison = compare(report({"bm25": STEADY, "rrf": STEADY}), report({"rrf": BETTER, "default": BETTER}))
    assert [(row.profile_a, row.profile_b) for row in comparison.rows] == [("rrf", "rrf")]


def test_two_profiles_of_one_run_are_compared() -> None:
    (row,) = compare_profiles(report({"bm25": STEADY, "rrf": BETTER}), "bm25", "rrf", metrics=("mrr@10",)).rows
    assert (row.metric, row.outcome.wins) == ("mrr@10", 20)


def test_queries_of_one_run_only_are_left_out_with_a_note() -> None:
    comparison = compare(report({"bm25": STEADY}), report({"bm25": {"q0": 0.5, "new": 1.0}}))
    assert comparison.rows[0].outcome.queries == 1
    assert comparison.notes == ("made-up: 20 queries are in one run only and were left out",)


def test_a_set_that_changed_between_the_runs_is_noted() -> None:
    comparison = compare(report({"bm25": STEADY}), report({"bm25": STEADY}, digest="other"))
    assert "changed between the runs" in comparison.notes[0]


def test_runs_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(UsageError, match="in common"):
        compare(report({"bm25": STEADY}), report({"bm25": STEADY}, dataset="else"))


def test_a_profile_that_was_not_run_is_refused_with_those_that_were() -> None:
    with pytest.raises(UsageError) as caught:
        compare_profiles(report({"bm25": STEADY}), "bm25", "vault")
    assert caught.value.hint == "It was run with: bm25."


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(UsageError, match="precision"):
        compare(report({"bm25": STEADY}), report({"bm25": STEADY}), metrics=("precision",))


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    reports = (
        report({"bm25": STEADY, "rrf": BETTER}),
        report({"bm25": BETTER}, dataset="second", digest="def"),
    )
    write_results(reports, tmp_path / "run.jsonl")
    assert read_results(tmp_path / "run.jsonl") == reports


def test_a_broken_results_file_is_named_with_its_line(tmp_path: Path) -> None:
    write_results((report({"bm25": {"q0": 0.5}}),), tmp_path / "run.jsonl")
    with (tmp_path / "run.jsonl").open("a") as file:
        file.write('{"query": "q1"}\n')
    with pytest.raises(Unreadable, match="line 2"):
        read_results(tmp_path / "run.jsonl")
    with pytest.raises(NotFound):
        read_results(tmp_path / "none.jsonl")


def test_a_report_has_the_shape_that_scripts_rely_on() -> None:
    shape = report({"bm25": {"q0": 0.25, "q1": 0.75}}).to_dict()
    assert (shape["dataset"], shape["queries"]) == ("made-up", 2)
    assert shape["profiles"] == {
        "bm25": {"ndcg@10": 0.5, "recall@10": 0.5, "recall@100": 0.5, "mrr@10": 0.5, "ms_p50": 2.0}
    }


def test_every_set_weighs_the_same_in_the_mean() -> None:
    suite = Suite((report({"bm25": {"q0": 1.0}}), report({"bm25": dict.fromkeys(STEADY, 0.0)}, dataset="second")))
    assert suite.profiles["bm25"]["ndcg@10"] == pytest.approx(0.5)
    shape = suite.to_dict()
    assert (shape["queries"], [part["dataset"] for part in shape["sets"]]) == (21, ["made-up", "second"])


def test_tables_show_every_set_and_the_mean() -> None:
    reports = (report({"bm25": STEADY}), report({"bm25": BETTER}, dataset="second"))
    lines = results_table(reports).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["made-up", "second", "mean"]
    assert "0.5500" in lines[-1]


def test_the_comparison_table_marks_what_is_significant() -> None:
    table = comparison_table(compare(report({"bm25": STEADY}), report({"default": BETTER})))
    assert "+0.1000" in table
    assert " *" in table
    assert "20/0/0" in table
