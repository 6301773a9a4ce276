"""What is found in a session by patterns, what is left out, and what the settings make of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Opener
from tests.plugins.lessons.conversations import Conversation

from ricordo import ConfigProvider, Ricordo
from ricordo.values.hits import Filters

MEMORIES = Filters(kinds=("memory",))
LINT = "Always run make lint before you commit."


@pytest.fixture
def talk(tmp_path: Path) -> Callable[..., Conversation]:
    """A session in a folder of its own, in which the user says some sentences one after the other."""

    def make(*said: str, folder: str = "work") -> Conversation:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        conversation = Conversation(place, tmp_path).user("Fix the login.").agent("It is fixed.")
        for text in said:
            conversation.user(text).agent("Done.")
        return conversation

    return make


def taught(engine: Ricordo, conversation: Conversation) -> list[str]:
    engine.sessions_add(str(conversation.write()))
    return [one.text for one in engine.review().proposals]


Talk = Callable[..., Conversation]


def test_a_session_that_goes_on_teaches_each_thing_once(open_engine: Opener, talk: Talk) -> None:
    engine, conversation = open_engine(), talk(LINT)
    report = engine.sessions_add(str(conversation.write()))
    assert report.notes == ("1 lesson is proposed: ricordo review",)
    conversation.user("We use pnpm, not npm.").user("please always run `make lint` before you commit")
    assert taught(engine, conversation) == [LINT, "We use pnpm, not npm."]


def test_what_is_stored_is_not_proposed_but_its_contrary_is(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine()
    engine.remember("Always run make lint before committing.")
    engine.remember("We deploy on Fridays, not on Mondays.")
    assert taught(engine, talk("Always run make lint before you commit.")) == []
    assert taught(engine, talk("Remember that we deploy on Mondays, not on Fridays.")) == [
        "We deploy on Mondays, not on Fridays."
    ]


def test_a_narrower_rule_is_not_dropped_beside_a_wider_one(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine()
    engine.remember("Never push to main.")
    assert taught(engine, talk("Never ever force-push to main.")) == ["Never ever force-push to main."]


def test_what_contradicts_a_memory_is_proposed_as_its_correction_and_takes_its_place(
    open_engine: Opener, talk: Talk
) -> None:
    engine = open_engine()
    stored = engine.remember("We deploy on Fridays, not on Mondays.")
    taught(engine, talk("Remember that we deploy on Mondays, not on Fridays."))
    (proposal,) = engine.review().proposals
    assert (proposal.kind, proposal.corrects) == ("correction", stored.ref)
    engine.review(proposal.ref, "accept")
    assert engine.get(stored.ref).state == "archived"
    (hit,) = engine.search("deploy", filters=MEMORIES).hits
    assert engine.get(hit.ref).content == proposal.text
    assert engine.get(hit.ref).fields.metadata["proposal"]["corrects"] == stored.ref


def test_what_is_kept_by_itself_replaces_no_memory(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine(**{"memory.capture": "accept"})
    stored = engine.remember("We deploy on Fridays, not on Mondays.")
    taught(engine, talk("Remember that we deploy on Mondays, not on Fridays."))
    assert engine.get(stored.ref).state == "live"


def test_at_most_five_are_proposed_for_a_session_and_the_weightiest_first(open_engine: Opener, talk: Talk) -> None:
    rules = [f"Always check the {name} before a release." for name in ("logs", "queues", "disks", "alarms", "backups")]
    said = [*rules, "Remember that the vault key of the shop is kept by Ada."]
    found = taught(open_engine(), talk(*said))
    assert len(found) == 5
    assert "The vault key of the shop is kept by Ada." in found


def test_nothing_is_captured_when_it_is_switched_off(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine(**{"memory.capture": "off"})
    assert taught(engine, talk(LINT)) == []
    assert len(engine.sessions()) == 1
    engine = open_engine("other")
    engine.sessions_add(str(talk(LINT).write()), capture=False)
    assert engine.review().proposals == ()


def test_nothing_is_captured_in_a_folder_that_is_left_alone(open_engine: Opener, talk: Talk, tmp_path: Path) -> None:
    engine = open_engine()
    (tmp_path / ".ricordoignore").write_text("private/\n")
    assert taught(engine, talk(LINT, folder="private")) == []
    secret = talk(LINT, folder="secret")
    (secret.folder / ".ricordoignore").write_text("*\n")
    assert taught(engine, secret) == []
    assert taught(engine, talk(LINT, folder="public")) == [LINT]


def test_a_session_of_another_project_teaches_this_one_only_what_is_about_the_user(tmp_path: Path, talk: Talk) -> None:
    (tmp_path / "shop" / ".ricordo").mkdir(parents=True)
    said = ["Never change the invoice template without asking Ada.", "I prefer tabs over spaces in every project."]
    config = ConfigProvider({"embedding.provider": "none"})
    with Ricordo.open(tmp_path / "shop" / ".ricordo" / "ricordo.db", config=config, start=tmp_path / "shop") as engine:
        assert [one.scope for one in engine.review().proposals] == []
        engine.sessions_add(str(talk(*said, folder="elsewhere").write()))
        assert {one.scope for one in engine.review().proposals} == {"user"}
        engine.sessions_add(str(talk(*said, folder="shop").write()))
        assert {one.scope for one in engine.review().proposals} == {"user", "project"}


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ("project", "Always use i18n keys for texts, never plain strings."),
        ("project", "Never drop indexes without asking Ada."),
        ("project", "Immer nur mit pnpm installieren, nie mit npm."),
        ("project", "Meinungen zu Tests stehen immer im Wiki, nie im Code."),
        ("project", "Nunca usa mixins en este proyecto, siempre funciones."),
        ("project", "Utilisez toujours pnpm, jamais npm."),
        ("project", "我们的项目总是用 pnpm，不要用 npm."),
        ("user", "Always answer my questions in German."),
        ("user", "Antworte mir immer auf Deutsch."),
        ("user", "Respóndeme siempre en español, mi idioma."),
        ("user", "我喜欢简短的回答，不要长篇大论。"),
    ],
)
def test_a_rule_is_for_every_project_only_if_whole_words_say_that_it_is_about_the_user(
    open_engine: Opener, talk: Talk, scope: str, said: str
) -> None:
    engine = open_engine()
    assert taught(engine, talk(said)) == [said]
    assert [one.scope for one in engine.review().proposals] == [scope]


def test_what_is_accepted_by_itself_is_marked_and_no_persons_word(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine(**{"memory.capture": "accept"})
    report = engine.sessions_add(str(talk(LINT).write()))
    assert report.notes == ("1 lesson is kept by itself",)
    assert engine.review().proposals == ()
    (hit,) = engine.search("make lint", filters=MEMORIES).hits
    item = engine.get(hit.ref)
    assert item.fields.metadata["proposal"]["accepted"] == "by itself"
    assert (item.provenance.author, item.provenance.name, item.vouched) == ("agent", "capture", None)
    assert item.provenance.via == "python"


def test_a_kind_is_kept_or_left_out_as_the_user_said(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine()
    taught(engine, talk(LINT))
    engine.review(engine.review().proposals[0].ref, "always")
    assert taught(engine, talk("Never push to the branch of others.")) == []
    assert len(engine.search("push branch", filters=MEMORIES).hits) == 1
    taught(engine, talk("We decided to stay on SQLite because it is fast enough."))
    engine.review(engine.review().proposals[0].ref, "never")
    assert taught(engine, talk("We decided to drop Windows because nobody uses it.")) == []


def test_secrets_never_enter_a_proposal(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine()
    said = talk(
        "Remember that the key of the bucket is AKIAIOSFODNN7EXAMPLE and it expires in May.",
        "Always log in with password=hunter2Zx9!kQ to the staging server.",
    )
    said.run("deploy --token ghp_16C7e42F292c6912E7710c838347Ae178B4a", "error: denied", failed=True)
    said.run("deploy --token-file ~/.token", "deployed")
    engine.sessions_add(str(said.write()), allow_secrets=True)
    assert engine.review().proposals == ()
    assert "AKIA" in engine.session(said.id).turns[2].text


@pytest.mark.parametrize("allow_secrets", [False, True])
def test_a_decision_beside_a_secret_is_proposed_and_quoted_without_it(
    open_engine: Opener, talk: Talk, allow_secrets: bool
) -> None:
    engine = open_engine()
    decision = "We decided to stay on SQLite because it is fast enough."
    said = talk(f"{decision} The password is hunter2-Kx9!vB7q.")
    engine.sessions_add(str(said.write()), allow_secrets=allow_secrets)
    (proposal,) = engine.review().proposals
    assert "stay on SQLite" in proposal.text
    assert "stay on SQLite" in proposal.quote
    assert not any(mark in proposal.quote for mark in ("hunter2", "redacted", "password"))


def test_a_command_that_worked_after_another_failed_is_proposed_unless_files_were_changed(
    open_engine: Opener, talk: Talk
) -> None:
    engine = open_engine()
    said = talk().run("python -m pytest", "No module named pytest", failed=True)
    assert taught(engine, said.run(".venv/bin/python -m pytest", "3 passed")) == [
        "`python -m pytest` fails (No module named pytest); `.venv/bin/python -m pytest` works."
    ]
    other = talk().run("make build-all", "error: missing semicolon", failed=True)
    other.tool("Edit", {"file_path": "/home/ada/a.c"}, "ok")
    taught(engine, other.run("make build", "ok"))
    assert not any("make build" in one.text for one in engine.review().proposals)


def test_a_quotation_begins_at_a_word(open_engine: Opener, talk: Talk) -> None:
    engine = open_engine()
    said = talk("I looked at the deployment pipeline for a long while. Always run the linter before you push to main.")
    engine.sessions_add(str(said.write()))
    (proposal,) = engine.review().proposals
    assert proposal.quote == "deployment pipeline for a long while. Always run the linter before you push to main."
