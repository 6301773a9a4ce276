"""Points to fork from: where they are, how good they are, and that nothing but ``route`` finds them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ricordo import Filters, Ricordo

FIXTURES = Path(__file__).with_name("fixtures")
CLAUDE = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11"


def converse(path: Path, *said: str) -> Path:
    """Write a conversation: ``> …`` is the person, ``$ …`` a tool with the file it touches, the rest the agent."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    lines: list[dict[str, Any]] = []
    for place, text in enumerate(said):
        role = {">": "user", "$": "tool"}.get(text[0], "assistant")
        line: dict[str, Any] = {"role": role, "content": text.lstrip(">$ "), "id": place}
        if role == "tool":
            line |= {"files": [text[2:]], "direction": "sent", "tool": "Edit"}
        lines.append(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))
    return path


def points(engine: Ricordo) -> dict[int, str]:
    """The turns that can be forked from, with their titles."""
    items = engine.store.items.listing(Filters(categories=("checkpoint",), states=("archived",)), 100, 0)
    return {item.fields.metadata["turn"]: item.title for _, item in items}


def test_a_point_stands_where_the_work_on_each_request_ends(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES / f"{CLAUDE}.jsonl")
    assert points(engine) == {
        7: "The checkout page charges customers twice when they press the pay button quickly. Find…",
        14: "Perfect, thanks! Now add a test for the double click.",
        18: "Perfect, thanks! Now add a test for the double click.",
    }


def test_route_ranks_points_with_session_turn_files_and_quality(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES)
    best = engine.route("customers are charged twice at checkout").forks[0]
    assert (best.session, best.turn, best.files) == (CLAUDE, 7, ("/home/ada/shop/src/payment.py",))
    assert best.quality > 0.6, "it was praised"
    assert best.folder == "/home/ada/shop"
    tests = {fork.turn: fork for fork in engine.route("add a test for the double click").forks}
    assert tests[14].quality < 0.3, "it was corrected"
    assert tests[18].quality == 0.5, "nobody said anything"
    assert tests[18].score > tests[14].score
    assert engine.route("quantum chromodynamics").forks == ()


def test_a_correction_counts_against_the_request_it_corrects_and_no_other(engine: Ricordo, tmp_path: Path) -> None:
    said = (
        "> Add a login button", "Done.", "> Now write the import of invoices", "Done.",
        "> No, that's wrong, invoices have a header", "Mended.",
    )  # fmt: skip
    engine.sessions_add(converse(tmp_path / "a.jsonl", *said))
    assert engine.route("login button").forks[0].quality == 0.5
    assert engine.route("import of invoices").forks[0].quality == 0.5, "the mended one comes first"
    by_turn = {fork.turn: fork.quality for fork in engine.route("import of invoices").forks}
    assert by_turn[4] < 0.2


def test_what_is_said_after_go_on_is_still_about_the_same_request(engine: Ricordo, tmp_path: Path) -> None:
    said = ("> Add a login button", "Half of it.", "> go on", "Done.", "> Perfect, thanks!")
    engine.sessions_add(converse(tmp_path / "a.jsonl", *said))
    assert engine.route("login button").forks[0].quality > 0.8


def test_meaning_finds_a_point_that_shares_no_word_with_the_task(meaning: Ricordo, tmp_path: Path) -> None:
    meaning.sessions_add(converse(tmp_path / "a.jsonl", "> The dough will not rise", "Use more yeast."))
    meaning.sessions_add(converse(tmp_path / "b.jsonl", "> Parse the log file", "Done with a regular expression."))
    assert meaning.route("baking bread").forks[0].title == "The dough will not rise"


