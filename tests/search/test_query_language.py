"""What can be asked: words, phrases, exclusions, prefixes, inline filters; and that any text is a safe query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ricordo import Filters, Ricordo, UsageError
from ricordo.search.query import parse_query
from ricordo.search.words import topic_of
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "note:/cats": ("Cats are running along the wall at night.", {"title": "Cats", "tags": ["pets", "night"]}),
    "note:/dogs": ("The dog runs in the park, and the dog barks.", {"title": "Dogs", "tags": ["pets"]}),
    "note:/code": ("parseHttpHeader calls snake_case_name and kebab-case-flag.", {"domain": "code"}),
    "note:/tokyo": ("東京都は日本の首都です。", {}),
    "note:/cafe": ("Meet at the Café Éléphant at noon.", {"severity": "critical", "importance": 5}),
    "memory:/keys": ("Rotate the signing keys every quarter.", {"category": "security"}),
}


@pytest.fixture
def filled(engine: Ricordo) -> Ricordo:
    for ref, (text, fields) in TEXTS.items():
        engine.save(ref, text, fields=fields)
    return engine


@pytest.mark.parametrize("text", ["What is old?\nThe keys  are", 'a "b\nc" -d'])
def test_a_literal_query_keeps_its_lines_by_which_a_long_prompt_is_taken_apart(text: str) -> None:
    assert parse_query(text, literal=True).text == text


def refs(engine: Ricordo, query: str, **options: object) -> list[str]:
    return [hit.ref for hit in engine.search(query, **options).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("run", ["note:/dogs", "note:/cats"]),
        ("parse header", ["note:/code"]),
        ("parsehttpheader", ["note:/code"]),
        ("snake_case_name", ["note:/code"]),
        ("kebab case", ["note:/code"]),
        ("elephant cafe", ["note:/cafe"]),
        ("東京", ["note:/tokyo"]),
        ("首都", ["note:/tokyo"]),
        ("rotat*", ["memory:/keys"]),
        ("quart*", ["memory:/keys"]),
        ('"dog barks"', ["note:/dogs"]),
        ('"barks dog"', []),
        ('"in the park"', ["note:/dogs"]),
        ("pets -dogs", ["note:/cats"]),
        ('pets -"along the wall"', ["note:/dogs"]),
        ("tag:pets tag:night", ["note:/cats"]),
        ("kind:memory", ["memory:/keys"]),
        ("domain:code", ["note:/code"]),
        ("severity:critical noon", ["note:/cafe"]),
        ("importance:>=4", ["note:/cafe"]),
        ("category:security keys", ["memory:/keys"]),
        ("path:/ca kind:note", ["note:/cafe", "note:/cats"]),
        ("before:2001-01-01", []),
        ("pets kind:memory", []),
    ],
)
def test_a_query_finds_what_it_says(filled: Ricordo, query: str, expected: list[str]) -> None:
    found = refs(filled, query)
    assert sorted(found) == sorted(expected)


def test_what_was_put_away_is_found_and_listed_by_its_state(filled: Ricordo) -> None:
    filled.forget("note:/dogs")
    filled.rm("note:/cats")
    assert refs(filled, "pets") == []
    assert refs(filled, "pets state:archived") == ["note:/dogs"]
    assert [str(item.ref) for item in filled.list("state:deleted", filters=Filters(kinds=("note",)))] == ["note:/cats"]
    assert filled.count(query="state:deleted state:archived") == 2
    assert "state" in filled.search("pets state:lost").meta.notes[0]
    with pytest.raises(UsageError, match="no words"):
        filled.list("pets state:archived")


def test_more_matching_words_rank_higher(filled: Ricordo) -> None:
    assert refs(filled, "dog park barks night")[0] == "note:/dogs"


def test_a_natural_question_finds_its_answer(filled: Ricordo) -> None:
    assert refs(filled, "How often do I have to rotate the signing keys?")[0] == "memory:/keys"


def test_only_stop_words_still_find_something(filled: Ricordo) -> None:
    assert refs(filled, "the and in")


def test_an_unusable_filter_is_taken_as_words_and_said(filled: Ricordo) -> None:
    answer = filled.search("after:someday dog")
    assert [hit.ref for hit in answer.hits] == ["note:/dogs"]
    assert "someday" in answer.meta.notes[0]


@pytest.mark.parametrize("query", ["wall -kind:note", "wall -tag:pets", 'wall -tag:"two words"'])
def test_a_filter_behind_a_minus_is_said_to_be_words(filled: Ricordo, query: str) -> None:
    answer = filled.search(query)
    assert [hit.ref for hit in answer.hits][:1] == ["note:/cats"]
    assert any(f"'{query.partition(' ')[2]}' leaves out texts with these words" in note for note in answer.meta.notes)
    assert not any("leaves out" in note for note in filled.search("wall -dog kind:note").meta.notes)


def test_what_is_left_out_holds_for_the_text_as_it_is_written_too(filled: Ricordo) -> None:
    assert set(refs(filled, "run", by="text")) == {"note:/cats", "note:/dogs"}
    assert refs(filled, "run -dog", by="text") == ["note:/cats"]
    assert refs(filled, 'run -"dog barks"', by="text", filters=Filters(kinds=("note",))) == ["note:/cats"]


def test_the_text_as_it_is_written_is_looked_for_as_of_a_time(filled: Ricordo) -> None:
    then = datetime.now(UTC)
    filled.edit("note:/cats", "Cats sleep all day.")
    assert refs(filled, "along the wall", by="text", as_of=then) == ["note:/cats"]
    assert refs(filled, "sleep all day", by="text", as_of=then) == []
    assert refs(filled, "sleep all day", by="text") == ["note:/cats"]


def test_a_substring_is_found_when_no_word_is(filled: Ricordo) -> None:
    answer = filled.search("ttpHead")
    assert [hit.ref for hit in answer.hits] == ["note:/code"]
    assert "substring" in answer.meta.notes[0]


def test_an_empty_query_with_filters_browses_the_newest_first(filled: Ricordo) -> None:
    assert refs(filled, "", filters=Filters(kinds=("note",)))[0] == "note:/cafe"


def test_the_lines_of_a_hit_are_those_of_the_original(engine: Ricordo, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "long.md"
    sections = [f"## Section {n}\n\n" + f"Paragraph {n} about topic{n}. " * 12 + "\n" for n in range(12)]
    path.write_text("---\ntitle: Long\n---\n\n# Long\n\n" + "\n".join(sections))
    engine.add(path)
    hit = engine.search("topic7").hits[0]
    lines = path.read_text().split("\n")
    first, last = hit.lines
    assert "topic7" in "\n".join(lines[first - 1 : last])
    assert hit.title == "Long"


def test_explain_says_why_an_item_is_missing(filled: Ricordo) -> None:
    assert "none of the words" in filled.explain("zebra", "note:/cats").reason
    assert "excluded" in filled.explain("pets -cats", "note:/cats").reason
    assert "phrase" in filled.explain('"no such words" cats', "note:/cats").reason
    assert "filter" in filled.explain("cats kind:memory", "note:/cats").reason
    explanation = filled.explain("cats", "note:/cats")
    assert explanation.found
    assert explanation.rank == 1


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@example("\x00")
@example('"')
@example("-" * 50)
@example("a:b:c (x OR y) NOT z NEAR/3 {w} ^q ~1 \\ ' ; DROP TABLE items; --")
@example("🙂🙂 👩‍👩‍👧")
@example("\ud800 lone surrogate")
@example("*")
@example("kind: tag: after:")
@example("word " * 200_000)
@given(st.text(max_size=60) | st.lists(st.sampled_from(['"', "-", "*", ":", "kind:note", "cat", " "])).map("".join))
def test_any_text_is_a_safe_query(filled: Ricordo, query: str) -> None:
    answer = filled.search(query, explain=True, track=False)
    assert len(answer.hits) <= 10
    assert all(0.0 <= hit.score <= 1.0 for hit in answer.hits)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kinds=st.lists(st.sampled_from(["note", "memory"]), max_size=2, unique=True),
    tags=st.lists(st.sampled_from(["pets", "night"]), max_size=2, unique=True),
    query=st.sampled_from(["dog cat keys", "the", "running night park", "東京 cat"]),
)
def test_a_filter_never_costs_a_result(filled: Ricordo, kinds: list[str], tags: list[str], query: str) -> None:
    everything = filled.search(query, limit=100, track=False).hits
    filters = Filters(kinds=tuple(kinds), tags_all=tuple(tags))
    kept = [hit.ref for hit in everything if (not kinds or hit.kind in kinds) and all(tag in hit.tags for tag in tags)]
    assert [hit.ref for hit in filled.search(query, limit=100, filters=filters, track=False).hits] == kept


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("notes about bread", "bread"),
        ("find me all documents on key rotation", "key rotation"),
        ("my notes", "my notes"),
        ("notes about", "notes about"),
        ("about notes", "about notes"),
        ("show the files regarding JWT", "JWT"),
    ],
)
def test_a_request_in_front_of_a_topic_is_not_looked_for(query: str, topic: str) -> None:
    assert topic_of(query) == topic


def test_a_path_in_the_query_and_a_path_beside_it_must_both_hold(engine: Ricordo) -> None:
    for ref in ("note:/office/plan", "note:/office/bread", "note:/home/plan", "note:/home/bread"):
        engine.save(ref, "the same words")
    filters = Filters(paths=("/office", "/nowhere"))
    assert [hit.ref for hit in engine.search("words path:plan", filters=filters).hits] == ["note:/office/plan"]
    assert engine.search("words path:/home", filters=filters).hits == ()
    found = engine.search("words path:plan path:bread", filters=filters).hits
    assert sorted(hit.ref for hit in found) == ["note:/office/bread", "note:/office/plan"]


def test_of_two_limits_of_the_same_kind_the_stricter_holds(engine: Ricordo, tmp_path: Path) -> None:
    for year, importance in ((2020, 1), (2022, 3), (2024, 5)):
        text = f"---\ndate: {year}-06-01\nimportance: {importance}\n---\nbread"
        (tmp_path / f"{year}.md").write_text(text)
    engine.add(tmp_path)

    def years(query: str, **limits: Any) -> list[str]:
        hits = engine.search(f"bread {query}", filters=Filters(**limits)).hits
        return sorted(hit.ref.rpartition("/")[2].removesuffix(".md") for hit in hits)

    early, late = datetime(2021, 1, 1, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)
    assert years("after:2021-01-01", after=late) == years("after:2023-01-01", after=early) == ["2024"]
    assert years("before:2021-01-01", before=late) == years("before:2023-01-01", before=early) == ["2020"]
    assert years("importance:>=2", importance_min=4) == years("importance:>=4", importance_min=2) == ["2024"]
    assert years("after:2021-01-01 after:2023-01-01") == years("after:2023-01-01 after:2021-01-01") == ["2024"]
    assert years("before:2021-01-01 before:2023-01-01") == years("before:2023-01-01 before:2021-01-01") == ["2020"]
    assert years("importance:>=2 importance:>=4") == years("importance:>=4 importance:>=2") == ["2024"]


def test_turns_are_found_by_their_facets(engine: Ricordo) -> None:
    engine.save("session:/a/1", "No, that is wrong.", fields={"metadata": {"facets": {"correction": True}}})
    engine.save("session:/a/2", "That is a nice answer.", fields={"metadata": {"facets": {"praise": True}}})
    assert [hit.ref for hit in engine.search("that facet:correction").hits] == ["session:/a/1"]
    assert [hit.ref for hit in engine.search("facet:praise").hits] == ["session:/a/2"]
    assert "facet" in engine.search("that facet:boredom").meta.notes[0]


def test_a_nested_metadata_filter_is_a_usage_error(engine: Ricordo) -> None:
    engine.save("note:/a", "text")
    with pytest.raises(UsageError, match="not a plain value"):
        engine.search("text", filters=Filters(metadata={"facets": {"praise": True}}))


@pytest.mark.parametrize("words", ["harbour", "harbour boat rope", "harbour -rope", '"green boat"'])
def test_the_few_items_that_pass_a_filter_score_as_they_do_without_it(engine: Ricordo, words: str) -> None:
    parts = ("a green boat", "a rope", "a boat and a rope", "nothing else", "a boat, and a boat again")
    for number in range(60):
        folder = "rare" if number % 15 == 0 else "usual"
        engine.save(f"note:/{folder}/{number}", f"The harbour has {parts[number % len(parts)]}. Number {number}.")
    for number in (0, 30, 31):
        engine.save(f"note:/rare/{number}", "The harbour has a rope.", on_conflict="overwrite")
    engine.rm("note:/rare/30", "note:/usual/32")
    everything = {hit.ref: hit.score for hit in engine.search(words, limit=100, profile="bm25", track=False).hits}
    for folder in ("rare", "usual"):
        filters = Filters(paths=(f"/{folder}/",))
        answer = engine.search(words, limit=100, filters=filters, profile="bm25", track=False)
        assert {hit.ref: hit.score for hit in answer.hits} == {
            ref: pytest.approx(score) for ref, score in everything.items() if f"/{folder}/" in ref
        }


def test_a_filter_sees_at_once_what_another_process_changed(open_engine: Callable[..., Ricordo]) -> None:
    here, there = open_engine("shared"), open_engine("shared")
    for number in range(20):
        here.save(f"note:/{number}", "the same words", fields={"tags": ["old"]})
    tagged = Filters(tags_any=("new",))
    assert here.search("words", filters=tagged).hits == ()
    there.save("note:/3", "the same words", fields={"tags": ["new"]}, on_conflict="overwrite")
    assert refs(here, "words", filters=tagged) == ["note:/3"]
    there.rm("note:/3")
    assert here.search("words", filters=tagged).hits == ()


def test_all_words_that_begin_so_are_looked_for_and_an_answer_says_if_they_were_too_many(engine: Ricordo) -> None:
    for at in range(22):
        words = " ".join(f"crate{number:04}" for number in range(50 * at, 50 * at + 50))
        engine.save(f"note:/{at}", words)
    some = engine.search("crate04*", limit=50, by="words")
    found = engine.search("crate0*", limit=50, by="words")
    assert len(found.hits) == 20
    assert not some.meta.notes
    assert any("write more of the word" in note for note in found.meta.notes)
    assert len(engine.search("crate01*", limit=50, by="words").hits) == 2


def test_an_author_is_asked_for_by_name_or_by_what_they_are(engine: Ricordo) -> None:
    engine.save("note:/mine", "Keys of mine.")
    for name in ("codex", "claude-code"):
        with speaking(Provenance("agent", name)):
            engine.save(f"note:/{name}", "Keys of an agent.")
    assert refs(engine, "keys author:codex") == ["note:/codex"]
    assert set(refs(engine, "author:agent")) == {"note:/codex", "note:/claude-code"}
    assert refs(engine, "keys author:nobody") == []


def test_a_search_is_by_words_by_meaning_or_by_both(engine: Ricordo) -> None:
    wrong: Any = "zz"
    ref = engine.save("note:/a", "Tea.").ref
    with pytest.raises(UsageError, match="by cannot be 'zz'"):
        engine.search("tea", by=wrong)
    with pytest.raises(UsageError, match="by cannot be 'zz'"):
        engine.explain("tea", ref, by=wrong)
