"""What should be done about a memory is found, suggested, done on request, and undone as one step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.memory.conftest import Opens

from ricordo.engine.ricordo import Ricordo
from ricordo.errors import UsageError
from ricordo.speaking import as_agent
from ricordo.values.log import finding_kinds

FRIDAY = "We deploy the billing service on Fridays."
TUESDAY = "We deploy the billing service on Tuesdays."


def found(engine: Ricordo, kind: str) -> list[tuple[str, ...]]:
    return [one.refs for one in engine.review(kinds=(kind,)).findings]


def live(engine: Ricordo) -> set[str]:
    return {str(item.ref) for item in engine.list()}


def test_nothing_is_found_in_memories_that_are_all_right(opens: Opens) -> None:
    engine = opens()
    engine.remember("The office is in Porto.")
    engine.remember("The database listens on port 5432.")
    report = engine.review()
    assert (report.findings, dict(report.counts), report.done) == ((), {}, ())


def test_memories_that_say_the_same_are_found_and_the_older_is_archived_and_linked(opens: Opens) -> None:
    engine = opens()
    text = "The nightly backup of the billing database is written to the second data centre in Porto."
    engine.remember(text, ref="memory:/a")
    engine.save("memory:/b", text.upper())
    assert found(engine, "duplicates") == [("memory:/a", "memory:/b")]
    report = engine.review("duplicates", "accept")
    assert [(one.ref, one.status) for one in report.done] == [("memory:/a", "archived")]
    assert live(engine) == {"memory:/b"}
    assert engine.review().findings == ()
    engine.undo()
    assert live(engine) == {"memory:/a", "memory:/b"}


def test_many_findings_of_one_kind_do_not_hide_those_of_others(opens: Opens) -> None:
    engine = opens()
    for number in range(6):
        engine.remember(f"Freeze {number}.", ref=f"memory:/freeze-{number}", valid_until="2020-01-31")
    engine.remember(FRIDAY, ref="memory:/a")
    with as_agent():
        engine.remember(TUESDAY, ref="memory:/b", on_duplicate="save")
    report = engine.review(limit=4)
    assert [one.kind for one in report.findings] == ["expired"] * 3 + ["contradictions"]
    assert report.counts == {"expired": 6, "contradictions": 1}


def test_contradictions_are_found_also_after_an_edit(opens: Opens) -> None:
    engine = opens()
    engine.remember(FRIDAY, ref="memory:/a")
    engine.remember("We bake the bread in the morning.", ref="memory:/b")
    assert found(engine, "contradictions") == []
    engine.edit("memory:/b", content=TUESDAY)
    [one] = engine.review(kinds=("contradictions",)).findings
    assert one.refs == ("memory:/a", "memory:/b")
    assert one.why == "The newer contradicts the older: another weekday."
    engine.review(one.id, "accept")
    assert live(engine) == {"memory:/b"}


def test_a_contradiction_that_a_person_kept_when_saving_is_not_listed_and_one_of_an_agent_is(opens: Opens) -> None:
    engine = opens()
    engine.remember(FRIDAY, ref="memory:/a")
    engine.remember(TUESDAY, ref="memory:/b", on_duplicate="save")
    assert found(engine, "contradictions") == []
    with as_agent("claude-code"):
        engine.remember("The office is in Lisbon.", ref="memory:/c")
        engine.remember("The office is in Porto.", ref="memory:/d", on_duplicate="save")
    assert found(engine, "contradictions") == [("memory:/c", "memory:/d")]


def test_keeping_both_of_a_pair_is_remembered_for_good(opens: Opens) -> None:
    engine = opens()
    engine.remember("We bake the bread in the morning.", ref="memory:/a")
    engine.remember(FRIDAY, ref="memory:/b")
    engine.edit("memory:/a", content=TUESDAY)
    [one] = engine.review(kinds=("contradictions",)).findings
    [done] = engine.review(one.id, "refuse").done
    assert (done.status, done.reason) == ("unchanged", f"kept beside {one.refs[1]}")
    assert engine.review().findings == ()
    assert opens().review().findings == ()
    engine.edit("memory:/a", fields={"tags": ["plan"]})
    assert engine.review().findings == ()
    engine.undo()
    engine.undo()
    assert found(engine, "contradictions") == [one.refs]


def test_only_identical_texts_are_archived_together(opens: Opens) -> None:
    engine = opens()
    engine.remember("Priya reviews all auth changes.", ref="memory:/a")
    with as_agent():
        engine.remember("Auth changes must be reviewed by Priya.", ref="memory:/b", on_duplicate="save")
    engine.remember("The host db1 has 64 GB of memory.", ref="memory:/c")
    engine.remember("The host db2 has 64 GB of memory.", ref="memory:/d")
    [one] = engine.review(kinds=("duplicates",)).findings
    assert set(one.refs) == {"memory:/a", "memory:/b"}
    [done] = engine.review("duplicates", "accept").done
    assert (done.status, done.reason) == ("skipped", f"look at it first, then: ricordo review {one.id} accept")
    engine.review(one.id, "accept")
    assert live(engine) == {"memory:/b", "memory:/c", "memory:/d"}


def test_what_held_until_a_past_date_is_archived(opens: Opens) -> None:
    engine = opens()
    engine.remember("The freeze holds.", ref="memory:/freeze", valid_until="2020-01-31")
    engine.remember("The thaw holds.", ref="memory:/thaw", valid_until="2020-01-31", decay_protected=True)
    [one] = engine.review(kinds=("expired",)).findings
    assert (one.refs, one.why) == (("memory:/freeze",), "It held until 2020-01-31.")
    engine.review("expired", "accept")
    assert live(engine) == {"memory:/thaw"}


def test_what_an_agent_made_of_a_rule_of_the_users_is_judged_only_once_the_user_accepted_it(opens: Opens) -> None:
    engine = opens()
    engine.remember(FRIDAY, ref="memory:/deploy", loading="always")
    engine.remember("The freeze holds.", ref="memory:/freeze", valid_until="2020-01-31")
    engine.remember("We bake the bread in the morning.", ref="memory:/bread", loading="always")
    with as_agent():
        engine.edit("memory:/deploy", fields={"valid_until": "2020-01-31"})
        engine.edit("memory:/freeze", fields={"valid_until": None})
        engine.edit("memory:/bread", content=TUESDAY)
        engine.link("memory:/bread", "memory:/deploy", "contradicts")
    assert [(one.kind, one.refs) for one in engine.review().findings] == [("expired", ("memory:/freeze",))]
    engine.review("memory:/deploy", "accept")
    engine.review("memory:/bread", "accept")
    engine.review("memory:/freeze", "accept")
    assert {(one.kind, one.refs) for one in engine.review().findings} == {
        ("expired", ("memory:/deploy",)),
        ("contradictions", ("memory:/deploy", "memory:/bread")),
    }


def test_a_secret_that_is_taken_out_of_an_agents_text_does_not_make_it_the_users(opens: Opens) -> None:
    engine = opens()
    engine.remember("The key is elsewhere.", ref="memory:/key", loading="always")
    with as_agent(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("ricordo.secrets.redaction.redact_item", lambda kind, text, fields, **_: (text, fields, []))
        engine.edit("memory:/key", content="The key is AKIAIOSFODNN7EXAMPLE.")
    engine.review("secrets", "accept")
    key = engine.get("memory:/key")
    assert (key.content, key.provenance.author, key.vouched) == ("The key is [redacted: aws key].", "agent", 1)


def test_what_nobody_used_for_a_year_is_found(opens: Opens, later: Callable[[float], None]) -> None:
    engine = opens()
    engine.remember("The office is in Porto.", ref="memory:/office")
    assert found(engine, "unused") == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ricordo.plugins.upkeep.findings.UNUSED_DAYS", -1)
        assert found(engine, "unused") == [("memory:/office",)]


def test_secrets_that_are_known_only_later_are_taken_out(opens: Opens) -> None:
    engine = opens()
    engine.remember("The key is AKIAIOSFODNN7EXAMPLE.", ref="memory:/key", allow_secrets=True)
    [one] = engine.review(kinds=("secrets",)).findings
    assert (one.refs, one.why) == (("memory:/key",), "Its text holds what looks like a secret (aws key).")
    engine.review("secrets", "accept")
    assert engine.get("memory:/key").content == "The key is [redacted: aws key]."


def test_a_memory_whose_file_is_gone_is_archived_and_a_changed_one_can_be_confirmed(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for name in ("lost.py", "other.py"):
        (project / name).write_text(f"print('{name}')\n")
    monkeypatch.chdir(project)
    engine = opens()
    engine.remember("The entry point is lost.py.", ref="memory:/lost")
    engine.remember("The settings are read in other.py.", ref="memory:/other")
    assert engine.review().findings == ()
    (project / "lost.py").unlink()
    (project / "other.py").write_text("print('something else')\n")
    report = engine.review()
    assert [(one.kind, one.refs) for one in report.findings] == [
        ("gone", ("memory:/lost",)),
        ("changed", ("memory:/other",)),
    ]
    engine.review("gone", "accept")
    engine.review("changed", "accept")
    assert live(engine) == {"memory:/other"}
    assert engine.review().findings == ()


def test_a_renamed_file_is_moved_and_not_gone(opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "old.py").write_text("print('the same text')\n")
    monkeypatch.chdir(project)
    engine = opens()
    engine.remember("The entry point is old.py.", ref="memory:/entry")
    (project / "old.py").rename(project / "new.py")
    [one] = engine.review().findings
    assert (one.kind, one.why) == ("changed", "What it cites is no longer as it was: old.py: moved to new.py.")
    engine.review(one.id, "accept")
    assert engine.review().findings == ()
    cited = engine.get("memory:/entry").fields.metadata["citations"]
    assert [part["path"] for part in cited] == ["new.py"]


def test_a_finding_that_changed_since_the_look_is_skipped_with_a_word(opens: Opens) -> None:
    engine = opens()
    engine.remember("The freeze holds.", ref="memory:/freeze", valid_until="2020-01-31")
    [one] = engine.review().findings
    engine.edit("memory:/freeze", fields={"valid_until": None})
    [done] = engine.review(one.id, "accept").done
    assert (done.status, done.reason) == (
        "skipped",
        "there is no such finding now: it was dealt with, or changed",
    )


def test_an_unknown_kind_is_refused_and_the_kinds_are_named(opens: Opens) -> None:
    with pytest.raises(UsageError) as refused:
        opens().review(kinds=("everything",))
    assert all(kind in str(refused.value) + str(refused.value.hint) for kind in finding_kinds())


def test_findings_are_accepted_or_refused_and_nothing_else(opens: Opens) -> None:
    with pytest.raises(UsageError, match="accepted, or refused"):
        opens().review("expired", "never")