def test_no_search_shows_a_point_unless_it_is_asked_for(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES)
    query = "charges customers twice"
    assert points(engine)
    for answer in (
        engine.search(query, limit=100, track=False),
        engine.search("", limit=100, track=False),
        engine.search(query, limit=100, as_of="2026-10-05T09:30Z", track=False),
        engine.search(query, limit=100, as_of="2030-01-01", track=False),
        engine.search(query, limit=100, by="text", track=False),
    ):
        assert answer.hits
        assert not [hit.ref for hit in answer.hits if "checkpoints" in hit.ref]
    assert not [item for item in engine.list(limit=500) if item.fields.category == "checkpoint"]
    assert not [match for match in engine.grep("charges") if "checkpoints" in match.ref]
    assert not [event for event in engine.timeline(thread=CLAUDE, limit=500).events if "checkpoints" in event.ref]
    asked = engine.search(f"{query} category:checkpoint", track=False).hits
    assert {hit.ref.split("/")[2] for hit in asked} == {"checkpoints"}
    browsed = engine.search("category:checkpoint", limit=50, track=False).hits
    assert len(browsed) == len(
        engine.store.items.listing(Filters(categories=("checkpoint",), states=("archived",)), 50, 0)
    )


def test_points_do_not_change_what_words_are_worth_elsewhere(engine: Ricordo) -> None:
    engine.save("note:/bread", "Why does my sourdough rise too fast in the mountains?")
    before = engine.store.index.document_frequencies(["sourdough"])
    engine.sessions_add(FIXTURES / "chat.jsonl")
    total, found = engine.store.index.document_frequencies(["sourdough"])
    turns = sum(session.count for session in engine.sessions())
    assert total == before[0] + turns + len(engine.sessions())
    assert found["sourdough"] == 3, "the note, the turn and the session"


def test_going_on_repeating_and_thanks_make_no_points_of_their_own(engine: Ricordo, tmp_path: Path) -> None:
    path = converse(
        tmp_path / "talk.jsonl",
        "> Build the parser", "Started.",
        "> ok, continue please", "$ parser.py", "Built.",
        "> run the tests", "All pass.",
        "> thanks, great work!", "You are welcome.",
        "> Run the tests!", "All pass again.",
        "> Write the docs",
    )  # fmt: skip
    engine.sessions_add(path)
    assert points(engine) == {5: "Build the parser", 7: "run the tests"}
    assert engine.route("build a parser").forks[0].files == ("parser.py",)
    assert engine.route("run tests").forks[0].quality > 0.8


def test_a_growing_session_only_adds_points_and_moves_its_last_one(engine: Ricordo, tmp_path: Path) -> None:
    said = ["> Build the parser", "Started.", "$ parser.py", "Built.", "> Write the docs", "Written."]
    path = tmp_path / "talk.jsonl"
    for end in range(1, len(said) + 1):
        engine.sessions_add(converse(path, *said[:end]))
        grown = points(engine)
        assert len(grown) <= 2
    assert grown == {4: "Build the parser", 6: "Write the docs"}
    name = engine.sessions()[0].id
    assert len(engine.history(f"session:/{name}/checkpoints/1")) == 3
    engine.sessions_add(converse(path, *said, "> No, you forgot the examples."))
    assert engine.route("write the docs").forks[0].quality < 0.3
    assert len(engine.history(f"session:/{name}/checkpoints/5")) == 1, "what is said later makes no version"


def test_points_get_vectors_of_another_model_too(meaning: Ricordo, tmp_path: Path) -> None:
    meaning.sessions_add(converse(tmp_path / "a.jsonl", "> The dough will not rise", "Use more yeast."), wait=False)
    assert meaning.embed(status=True).to_dict()["pending"] == 4, "two turns, the session, and the point"
    meaning.store.jobs.drop_waiting(meaning.store.vectors.active_fingerprint() or "")
    assert meaning.embed(enqueue_only=True).enqueued == 4
    assert meaning.embed().embedded == 4
    assert meaning.doctor().ok


def test_a_task_that_no_session_has_to_do_with_gets_no_point(meaning: Ricordo, tmp_path: Path) -> None:
    meaning.sessions_add(converse(tmp_path / "a.jsonl", "> Add a login button to the front page", "Done, it signs in."))
    assert meaning.route("let people sign in on the home page").forks
    assert meaning.route("who won the football match on the weekend").forks == ()
