"""Why a line is there: from a line to its commit, its turn, the request, and what the agent had been told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.git.conftest import Checkout, Opened
from tests.server.http_sites import make_site

from ricordo import Forbidden, NotFound, Ricordo, UsageError, told_log
from ricordo.cli.program import program
from ricordo.config.files import standing_in
from ricordo.mcp_server.core_tools import get
from ricordo.permissions import asked_with
from ricordo.values.provenance import AGENT, Provenance, stored

SESSION = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c77"
LATER = "4f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c78"
BEGAN = datetime(2026, 10, 5, 9, tzinfo=UTC)
PAY = (
    'def pay(order):\n    total = sum(order.prices)\n    for attempt in range(3):\n        call_bank(total, key="eu")\n'
)
ASKED = "Hello. The bank drops calls on Mondays: let pay try three attempts. Thanks!"


class Talk:
    """A transcript as Claude Code writes it: each thing that is said or done comes a minute after the one before."""

    def __init__(self, top: Path, session: str = SESSION, began: datetime = BEGAN) -> None:
        self.top, self.session, self.at = top, session, began
        self.lines: list[dict[str, Any]] = []

    def line(self, kind: str, content: object, **more: Any) -> Talk:
        self.at += timedelta(minutes=1)
        self.lines.append({
            "type": kind, "sessionId": self.session, "cwd": str(self.top), "gitBranch": "main", **more,
            "uuid": f"{self.session}-{len(self.lines)}", "timestamp": self.at.isoformat().replace("+00:00", "Z"),
            "message": {"role": kind, "content": content},
        })  # fmt: skip
        return self

    def asks(self, text: str) -> Talk:
        return self.line("user", text)

    def calls(self, tool: str, told: object = None, *, failed: bool = False, **given: str) -> Talk:
        name = f"toolu_{len(self.lines)}"
        self.line("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": given}])
        result = {"type": "tool_result", "tool_use_id": name, "content": "done", "is_error": failed}
        return self.line("user", [result], **({"toolUseResult": told} if told else {}))

    def writes(self, name: str, text: str) -> Talk:
        return self.calls("Write", file_path=str(self.top / name), content=text)

    def edits(self, name: str, old: str, new: str, *, failed: bool = False) -> Talk:
        return self.calls("Edit", file_path=str(self.top / name), old_string=old, new_string=new, failed=failed)

    def add_to(self, engine: Ricordo, folder: Path) -> None:
        path = folder / f"{self.session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        engine.sessions_add(path)


@pytest.fixture
def shop(main: Checkout) -> Checkout:
    main.commit("Add payments", when="2026-10-05T10:00:00Z", pay__py=PAY)
    return main


@pytest.fixture
def engine(shop: Checkout, opened: Opened) -> Iterator[Ricordo]:
    with standing_in(shop.top):
        yield opened(shop)


@pytest.fixture
def talk(shop: Checkout) -> Talk:
    return Talk(shop.top).asks(ASKED).writes("pay.py", PAY)


def turns_of(engine: Ricordo, place: str) -> list[str]:
    return [turn.ref for cause in engine.blame(place).causes for turn in cause.turns[:1] if turn.match != "file"]


def told(engine: Ricordo, ref: str, at: datetime, monkeypatch: pytest.MonkeyPatch, session: str = SESSION) -> None:
    """A hook tells an item in a session."""
    asker = stored(Provenance(AGENT, "claude-code", session, "hook"))
    with monkeypatch.context() as clock:
        clock.setattr("time.time", at.timestamp)
        told_log.note("UserPromptSubmit", engine.location, [ref], asker=asker)


def remembered(engine: Ricordo, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A memory that is older than the sessions."""
    with monkeypatch.context() as clock:
        clock.setattr("time.time_ns", lambda: int((BEGAN - timedelta(days=1)).timestamp() * 1e9))
        return engine.remember(text, on_duplicate="save").ref


