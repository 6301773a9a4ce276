"""A small set, measured from its files to its figures by the real engine."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ricordo import registry
from ricordo.config.loading import Config
from ricordo.config.settings import LexicalSettings, RetrievalSettings
from ricordo.engine.ricordo import Ricordo
from ricordo.errors import UsageError
from ricordo.plugins.evaluate.report import METRICS, Report, judge, read_results, write_results
from ricordo.plugins.evaluate.run import evaluate, evaluate_all
from ricordo.plugins.evaluate.stores import position_of, ref_of
from ricordo.values.reports import Progress

KITCHEN = Path(__file__).parent / "sets" / "kitchen"


class LetterEmbedder:
    """Texts with the same letters have the same vector."""

    fingerprint = "letters/26"
    is_remote = False
    dimensions = 26
    max_tokens = 256

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array([[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts])
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return LetterEmbedder.embed_documents(self, [text])[0]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def measure(cache: Path, **options: Any) -> Report:
    return evaluate(KITCHEN, **{"config": Config(), "cache_dir": cache, "profiles": ("bm25",), **options})


def test_keyword_search_finds_what_the_words_name(cache: Path) -> None:
    report = measure(cache)
    best = {result.query: result.top[:1] for result in report.results}
    assert best["q1"] == ("soup",)
    assert best["q2"] == ("pan",)
    assert best["q3"] == ("knife",)


def test_the_figures_are_the_means_of_the_queries(cache: Path) -> None:
    report = measure(cache)
    assert report.queries == 8
    for metric in METRICS:
        mean = sum(result.metrics[metric] for result in report.results) / 8
        assert report.profiles["bm25"][metric] == pytest.approx(mean)
    assert report.profiles["bm25"]["ms_p50"] > 0


def test_a_query_of_a_conversation_sees_that_conversation_alone(cache: Path) -> None:
    tops = {result.query: set(result.top) for result in measure(cache).results}
    assert tops["q5"] <= {"a1", "a2", "a3"}
    assert tops["q6"] <= {"c1", "c2"}


def test_operators_in_a_query_are_read_as_plain_words(cache: Path) -> None:
    (result,) = [result for result in measure(cache).results if result.query == "q4"]
    assert result.top[0] == "coffee"


def test_each_query_is_judged_by_its_own_judgements(cache: Path) -> None:
    (result,) = [result for result in measure(cache).results if result.query == "q7"]
    graded = {"rice": 2, "bread": 1, "coffee": 1, "a2": 1}
    assert result.metrics == judge(result.top, graded)
    assert result.metrics["recall@10"] == 1.0


def test_baselines_stand_beside_each_other(cache: Path) -> None:
    report = measure(cache, profiles=("grep", "bm25", "grep"))
    assert list(report.profiles) == ["grep", "bm25"]
    found = {result.query: result.top for result in report.results if result.profile == "grep"}
    assert found["q3"] == ("knife",)


def test_the_store_is_built_once(tmp_path: Path) -> None:
    measure(tmp_path)
    (built,) = tmp_path.iterdir()
    before = (built / "store.db").stat().st_ino
    measure(tmp_path, profiles=("grep",))
    assert [folder.name for folder in tmp_path.iterdir()] == [built.name]
    assert (built / "store.db").stat().st_ino == before


def test_a_setting_that_only_ranking_reads_keeps_the_store(cache: Path) -> None:
    flat = Config(retrieval=RetrievalSettings(vector_weight=0.0))
    before = sorted(folder.name for folder in cache.iterdir())
    assert measure(cache, config=flat).profiles != {}
    assert sorted(folder.name for folder in cache.iterdir()) == before


def test_a_setting_that_reaches_the_index_builds_another_store(tmp_path: Path) -> None:
    for language in ("english", "none"):
        measure(tmp_path, config=Config(lexical=LexicalSettings(language=language)))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ricordo, "save_many", stop)
    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fewer_queries_are_spread_over_the_set(cache: Path) -> None:
    report = measure(cache, limit_queries=3)
    assert [result.query for result in report.results] == ["q1", "q3", "q6"]


def test_progress_is_told_while_searching(tmp_path: Path) -> None:
    steps: list[Progress] = []
    measure(tmp_path, progress=steps.append)
    assert any(progress.phase == "searching: bm25" for progress in steps)
    assert steps[-1].done == steps[-1].total == 8


def test_several_sets_give_a_mean(cache: Path) -> None:
    suite = evaluate_all([KITCHEN, KITCHEN], profiles=("bm25",), config=Config(), cache_dir=cache)
    assert len(suite.reports) == 2
    assert suite.to_dict()["profiles"]["bm25"]["ndcg@10"] == suite.reports[0].to_dict()["profiles"]["bm25"]["ndcg@10"]


def test_results_per_query_can_be_kept_and_read_again(cache: Path, tmp_path: Path) -> None:
    report = measure(cache)
    write_results([report], tmp_path / "run.jsonl")
    (again,) = read_results(tmp_path / "run.jsonl")
    assert [result.metrics for result in again.results] == [result.metrics for result in report.results]
    first = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[0])
    assert (first["dataset"], first["query"], first["profile"]) == ("kitchen", "q1", "bm25")


def test_of_two_that_build_the_same_store_the_slower_takes_what_the_faster_made(tmp_path: Path) -> None:
    from ricordo.plugins.evaluate.stores import _put_in_place

    for name in ("building-1", "building-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "store.db").write_text(name)
        _put_in_place(tmp_path / name, tmp_path / "whole")
    assert (tmp_path / "whole" / "store.db").read_text() == "building-1"


@pytest.mark.parametrize("options", [{"profiles": ()}, {"limit_queries": 0}])
def test_asking_for_nothing_is_a_usage_error(cache: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        measure(cache, **options)


def test_keyword_baselines_make_no_vectors_and_the_others_make_them_once(tmp_path: Path) -> None:
    def waiting() -> int:
        (store,) = tmp_path.glob("*/store.db")
        with Ricordo.open(store, config=Config()) as engine:
            return engine.embed(status=True).to_dict()["pending"]

    measure(tmp_path, profiles=("bm25",))
    assert waiting() == 12
    report = measure(tmp_path, profiles=("bm25", "vector", "default"))
    assert list(report.profiles) == ["bm25", "vector", "default"]
    assert report.notes == ("1 query has no relevant document and is not counted",)
    assert waiting() == 0


def test_a_store_that_is_built_anew_takes_its_vectors_from_the_run_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []

    class Counting(LetterEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
            computed.extend(texts)
            return super().embed_documents(texts)

    monkeypatch.setattr(registry, "embedder", lambda config: Counting())
    before = measure(tmp_path, profiles=("vector",))
    assert len(computed) == 12
    (store,) = tmp_path.glob("*/store.db")
    shutil.rmtree(store.parent)
    after = measure(tmp_path, profiles=("vector",))
    assert len(computed) == 12
    assert [result.top for result in after.results] == [result.top for result in before.results]


def test_meaning_finds_what_no_word_names(tmp_path: Path) -> None:
    report = measure(tmp_path, profiles=("bm25", "vector"))
    ranked = {(result.profile, result.query): result.top for result in report.results}
    assert "knife" not in ranked["bm25", "q9"]
    assert ranked["vector", "q9"][0] == "knife"


def test_refs_of_documents_say_nothing_but_their_place() -> None:
    assert ref_of(123) == "eval:/0000123"
    assert position_of(ref_of(123)) == 123


def test_an_unknown_profile_is_a_usage_error(cache: Path) -> None:
    with pytest.raises(UsageError, match="no-such-profile"):
        measure(cache, profiles=("no-such-profile",))
