"""A question that was asked in many sessions still finds the page that answers it, and not itself."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ricordo import Filters, Ricordo
from ricordo.plugins.sessions.records_last import is_about_the_past
from ricordo.search.fit import FITS

SET = tomllib.loads(Path(__file__).with_name("asked_again.toml").read_text("utf-8"))
RIGHT = {question["text"]: f"note:/{question['page']}" for question in SET["questions"]}


@pytest.fixture
def pages(meaning: Ricordo) -> Ricordo:
    for name, page in SET["pages"].items():
        meaning.save(f"note:/{name}", page["text"], fields={"title": page["title"]}, wait=False)
    meaning.embed()
    return meaning


def talk(folder: Path, name: str, *turns: tuple[str, str]) -> Path:
    """A transcript; each turn is a role and what it says."""
    path = folder / f"{name}.jsonl"
    lines = [{"role": role, "content": text, "thread": name} for role, text in turns]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def add_asking_sessions(engine: Ricordo, folder: Path) -> None:
    """Sixteen sessions that ask the questions as they are and in other words, and get no answer."""
    folder.mkdir()
    for number in range(16):
        ways = [[*question["asked"], question["text"]] for question in SET["questions"]]
        turns = [("user", way[number % len(way)]) for way in ways]
        talk(folder, f"talk{number}", *[one for turn in turns for one in (turn, ("assistant", "I will look into it."))])
    engine.sessions_add(folder)


def firsts(engine: Ricordo) -> dict[str, str]:
    return {question: engine.search(question, track=False).hits[0].ref for question in RIGHT}


def test_the_right_page_stays_first_after_sixteen_sessions_that_only_asked_the_same(
    pages: Ricordo, tmp_path: Path
) -> None:
    assert firsts(pages) == RIGHT, "without any session"
    add_asking_sessions(pages, tmp_path / "talks")
    assert firsts(pages) == RIGHT


def test_context_tells_the_page_and_no_session_that_only_asked(pages: Ricordo, tmp_path: Path) -> None:
    add_asking_sessions(pages, tmp_path / "talks")
    for question, page in RIGHT.items():
        parts = [part.ref for part in pages.context(question).parts]
        assert parts[0] == page
        assert "session:/talk2" not in parts, "it asked the very same, among other things"


def test_a_session_is_judged_by_what_it_says_about_the_question_and_not_by_what_else_was_asked_in_it(
    pages: Ricordo, tmp_path: Path
) -> None:
    asked = "which varnish dries fastest on a sailing boat"
    others = [("user", question["text"]) for question in SET["questions"]]
    pages.sessions_add(talk(tmp_path, "asks", ("user", asked), *others))
    pages.sessions_add(talk(tmp_path, "tells", ("user", "On a sailing boat Epifanes 2K varnish dries in 9 h"), *others))
    found = pages.search(asked, track=False, limit=20)
    fits = {hit.ref.split("/")[1]: hit.fit or 0.0 for hit in found if hit.ref.startswith("session:/")}
    assert fits["asks"] < FITS <= fits["tells"]


def test_a_session_is_one_hit_and_shown_by_the_turn_that_answers(pages: Ricordo, tmp_path: Path) -> None:
    path = talk(
        tmp_path, "coffee",
        ("user", "Which coffee beans does the office order?"),
        ("assistant", "The office orders coffee beans from the roastery in Ghent, four kilos a month."),
        ("user", "And which coffee beans for the espresso machine of the office?"),
    )  # fmt: skip
    pages.sessions_add(path)
    for options in ({}, {"filters": Filters(kinds=("session",))}, {"sessions": True}):
        refs = [hit.ref for hit in pages.search("office coffee beans", track=False, **options)]
        assert [ref for ref in refs if ref.startswith("session:")] == ["session:/coffee/2"]
    assert len(pages.search("office coffee beans thread:coffee", track=False)) > 1, "a thread is shown whole"


def test_a_session_in_which_the_question_was_asked_is_shown_by_the_reply(meaning: Ricordo, tmp_path: Path) -> None:
    said = [("user", "Why does my bread rise too fast?"), ("assistant", "Use less leaven."), ("tool", "set 220")]
    meaning.sessions_add(talk(tmp_path, "baking", *said))
    (hit,) = meaning.search("why does the bread rise too fast", filters=Filters(kinds=("session",))).hits
    assert hit.ref == "session:/baking/2"


CERTIFICATE = (
    "In the developer portal: ask Ada for the second factor, renew it there, and put it into CI as MOBILE_CERT."
)


@pytest.mark.parametrize("vectors", [False, True])
def test_the_answer_of_a_session_is_shown_and_not_what_follows_its_list_of_requests(
    open_engine: Any, tmp_path: Path, *, vectors: bool
) -> None:
    said = [
        ("user", "List the open pull requests of the mobile app."),
        ("assistant", "There are four open pull requests of the mobile app, one of them about its certificate."),
        ("user", "Thanks. Now fix the flaky login test."),
        ("assistant", "The login test waits for the token now."),
        ("user", "How do we renew the signing certificate of the mobile app?"),
        ("assistant", CERTIFICATE),
    ]
    engine = open_engine(vectors=vectors)
    engine.sessions_add(talk(tmp_path, "mobile", *said))
    for asked in ("how do we renew the signing certificate of the mobile app", "renew certificate mobile app"):
        assert engine.search(asked, track=False).hits[0].ref == "session:/mobile/6"


@pytest.mark.parametrize("vectors", [False, True])
def test_a_message_that_lists_requests_has_its_answer_later(open_engine: Any, tmp_path: Path, *, vectors: bool) -> None:
    said = [
        ("user", "Three things:\n- fix the login test\n- how do we renew the signing certificate of the mobile app?"
         "\n- list the open pull requests of the mobile app"),
        ("assistant", "I start with the first one."),
        ("assistant", "The login test waits for the token now."),
        ("assistant", f"The signing certificate of the mobile app: {CERTIFICATE}"),
        ("assistant", "There are four open pull requests of the mobile app."),
    ]  # fmt: skip
    engine = open_engine(vectors=vectors)
    engine.sessions_add(talk(tmp_path, "mobile", *said))
    (hit,) = engine.search("how do we renew the signing certificate of the mobile app", track=False).hits
    assert hit.ref == "session:/mobile/4"
    engine.sessions_add(talk(tmp_path, "rules", ("user", "- we sign on Mondays\n- we never sign on a phone")))
    assert engine.search("on which day do we sign", track=False).hits[0].ref == "session:/rules/1", "a list may tell"


RULING = "Invoices are kept for seven years."


def test_of_a_session_the_turn_that_rules_is_shown_and_no_echo_of_the_agent(engine: Ricordo, tmp_path: Path) -> None:
    said = [
        ("user", "Look at the invoice module, please."),
        ("assistant", "It writes PDF files."),
        ("user", "how long do we keep invoices?"),
        ("assistant", "I don't know, the code does not say how long invoices are kept."),
        ("user", RULING),
        ("assistant", "Understood: invoices are kept for seven years, as you say."),
    ]
    engine.sessions_add(talk(tmp_path, "invoices", *said))
    asked = "how long are invoices kept"
    assert engine.search(asked, track=False).hits[0].ref == "session:/invoices/5"
    (part,) = engine.context(asked).parts
    assert part.ref == "session:/invoices/5"


def test_a_turn_or_a_list_of_requests_that_only_asks_is_never_told_whatever_it_asks(
    engine: Ricordo, tmp_path: Path
) -> None:
    other = "Where do invoices of customers in Norway go, and why does export.py fail with error 4012 for them?"
    engine.sessions_add(talk(tmp_path, "norway", ("user", other), ("assistant", "I will look.")))
    assert engine.context("invoices of customers in Norway").parts == ()
    assert engine.search("invoices of customers in Norway", track=False).hits, "it can still be found"
    engine.sessions_add(talk(tmp_path, "told", ("user", "Didn't invoices of customers in Norway move to Oslo?")))
    assert [part.ref for part in engine.context("invoices of customers in Norway").parts] == ["session:/told/1"]


def test_what_a_program_summed_up_and_what_it_read_of_a_stored_file_are_no_answers(
    engine: Ricordo, tmp_path: Path
) -> None:
    page = tmp_path / "limits.md"
    page.write_text("The retry limit of the payments is three.\n", encoding="utf-8")
    lines: list[dict[str, Any]] = [
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": f"Summary: {RULING}"}},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": str(page)}}],
            },
        },
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": f"     1\t{page.read_text()}"}],
            },
        },
    ]
    about = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "parentUuid": None}
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps({**about, "uuid": str(n), **line}) + "\n" for n, line in enumerate(lines)))
    engine.sessions_add(path)
    asked = "the retry limit of the payments"
    assert [part.ref for part in engine.context(asked).parts] == ["session:/s/3"], "the file is not stored"
    engine.add(page)
    assert [part.ref.partition(":")[0] for part in engine.context(asked).parts] == ["disk"]
    assert [part.ref.partition(":")[0] for part in engine.context("what did we read of the retry limit").parts] == [
        "disk"
    ]
    assert RULING not in engine.context("how long are invoices kept").text


def test_lately_is_one_line_for_each_session_with_what_was_decided_or_done(engine: Ricordo, tmp_path: Path) -> None:
    for name, *turns in (
        ("ruled", ("user", "keep invoices?"), ("user", RULING), ("assistant", "Noted."), ("user", "thanks")),
        ("made", ("user", "Fix the login."), ("assistant", "The login works again.")),
    ):
        engine.sessions_add(talk(tmp_path, name, *turns))
    engine.remember("The office is in Porto.")
    text = engine.context("", recent=True).text
    lines = [line.partition(" ")[2].split(" ", 2)[2] for line in text.splitlines() if line.startswith("- ")]
    kept = "remembered memory:/the-office-is-in-porto The office is in Porto."
    assert sorted(lines) == [f"decided {RULING}", "done The login works again.", kept]


def test_a_session_that_tells_something_comes_before_one_that_only_asks(pages: Ricordo, tmp_path: Path) -> None:
    pages.sessions_add(talk(tmp_path, "asks", ("user", "which coffee beans does the office order?")))
    pages.sessions_add(
        talk(tmp_path, "tells", ("user", "Didn't you know? Coffee for the office comes from Ghent since 2024."))
    )
    found = pages.search("which coffee beans does the office order", track=False, limit=20).hits
    refs = [hit.ref for hit in found]
    assert refs.index("session:/tells/1") < next(n for n, ref in enumerate(refs) if ref.startswith("session:/asks"))
    asks = next(hit for hit in found if hit.ref.startswith("session:/asks"))
    assert (asks.fit or 0.0) < FITS, "it says nothing but what was asked"
    assert "session:/asks" not in pages.context("which coffee beans does the office order").text


def test_sources_that_fit_come_first_unless_sessions_are_asked_for(pages: Ricordo, tmp_path: Path) -> None:
    said = "The database backups end up in the cellar, because backups of the database are too large for Frankfurt."
    pages.sessions_add(talk(tmp_path, "cellar", ("user", "hello there"), ("assistant", said)))
    asked = "where do backups of the database end up"

    def first(query: str, **options: bool) -> str:
        return pages.search(query, track=False, **options).hits[0].ref  # type: ignore[arg-type]

    assert first(asked) == "note:/nightly-copies"
    assert first(asked, sessions=True) == "session:/cellar/2"
    assert first(f"{asked} kind:session") == "session:/cellar/2"
    assert first("what did we say about where backups of the database end up") == "session:/cellar/2"
    scores = [hit.score for hit in pages.search(asked, track=False)]
    assert scores == sorted(scores, reverse=True)


def test_a_session_comes_first_where_no_source_fits(pages: Ricordo, tmp_path: Path) -> None:
    pages.sessions_add(
        talk(tmp_path, "boat", ("assistant", "The varnish of the sailing boat dries in nine hours when it is warm."))
    )
    assert pages.search("how long does varnish on a sailing boat dry", track=False).hits[0].ref == "session:/boat/1"


def test_no_page_is_lost_in_a_crowd_of_sessions(pages: Ricordo, tmp_path: Path) -> None:
    question = "on which weekday do we deploy"
    folder = tmp_path / "crowd"
    folder.mkdir()
    for number in range(50):
        talk(folder, f"crowd{number}", *[("user", question)] * 3)
    pages.sessions_add(folder)
    assert pages.search(question, track=False).hits[0].ref == "note:/deploying"


def test_the_explanation_says_why_a_session_stands_behind_and_why_a_turn_is_not_shown(
    pages: Ricordo, tmp_path: Path
) -> None:
    said = "The backups of the database end up in the cellar."
    pages.sessions_add(talk(tmp_path, "cellar", ("assistant", said), ("assistant", f"As I said: {said}")))
    asked = "where do backups of the database end up"
    found = {ref: pages.explain(asked, ref) for ref in ("session:/cellar/1", "session:/cellar/2")}
    shown, hidden = sorted(found.values(), key=lambda one: not one.found)
    assert shown.hit is not None
    assert shown.hit.explain is not None
    assert any("sources that fit come before sessions" in step for step, _ in shown.hit.explain.steps)
    assert "another turn of its session" in hidden.reason


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("what did we decide about the cache", True),
        ("have you fixed the login", True),
        ("what happened to the build yesterday", True),
        ("was haben wir gestern gemacht", True),
        ("how is the cache cleared", False),
        ("how long does varnish on a boat dry", False),
        ("wo ist hier der Schalter", False),
        ("where are backups kept", False),
        ("which tests do we run", False),
    ],
)
def test_questions_about_what_was_done_are_told_from_others(question: str, past: bool) -> None:
    assert is_about_the_past(question) == past


def test_a_session_of_the_project_comes_after_the_users_own_page_that_fits(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / ".ricordo").mkdir(parents=True)
    with Ricordo.open(start=tmp_path) as own:
        own.save("note:/varnish", "Varnish of a sailing boat dries in nine hours when it is warm.")
    with Ricordo.open(start=folder) as memory:
        memory.save("note:/other", "Interviews last an hour.")
        memory.sessions_add(
            talk(tmp_path, "boat", ("assistant", "How long varnish on a sailing boat dries: a day, Ada says."))
        )
        asked = "how long does varnish on a sailing boat dry"
        found = [hit.ref for hit in memory.search(asked, track=False)]
        assert found[:2] == ["note:/varnish", "session:/boat/1"]
        assert memory.search(asked, track=False, sessions=True).hits[0].ref == "session:/boat/1"


def test_a_search_that_finds_no_session_does_not_even_import_what_places_them(tmp_path: Path) -> None:
    script = f"""
import sys
from ricordo import Config, Ricordo
from ricordo.config.settings import EmbeddingSettings
with Ricordo.open({str(tmp_path / "s.db")!r}, config=Config(embedding=EmbeddingSettings(provider="none"))) as engine:
    engine.save("note:/keys", "The keys of the server are rotated in May.")
    assert len(engine.search("keys of the server").hits) == 1
    print("ricordo.plugins.sessions.records_last" in sys.modules)
    engine.save("session:/talk/1", "We keep the keys of the server in the safe.")
    assert len(engine.search("keys of the server").hits) == 2
    print("ricordo.plugins.sessions.records_last" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