def test_a_line_has_its_commit_the_turn_that_wrote_it_and_the_sentence_that_asked(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    talk.add_to(engine, tmp_path)
    (cause,) = engine.blame("pay.py:3").causes
    assert (cause.file, cause.first, cause.last, cause.text) == ("pay.py", 3, 3, "    for attempt in range(3):")
    assert (cause.commit, cause.author, cause.summary) == (shop.git("rev-parse", "HEAD"), "Ada", "Add payments")
    (turn,) = cause.turns
    assert (turn.ref, turn.tool, turn.match) == (f"session:/{SESSION}/2", "Write", "line")
    assert turn.asked == "The bank drops calls on Mondays: let pay try three attempts."
    assert turn.request == f"session:/{SESSION}/1"


def test_lines_of_one_turn_and_commit_are_one_answer_and_a_later_edit_is_another(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    talk.asks("Five attempts.").edits("pay.py", "    for attempt in range(3):", "    for attempt in range(5):")
    talk.add_to(engine, tmp_path)
    shop.commit("Five", when="2026-10-05T11:00:00Z", pay__py=PAY.replace("3", "5"))
    causes = engine.blame("pay.py:1-4").causes
    assert [(cause.first, cause.last, cause.summary, cause.turns[0].turn) for cause in causes] == [
        (1, 2, "Add payments", 2), (3, 3, "Five", 5), (4, 4, "Add payments", 2),
    ]  # fmt: skip
    assert causes[1].turns[0].asked == "Five attempts."


def test_a_line_is_known_again_after_it_was_wrapped_indented_and_quoted_anew(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    talk.add_to(engine, tmp_path)
    formatted = PAY.replace(
        '        call_bank(total, key="eu")', "      call_bank(\n          total,\n          key='eu',\n      )"
    )
    shop.commit("Format", when="2026-10-06T10:00:00Z", pay__py=formatted)
    (cause,) = engine.blame("pay.py:5").causes
    assert cause.text == "          total,"
    assert (cause.turns[0].turn, cause.turns[0].match) == (2, "reformatted")
    assert turns_of(engine, "pay.py:7") == [f"session:/{SESSION}/2"]  # a bracket alone


def test_a_line_that_moved_to_another_file_keeps_its_turn(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    talk.add_to(engine, tmp_path)
    shop.git("mv", "pay.py", "bank.py")
    shop.commit("Move", when="2026-10-06T10:00:00Z")
    (cause,) = engine.blame("bank.py:3").causes
    assert (cause.turns[0].turn, cause.name_then, cause.summary) == (2, "pay.py", "Add payments")


def test_of_two_sessions_with_the_same_line_the_one_with_the_same_neighbours_is_first(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    refund = "\ndef refund(order):\n    if not order:\n        return\n"
    refund += "    for attempt in range(3):\n        give_back(order)\n"
    talk.add_to(engine, tmp_path)
    later = Talk(shop.top, LATER, BEGAN + timedelta(days=1)).asks("Refunds, too.")
    last = '        call_bank(total, key="eu")\n'
    later.edits("pay.py", last, last + refund).add_to(engine, tmp_path)
    shop.commit("Refunds", when="2026-10-06T10:00:00Z", pay__py=PAY + refund)
    assert turns_of(engine, "pay.py:3") == [f"session:/{SESSION}/2"]
    assert turns_of(engine, "pay.py:9") == [f"session:/{LATER}/2"]


def test_what_came_after_the_commit_and_an_edit_that_failed_wrote_nothing(
    engine: Ricordo, shop: Checkout, tmp_path: Path
) -> None:
    Talk(shop.top).asks("Try.").edits("pay.py", "nothing", PAY, failed=True).add_to(engine, tmp_path)
    Talk(shop.top, LATER, BEGAN + timedelta(days=2)).asks("Later.").writes("pay.py", PAY).add_to(engine, tmp_path)
    report = engine.blame("pay.py:3")
    assert [turn.ref for turn in report.causes[0].turns] == []
    assert any("no stored turn wrote line 3" in note and "sessions add" in note for note in report.notes)


def test_an_uncommitted_line_has_the_turn_that_wrote_it_and_no_commit(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    talk.asks("Log it.").edits("pay.py", '        call_bank(total, key="eu")', "        log(total)")
    talk.add_to(engine, tmp_path)
    shop.write("pay.py", PAY.replace('call_bank(total, key="eu")', "log(total)"))
    report = engine.blame("pay.py:4")
    assert (report.causes[0].commit, report.causes[0].turns[0].turn) == ("", 5)
    assert any("not committed yet" in note for note in report.notes)


def test_patches_shell_commands_and_what_claude_code_tells_of_an_edit_are_read(
    engine: Ricordo, shop: Checkout, tmp_path: Path
) -> None:
    files = {"a.py": "alpha = compute_alpha(1)\n", "b.py": "beta = compute_beta(2)\n", "c.py": "gamma = make(3)\n"}
    talk = Talk(shop.top).asks("Write three files.")
    talk.calls("apply_patch", input=f"*** Begin Patch\n*** Add File: a.py\n+{files['a.py']}*** End Patch")
    talk.calls("Bash", command=f"cat > b.py <<'EOF'\n{files['b.py']}EOF")
    hunk = {"oldStart": 1, "lines": ["-gamma = make(1)", f"+{files['c.py'].strip()}"]}
    told_of = {"filePath": str(shop.top / "c.py"), "structuredPatch": [hunk]}
    talk.calls("Edit", told_of, file_path=str(shop.top / "c.py"), old_string="make(1)", new_string="make(3)")
    talk.add_to(engine, tmp_path)
    for name, text in files.items():
        shop.write(name, text)
    assert [turns_of(engine, f"{name}:1") for name in files] == [[f"session:/{SESSION}/{n}"] for n in (2, 4, 6)]


def test_what_the_agent_had_been_told_is_shown_in_the_version_of_that_day(
    engine: Ricordo, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = remembered(engine, "The bank drops calls: three attempts.", monkeypatch)
    after = remembered(engine, "Refunds take a week.", monkeypatch)
    elsewhere = remembered(engine, "The office closes at six.", monkeypatch)
    told(engine, ref, BEGAN + timedelta(minutes=1), monkeypatch)
    told(engine, after, BEGAN + timedelta(hours=3), monkeypatch)
    told(engine, elsewhere, BEGAN + timedelta(minutes=1), monkeypatch, LATER)
    talk.add_to(engine, tmp_path)
    engine.save(ref, "The bank drops calls: five attempts.", on_conflict="overwrite")
    (one,) = engine.blame("pay.py:3").causes[0].turns[0].told
    assert (one.ref, one.version, one.text) == (ref, 1, "The bank drops calls: three attempts.")
    assert (one.since, one.through) == ("changed: now version 2", "UserPromptSubmit")


def test_lines_that_rest_on_a_corrected_memory_are_listed_with_what_it_said_and_says(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = remembered(engine, "The bank drops calls: three attempts.", monkeypatch)
    other = remembered(engine, "Receipts are printed twice.", monkeypatch)
    talk.add_to(engine, tmp_path)
    told(engine, ref, talk.at, monkeypatch)
    told(engine, other, talk.at, monkeypatch)
    talk.asks("And refunds.").writes("refund.py", "def refund(order):\n    give_back(order.total)\n")
    talk.add_to(engine, tmp_path)
    shop.write("refund.py", "def refund(order):\n    give_back(order.total)\n")
    corrected = engine.correct(ref, "The bank answers now: one attempt is enough.")
    report = engine.blame(rests_on=ref)
    assert [(one.file, one.first, one.last, one.turns[0].turn) for one in report.causes] == [("refund.py", 1, 2, 5)]
    (what,) = report.corrections
    assert (what.was, what.now) == (
        "The bank drops calls: three attempts.", "The bank answers now: one attempt is enough.",
    )  # fmt: skip
    assert engine.blame(rests_on=corrected.ref).causes == report.causes, "by the new memory, too"
    still = engine.blame(rests_on=other)
    assert not still.causes
    assert any("was not corrected" in note for note in still.notes)


def test_what_is_not_known_is_said_with_a_next_step(engine: Ricordo, shop: Checkout, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pay\.py has 4 lines, and no line 9"):
        engine.blame("pay.py:9")
    with pytest.raises(NotFound, match="there is no file"):
        engine.blame("gone.py:1")
    assert any("no session is stored" in note for note in engine.blame("pay.py:1").notes)
    shop.write("new.py", "x = 1\n")
    assert any("in no commit yet" in note for note in engine.blame("new.py:1").notes)
    outside = tmp_path / "alone" / "a.py"
    outside.parent.mkdir()
    outside.write_text("x = 1\n")
    assert any("in no git repository" in note for note in engine.blame(f"{outside}:1").notes)


def test_the_command_shows_a_line_with_its_causes(engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path) -> None:
    talk.add_to(engine, tmp_path)
    engine.close()
    with standing_in(shop.top):
        shown = CliRunner().invoke(program, ["blame", "pay.py:3"])
        plain = CliRunner().invoke(program, ["blame", "pay.py:3", "--json"])
    assert shown.exit_code == 0, shown.output
    assert f"turn    session:/{SESSION}/2" in shown.output
    assert "asked   The bank drops calls on Mondays" in shown.output
    assert json.loads(plain.stdout)["data"]["causes"][0]["turns"][0]["turn"] == 2


def test_an_agent_that_gets_a_line_reads_why_it_is_there_and_one_over_a_network_does_not(
    engine: Ricordo, shop: Checkout, talk: Talk, tmp_path: Path
) -> None:
    talk.add_to(engine, tmp_path)
    engine.save("agent:/plan", "The plan.")
    plan, line = get.run(engine, refs=["agent:/plan", "pay.py:3"])["items"]
    assert plan["content"] == "The plan."
    (cause,) = line["causes"]
    assert (line["ref"], cause["turns"][0]["ref"]) == ("pay.py:3", f"session:/{SESSION}/2")
    assert get.run(engine, refs=["agent:/plan", "gone.py:3"])["missing"][0]["ref"] == "gone.py:3"
    (beyond,) = get.run(engine, refs=["agent:/plan", "pay.py:99"])["missing"]
    assert beyond["message"] == "pay.py has 4 lines, and no line 99"
    with pytest.raises(UsageError, match="no line 99"):
        get.run(engine, refs=["pay.py:99"])
    with asked_with("read"):
        with pytest.raises(NotFound):
            get.run(engine, refs=["pay.py:3"])
        with pytest.raises(Forbidden, match=r"pay\.py"):
            engine.blame("pay.py:3")


def test_the_page_of_a_file_shows_its_lines_with_their_causes_to_those_who_may_read_files(tmp_path: Path) -> None:
    shop = Checkout(tmp_path / "shop")
    shop.top.mkdir()
    shop.git("init", "-q", "-b", "main")
    shop.commit("Add payments", when="2026-10-05T10:00:00Z", pay__py=PAY)
    site = make_site(tmp_path)
    try:
        Talk(shop.top).asks(ASKED).writes("pay.py", PAY).add_to(site.engine, tmp_path)
        shop.commit("By hand", when="2026-10-06T10:00:00Z", pay__py=f"import bank\n\n{PAY}")
        site.engine.add(shop.top / "pay.py")
        address = "/lines?ref=disk:" + str(shop.top / "pay.py")
        shown = site.client.get(address).text
        assert "Add payments" in shown
        assert "By hand" in shown
        assert f"/session?id={SESSION}&amp;turn=2#turn-2" in shown
        assert "let pay try three attempts" in shown
        assert "Why these lines" in site.client.get(address.replace("/lines", "/item")).text
        assert site.as_scope("write").get(address).status_code == 403
    finally:
        site.serving.close()
