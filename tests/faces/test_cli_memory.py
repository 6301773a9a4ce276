"""The verbs for what agents learn, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(autouse=True)
def by_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")


def test_remember_answers_in_the_shape_of_all_saving_verbs(house: Any) -> None:
    data = house.json("remember", "The", "keys", "rotate", "quarterly.", "--tag", "ops")
    assert {name: data[name] for name in ("created", "updated", "skipped", "failed")} == {
        "created": 1, "updated": 0, "skipped": 0, "failed": 0,
    }  # fmt: skip
    (item,) = data["items"]
    assert (item["ref"], item["status"], item["version"]) == ("memory:/the-keys-rotate-quarterly", "created", 1)
    assert item["previous_version"] is None
    assert len(item["content_hash"]) == 64
    assert house.json("get", item["ref"])["tags"] == ["ops"]


@pytest.mark.parametrize("kind", ["note", "entity", "resource", "entry"])
def test_each_kind_has_its_drive(house: Any, kind: str) -> None:
    data = house.json("remember", "--kind", kind, "-", "--title", "Ada Lovelace", stdin="first line\nsecond line\n")
    assert data["items"][0]["ref"] == f"{kind}:/ada-lovelace"
    item = house.json("get", f"{kind}:/ada-lovelace")
    assert (item["kind"], item["content"]) == (kind, "first line\nsecond line")


def test_every_field_has_its_option(house: Any) -> None:
    house.run("remember", "The target.", "--as", "memory:/target")
    house.run(
        "remember", "Never deploy on Fridays.", "--as", "memory:/rule", "--title", "Rule", "--description", "d",
        "--tag", "a", "--tag", "b", "--category", "c", "--domain", "ops", "--severity", "critical",
        "--importance", "5", "--context", "why",
        "--valid-from", "2026-01-01T00:00Z", "--valid-until", "2027-01-01T00:00Z",
        "--loading", "always", "--set", "immutable=true", "--set", "decay_protected=true",
        "--set", "thread=t", "--set", "seq=2",
        "--source-url", "https://example.org/x", "--set", 'metadata={"k": 1}', "--source", "agent",
        "--link", "supports", "memory:/target",
    )  # fmt: skip
    item = house.json("get", "memory:/rule")
    wanted = {
        "title": "Rule", "description": "d", "tags": ["a", "b"], "category": "c", "domain": "ops",
        "severity": "critical", "importance": 5, "context": "why", "loading": "always", "immutable": True,
        "decay_protected": True, "thread": "t", "seq": 2, "source_url": "https://example.org/x",
        "metadata": {"k": 1}, "source": "agent",
    }  # fmt: skip
    assert {name: item[name] for name in wanted} == wanted
    assert item["valid_until"].startswith("2027-01-01")
    assert house.json("links", "memory:/rule")["links"][0]["type"] == "supports"


def test_nearly_the_same_exits_4_and_says_how_to_decide(house: Any) -> None:
    house.run("remember", "The signing keys rotate every quarter, on Sunday.")
    near = ("remember", "The signing keys rotate every quarter, on Monday.")
    envelope = house.envelope(*near, code=4)
    assert envelope["error"]["code"] == "needs_decision"
    assert all(way in envelope["error"]["hint"] for way in ("save", "skip", "merge", "supersede"))
    (item,) = envelope["data"]["items"]
    assert (item["status"], item["candidates"][0]["ref"]) == (
        "needs_decision", "memory:/the-signing-keys-rotate-every-quarter-on-sunday",
    )  # fmt: skip
    result = house.run(*near, code=4)
    assert "needs decision" in result.stdout
    assert "memory:/the-signing-keys-rotate-every-quarter-on-sunday" in result.stdout
    assert "--on-duplicate" in result.stderr
    assert "contradicts" in house.run(*near, "--on-duplicate", "merge").stdout
    assert house.json("list")["total"] == 2  # what contradicts is never put into one text


def test_what_contradicts_a_memory_is_answered_with_replace_keep_both_or_cancel(house: Any) -> None:
    house.run("remember", "We deploy on Fridays.")
    said = house.run("remember", "We deploy on Tuesdays.", code=4)
    assert "this contradicts memory:/we-deploy-on-fridays (of " in said.stdout
    assert "supersede (replace the old one), save (keep both), skip (cancel)" in said.stderr


def test_save_takes_any_kind_a_ref_and_standard_input(house: Any) -> None:
    assert house.json("save", "--kind", "article", "How", "we", "deploy")["items"][0]["ref"] == "article:/how-we-deploy"
    assert house.json("save", "-k", "note", "note:/plan", "Ship", "it.")["items"][0]["ref"] == "note:/plan"
    assert house.json("save", "memory:/m", stdin="from a pipe\n")["items"][0]["status"] == "created"
    assert house.json("get", "memory:/m")["content"] == "from a pipe"
    assert house.json("save", "-k", "note", "note:/plan", "Another", "plan.", code=4)["code"] == "path_conflict"
    assert house.json("save", "note:/plan", "No plan.", "--on-conflict", "skip")["skipped"] == 1
    house.run("save", "note:/plan", "Another plan.", "--on-conflict", "overwrite", "--tag", "ops")
    written = house.json("get", "note:/plan")
    assert (written["content"], written["version"], written["tags"]) == ("Another plan.", 2, ["ops"])
    house.run("save", "plan", "Sail.", "--on-conflict", "overwrite")
    assert house.json("get", "memory:/plan")["kind"] == "memory"
    with_links = ("save", "note:/plan", "Sail.", "--on-conflict", "overwrite", "--on-duplicate", "save")
    assert house.json(*with_links, code=2)["code"] == "usage"


def test_a_ref_has_one_kind_whichever_command_writes_it(house: Any) -> None:
    house.run("add", "-", "--as", "agent:/a.md", stdin="Herons stand in the reeds.")
    house.run("save", "agent:/b.md", "Swifts sleep in the air.")
    house.run("remember", "Storks come back in March.", "--as", "agent:/c.md")
    assert {item["kind"] for item in house.json("list")["items"]} == {"document"}


def test_secrets_are_redacted_and_told(house: Any) -> None:
    result = house.run("remember", f"Use {TOKEN} now.", "--as", "memory:/t")
    assert "redacted: github token" in result.stderr
    assert TOKEN not in house.run("get", "memory:/t").stdout
    assert house.json("remember", "--kind", "note", f"Use {TOKEN}.")["items"][0]["redacted"] == ["github token"]
    kept = house.json("remember", "--kind", "note", f"Keep {TOKEN} please, all of it.", "--allow-secrets")["items"][0]
    assert "redacted" not in kept
    assert house.json("status")["secrets"] == {"github token": 1}
    assert f"{kept['ref']} (github token)" in house.run("doctor").stdout
    assert "redacted" in house.run("edit", "memory:/t", "--content", f"x {TOKEN}").stderr


def test_correct_supersede_and_forget_put_the_old_one_away(house: Any) -> None:
    house.run("remember", "The office is in Lisbon.", "--as", "memory:/office")
    data = house.json("correct", "memory:/office", "The office is in Porto.", "--importance", "4")
    new = data["items"][0]["ref"]
    assert data["created"] == 1
    assert [hit["ref"] for hit in house.json("search", "office")["hits"]] == [new]
    house.run("remember", "We have no office any more.", "--as", "memory:/none", "--on-duplicate", "save")
    data = house.json("correct", new, "--with", "memory:/none")
    assert (data["items"][0]["status"], data["items"][0]["reason"]) == ("archived", "superseded by memory:/none")
    assert "archived" in house.run("forget", "memory:/none").stdout
    assert house.json("list")["total"] == 0
    assert house.json("list", "state:archived")["total"] == 3
    assert "archived" in house.run("history", "memory:/office").stderr
    assert house.json("restore", "memory:/none")["updated"] == 1


def test_forget_and_rm_in_bulk_show_first_what_they_would_do(house: Any) -> None:
    house.run("remember", "--kind", "note", "First of the notes.", "--tag", "scratch")
    house.run("remember", "-k", "note", "Something else to keep.", "--tag", "scratch", "--set", "decay_protected=true")
    data = house.json("forget", "--tag", "scratch", "--older-than", "0d", "--dry-run")
    assert (data["archived"], data["dry_run"], data["notes"]) == (0, True, ["1 protected item left alone"])
    assert [item["status"] for item in data["items"]] == ["would be archived"]
    assert house.json("list")["total"] == 2
    assert house.json("rm", "--kind", "note", "--unused-since", "0d", "--dry-run")["items"][0]["status"] == (
        "would be removed"
    )
    assert house.json("forget", "--tag", "scratch")["archived"] == 1
    assert house.json("forget", "--older-than", "soon", code=2)["code"] == "usage"
    assert house.json("forget", code=2)["code"] == "usage"
    assert house.json("rm", code=2)["code"] == "usage"
    assert "nothing to do" in house.run("forget", "--older-than", "1y").stderr


def test_remembering_without_a_text_is_wrong_usage(house: Any) -> None:
    assert house.json("remember", code=2)["code"] == "usage"
    assert house.json("remember", "-", stdin="  \n", code=2)["code"] == "usage"


def test_remembering_the_first_thing_compares_with_nothing(imported: Callable[..., set[str]]) -> None:
    assert "rapidfuzz" not in imported("remember", "The first thing.")


def test_a_command_embeds_what_it_took_in_from_knowledge_files(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "local")
    house.run("init")
    house.run("remember", "The canine slept in front of the fireplace all evening.")
    for path in (house.folder / ".ricordo").glob("ricordo.db*"):
        path.unlink()
    house.run("init")
    house.run("list")
    found = house.json("search", "--by", "meaning", "where does our dog like to nap")["hits"]
    assert [hit["kind"] for hit in found] == ["memory"]
