"""How sure an answer is that its hits have to do with the question: comparable between questions, stores and tiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Filters, Ricordo
from ricordo.plugins.gateway.mcp_config import ServerTool
from ricordo.search.fit import EVEN, FITS, NOTHING_FITS, STEEP, fit_from
from ricordo.values.hits import FitPart

from .conftest import COSINES

DOCUMENTS = {
    "colors": "colorsys converts between RGB, YIQ, HLS and HSV: rgb_to_hls takes coordinates from 0 to 1.",
    "speed": "Performance: a search takes 8 ms in a store of 50,000 passages; embedding is the slowest part of adding.",
    "backup": "ricordo backup copies the store while others write. Restore it with import, or copy the file back.",
    "tokens": "Access tokens are checked by their signature; who issued a token is compared with the settings.",
    "deploy": "Deploy on Monday morning, and roll back when the error rate rises above one per cent.",
}
RIGHT = ("how do I convert rgb to hsv", "make a copy of my data while it is in use", "is this token genuine")
FOREIGN = ("zzxqv blorptang", "draw a cat in ASCII", "order a pizza with mushrooms", "who won the football match")


@pytest.fixture
def documented(meaning: Ricordo) -> Ricordo:
    for name, text in DOCUMENTS.items():
        meaning.save(f"note:/{name}", text)
    return meaning


@pytest.mark.parametrize("query", RIGHT)
def test_a_right_answer_fits_and_says_nothing_else(documented: Ricordo, query: str) -> None:
    answer = documented.search(query, track=False)
    assert answer.hits[0].fit is not None
    assert answer.hits[0].fit >= FITS
    assert answer.meta.fit == max(hit.fit or 0.0 for hit in answer.hits)
    assert NOTHING_FITS not in answer.meta.notes


@pytest.mark.parametrize("query", FOREIGN)
def test_the_nearest_to_a_foreign_question_does_not_fit(documented: Ricordo, query: str) -> None:
    answer = documented.search(query, track=False)
    assert answer.meta.fit is not None
    assert answer.meta.fit < FITS
    assert NOTHING_FITS in answer.meta.notes
    assert documented.context(query).text.strip() == ""


def test_foreign_questions_fit_worse_than_right_ones_whatever_they_score(documented: Ricordo) -> None:
    def fits(queries: tuple[str, ...]) -> list[float]:
        return [documented.search(query, track=False).meta.fit or 0.0 for query in queries]

    assert min(fits(RIGHT)) > max(fits(FOREIGN))


def test_a_list_of_what_passes_a_filter_has_no_fit(documented: Ricordo) -> None:
    answer = documented.search("kind:note", track=False)
    assert len(answer.hits) == len(DOCUMENTS)
    assert answer.meta.fit is None
    assert {hit.fit for hit in answer.hits} == {None}
    assert answer.to_dict()["meta"]["fit"] is None


def test_an_explanation_says_what_each_side_adds_to_the_fit(documented: Ricordo) -> None:
    hit = documented.search(RIGHT[0], explain=True, track=False).hits[0]
    assert hit.explain is not None
    assert [part.name for part in hit.explain.fit] == ["meaning", "words"]
    assert hit.fit == pytest.approx(fit_from(hit.explain.fit))
    assert all(part.contribution > 0 for part in hit.explain.fit)


def test_more_of_the_words_fit_better_and_all_of_them_fit_without_any_meaning(documented: Ricordo) -> None:
    documented.save("note:/codes", "qx7 vv3 tt9 zk4 appear in the table of part numbers.")
    some, all_of_them = (
        next(part.contribution for part in hit.explain.fit if part.name == "words")
        for hit in (documented.search(query, explain=True, track=False).hits[0] for query in ("qx7 pancakes", "qx7"))
        if hit.explain is not None
    )
    assert 0 < some < all_of_them
    assert fit_from([FitPart("meaning", 0.0, STEEP * -EVEN), FitPart("words", 1.0, all_of_them)]) >= FITS


def test_words_alone_never_say_that_nothing_fits(engine: Ricordo) -> None:
    engine.save("note:/quay", "The quay is repaired in spring.")
    answer = engine.search("which quay has a crane for forty tonnes", track=False)
    assert answer.meta.fit is not None
    assert answer.meta.fit >= FITS
    assert NOTHING_FITS not in answer.meta.notes


def test_a_text_that_contains_the_query_as_written_fits(engine: Ricordo) -> None:
    engine.save("note:/odd", "The code is #!x9!# and nothing else.")
    for options in ({}, {"by": "text"}):
        answer = engine.search("#!x9!#", track=False, **options)  # type: ignore[arg-type]
        assert [round(hit.fit or 0.0, 3) for hit in answer.hits] == [1.0]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Ricordo]:
    """A project that knows one thing, with a user's store beside it that knows another."""
    paths = {f"tiers.{name}": str(tmp_path / f"{name}.db") for name in ("agent", "project")}
    with Ricordo.open(paths["tiers.agent"], config=ConfigProvider()) as user:
        user.remember("Ada prefers tea over coffee in the morning.")
    with Ricordo.open(paths["tiers.project"], config=ConfigProvider()) as own:
        own.save("note:/tokens", DOCUMENTS["tokens"])
    with Ricordo.open(config=ConfigProvider(paths), start=tmp_path, create=False) as both:
        yield both


def test_of_several_tiers_one_that_has_nothing_does_not_spoil_the_answer_of_another(project: Ricordo) -> None:
    good, bad = (project.search(query, track=False) for query in (RIGHT[2], FOREIGN[2]))
    assert {hit.tier for hit in good.hits} == {"agent", "project"}
    assert NOTHING_FITS not in good.meta.notes
    assert good.meta.fit == good.hits[0].fit
    assert bad.meta.notes.count(NOTHING_FITS) == 1


def test_context_tells_no_memory_of_the_user_that_has_nothing_to_do_with_the_task(project: Ricordo) -> None:
    assert project.context("set up the continuous integration of the compiler").text.strip() == ""
    assert "tea" in project.context("what does Ada like to drink").text


def test_only_tools_and_skills_that_fit_are_found_for_a_task(documented: Ricordo) -> None:
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    told = {"now": "Get the current time in a time zone.", "log": "Show the commits of a git repository."}
    documented.tools.index("clock", [ServerTool("clock", name, about, nothing) for name, about in told.items()])
    documented.save("skill:/pdf", "Fill in the fields of PDF forms.", kind="skill", fields={"title": "pdf"})
    assert documented.tools.find("order a pizza") == ()
    assert [one.name for one in documented.tools.find("what time is it in Tokyo")][:1] == ["clock/now"]
    assert documented.skills_search("order a pizza") == ()
    assert len(documented.skills_search("order a pizza", min_score=0.0)) == 1
    assert [skill.name for skill in documented.skills_search("complete a PDF form")] == ["pdf"]


def test_a_task_of_several_parts_finds_the_tools_of_each_and_a_foreign_one_none(documented: Ricordo) -> None:
    """One of several tools that a task needs shares few words with all of it; a context names only what fits."""
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    told = {
        "forecast": "Temperature and rain of a place for the next days.",
        "rooms": "Free rooms of hotels with their prices.",
        "stock": "The price of a share.",
        "resize": "Change the size of a picture.",
    }
    documented.tools.index("s", [ServerTool("s", name, about, nothing) for name, about in told.items()])
    journey = (
        "We travel to Vienna on Friday. See how warm it gets there, and find somewhere to sleep that costs little."
    )
    assert [one.name for one in documented.tools.find(journey)] == ["s/forecast", "s/rooms"]
    assert [one.name for one in documented.tools.find("Where can we sleep in Vienna?")][:1] == ["s/rooms"]
    assert documented.tools.find("which protein binds to the receptor of the virus") == ()
    assert "s/rooms" not in documented.context("Where can we sleep in Vienna?").text


def test_what_fits_less_than_asked_for_is_left_out_of_context(open_engine: Callable[..., Ricordo]) -> None:
    for least, told in ((0.0, True), (1.0, False)):
        engine = open_engine(vectors=True, **{"search.min_fit": least})
        engine.save("note:/tokens", DOCUMENTS["tokens"], on_conflict="overwrite")
        assert bool(engine.context(RIGHT[2]).text.strip()) == told
        assert engine.search(RIGHT[2], filters=Filters(kinds=("note",)), track=False).hits


def test_an_expired_hit_is_named_although_only_surer_hits_are_told(open_engine: Callable[..., Ricordo]) -> None:
    engine = open_engine(vectors=True, **{"search.min_fit": 0.6})
    engine.save("note:/tokens", DOCUMENTS["tokens"], fields={"valid_until": "2020-01-01"})
    assert [one.ref for one in engine.context(RIGHT[2]).left_out] == ["note:/tokens"]


def test_if_nothing_fits_context_tells_a_source_that_almost_does_and_says_so(
    compass: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    for cosine, told in ((EVEN - 0.3 / STEEP, False), (EVEN - 0.1 / STEEP, True), (EVEN + 0.1 / STEEP, True)):
        monkeypatch.setitem(COSINES, "delta", cosine)
        engine = compass(f"store{cosine}")
        engine.save("note:/quay", "delta cranes")
        report = engine.context("harbours")
        assert bool(report.text.strip()) == told
        assert (NOTHING_FITS in report.warnings) == (told and cosine < EVEN)
