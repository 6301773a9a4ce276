"""Remembering: readable refs, fields, links, secrets left out, and no text twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo import Conflict, NotFound, PathConflict, Ricordo, Saved, UsageError
from ricordo.store.sql.changes import Changes

Opens = Callable[..., Ricordo]
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def mind(opens: Opens) -> Ricordo:
    return opens()


class Meanings:
    """An embedder that knows two topics; everything else points its own way."""

    fingerprint = "topics/1"
    is_remote = False
    dimensions = 16
    max_tokens = 256

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        rows = np.zeros((len(texts), 16), np.float32)
        for row, text in zip(rows, texts, strict=True):
            if "vacation" in text or "holiday" in text:
                row[0] = 1.0
            else:
                row[1 + sum(map(ord, text)) % 15] = 1.0
        return rows

    def embed_query(self, text: str) -> np.ndarray[Any, Any]:
        return self.embed_documents([text])[0]


def test_a_memory_gets_a_readable_ref_from_its_first_words(mind: Ricordo) -> None:
    saved = mind.remember("Où est la clé? Under the mat.\nAnd more.")
    assert (saved.ref, saved.status, saved.version) == ("memory:/ou-est-la-cle-under-the-mat", "created", 1)
    item = mind.get(saved.ref)
    assert (item.kind, item.fields.source) == ("memory", "user")
    assert [hit.ref for hit in mind.search("mat").hits] == [saved.ref]


def test_a_title_names_it_and_a_taken_name_gets_a_number(mind: Ricordo) -> None:
    refs = [mind.remember(f"text about topic {n * 7919}", title="The Plan", kind="note").ref for n in range(3)]
    assert refs == ["note:/the-plan", "note:/the-plan-2", "note:/the-plan-3"]
    mind.rm("note:/the-plan-2")
    assert mind.remember("something else entirely", title="The Plan", kind="note").ref == "note:/the-plan-4"


def test_every_field_that_was_given_is_kept(mind: Ricordo) -> None:
    saved = mind.remember(
        "Never deploy on Fridays.",
        kind="entry",
        title="Friday rule",
        description="when not to deploy",
        tags=["ops", "rule"],
        category="process",
        domain="delivery",
        severity="critical",
        importance=5,
        context="learned the hard way",
        valid_from="2026-01-01T00:00Z",
        valid_until="2027-01-01T00:00Z",
        loading="always",
        decay_protected=True,
        thread="rules",
        seq=3,
        metadata={"by": "ada"},
        source="agent",
    )
    fields = mind.get(saved.ref).fields
    assert (fields.title, fields.description, fields.tags) == ("Friday rule", "when not to deploy", ("ops", "rule"))
    assert (fields.category, fields.domain, fields.severity) == ("process", "delivery", "critical")
    assert fields.importance == 5
    assert (fields.context, fields.loading, fields.decay_protected) == ("learned the hard way", "always", True)
    assert (fields.valid_from, fields.valid_until) == ("2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00")
    assert (fields.thread, fields.seq, fields.metadata, fields.source) == ("rules", 3, {"by": "ada"}, "agent")


def test_what_makes_no_sense_is_refused_before_anything_is_written(mind: Ricordo) -> None:
    mind.remember("a target", ref="note:/target", kind="note")
    attempts: tuple[Callable[[], object], ...] = (
        lambda: mind.remember("  \n"),
        lambda: mind.remember("x", kind="thought"),
        lambda: mind.remember("x", source="file"),  # type: ignore[arg-type]
        lambda: mind.remember("x", importance=9),
        lambda: mind.remember("x", on_duplicate="ignore"),  # type: ignore[arg-type]
        lambda: mind.remember("x", links=[("Not A Type", "note:/target")]),
        lambda: mind.remember("an entity " * 20, kind="entity"),
    )
    for attempt in attempts:
        with pytest.raises(UsageError):
            attempt()
    with pytest.raises(NotFound):
        mind.remember("x", links=[("supports", "note:/nowhere")])
    assert mind.count() == 1


def test_links_are_made_with_it(mind: Ricordo) -> None:
    mind.remember("The release slipped.", ref="memory:/slip")
    saved = mind.remember("Tests were red for a week.", links=[("supports", "memory:/slip")])
    assert [(link.type, link.ref) for link in mind.links(saved.ref).links] == [("supports", "memory:/slip")]


def test_the_same_text_is_skipped_whatever_its_case_and_spacing(mind: Ricordo) -> None:
    first = mind.remember("The office is in Lisbon.")
    again = mind.remember("  the OFFICE\nis in  lisbon. ", title="Something else")
    assert (again.status, again.ref, again.id, again.version) == ("skipped", first.ref, first.id, 1)
    assert first.ref in (again.reason or "")
    assert mind.remember("THE OFFICE IS IN LISBON.", on_duplicate="save").status == "skipped"
    assert mind.count() == 1


def test_another_kind_and_an_archived_text_are_no_duplicates(mind: Ricordo) -> None:
    first = mind.remember("The office is in Lisbon.")
    assert mind.remember("The office is in Lisbon.", kind="note").status == "created"
    mind.forget(first.ref)
    assert mind.remember("The office is in Lisbon.").status == "created"


def test_a_text_without_a_single_word_is_recognised_too(mind: Ricordo) -> None:
    assert mind.remember("🙂").ref == "memory:/memory"
    assert mind.remember("🙂").status == "skipped"
    assert mind.remember("🙃").ref == "memory:/memory-2"


def near(mind: Ricordo, **how: Any) -> Saved:
    return mind.remember("Every quarter, on Sunday, the signing keys are rotated by Ada.", **how)


@pytest.fixture
def keys(mind: Ricordo) -> str:
    return mind.remember("The signing keys rotate every quarter, on Sunday.", title="Keys", tags=["ops"]).ref


def test_nearly_the_same_needs_a_decision_and_writes_nothing(mind: Ricordo, keys: str) -> None:
    saved = near(mind)
    assert saved.status == "needs_decision"
    assert [one.ref for one in saved.candidates] == [keys]
    assert 0.5 <= saved.candidates[0].same < 1.0
    assert (saved.candidates[0].cosine, saved.candidates[0].contradiction) == (None, "")
    assert (saved.candidates[0].title, saved.candidates[0].snippet[:16]) == ("Keys", "The signing keys")
    assert saved.to_dict()["candidates"][0]["ref"] == keys
    assert mind.count() == 1
    assert mind.remember("The canteen serves soup on Tuesdays.").status == "created"


def test_save_keeps_both_and_skip_keeps_the_old_one(mind: Ricordo, keys: str) -> None:
    skipped = near(mind, on_duplicate="skip")
    assert (skipped.status, skipped.ref, mind.count()) == ("skipped", keys, 1)
    assert near(mind, on_duplicate="save").status == "created"
    assert mind.count() == 2


def test_merge_keeps_the_facts_of_both_and_says_where_they_came_from(mind: Ricordo, keys: str) -> None:
    saved = near(mind, on_duplicate="merge", tags=["security"], importance=4, source="agent")
    assert (saved.status, saved.ref, saved.version, saved.previous_version) == ("updated", keys, 2, 1)
    item = mind.get(keys)
    assert "on Sunday." in item.content
    assert "by Ada." in item.content
    assert item.fields.tags == ("ops", "security")
    assert (item.fields.importance, item.fields.title) == (4, "Keys")
    origin = item.fields.metadata["merged_from"][0]
    assert (origin["ref"], origin["version"], origin["source"]) == (
        "memory:/every-quarter-on-sunday-the-signing-keys-are-rotated-by-ada",
        1,
        "agent",
    )
    assert origin["time"].startswith("20")
    assert mind.get(keys, version=1).content == "The signing keys rotate every quarter, on Sunday."
    assert (near(mind).status, near(mind).ref, len(mind.history(keys))) == ("skipped", keys, 2)


def test_what_is_said_of_a_text_that_is_there_already_is_added_to_it(mind: Ricordo, keys: str) -> None:
    text = "The signing keys rotate every quarter, on Sunday."
    again = mind.remember(text.upper(), tags=["security"])
    assert (again.status, again.ref, mind.get(keys).fields.tags) == ("updated", keys, ("ops", "security"))
    part = mind.remember("Signing keys rotate every quarter, on Sunday.", on_duplicate="merge", tags=["team"])
    assert (part.status, part.ref, mind.get(keys).content) == ("updated", keys, text)
    assert mind.get(keys).fields.tags == ("ops", "security", "team")
    part = mind.remember("Signing keys rotate every quarter, on Sunday.", on_duplicate="merge", tags=["it", "ops"])
    assert (part.status, mind.get(keys).content, mind.get(keys).version) == ("updated", text, 4)
    part = mind.remember("Signing keys rotate every quarter, on Sunday.", tags=["ops"], category="other")
    assert (part.status, mind.get(keys).version) == ("skipped", 4)
    assert [hit.ref for hit in mind.search("tag:security tag:team tag:it").hits] == [keys]


def test_links_to_a_text_that_is_there_already_are_added_and_what_stays_is_said(mind: Ricordo, keys: str) -> None:
    team = mind.remember("The platform team owns all keys.").ref
    again = mind.remember("The signing keys rotate every quarter, on SUNDAY.", links=[("about", team), ("about", keys)])
    assert (again.status, again.ref) == ("skipped", keys)
    assert str(again.reason).endswith("its links were added")
    assert [(link.type, link.ref) for link in mind.links(keys).links] == [("about", team)]
    again = mind.remember("The signing keys rotate every quarter, on Sunday.", links=[("about", team)], cites=[team])
    assert "links" not in str(again.reason)
    assert str(again.reason).endswith("citations stay as they are")
    near(mind, on_duplicate="skip", links=[("near", team)])
    assert [link.type for link in mind.links(keys).links] == ["about"]


def test_a_higher_importance_is_kept_though_the_text_says_nothing_new(mind: Ricordo, keys: str) -> None:
    part = mind.remember("Signing keys rotate every quarter, on Sunday.", on_duplicate="merge", importance=4)
    assert (part.status, part.ref, mind.get(keys).fields.importance) == ("updated", keys, 4)


def test_supersede_archives_the_old_one_and_links_it(mind: Ricordo, keys: str) -> None:
    saved = near(mind, on_duplicate="supersede")
    assert saved.status == "created"
    assert mind.get(keys).state == "archived"
    assert [(link.type, link.ref) for link in mind.links(saved.ref).links] == [("supersedes", keys)]
    assert [hit.ref for hit in mind.search("signing keys").hits] == [saved.ref]


def test_an_immutable_memory_is_neither_merged_superseded_corrected_nor_forgotten(mind: Ricordo) -> None:
    ref = mind.remember("The signing keys rotate every quarter, on Sunday.", immutable=True).ref
    other = mind.remember("Something else.").ref
    for attempt in (
        lambda: near(mind, on_duplicate="merge"),
        lambda: near(mind, on_duplicate="supersede"),
        lambda: mind.correct(ref, "They never rotate."),
        lambda: mind.correct(ref, replacement=other),
        lambda: mind.forget(ref),
        lambda: mind.rm(ref),
        lambda: mind.edit(ref, "No."),
    ):
        with pytest.raises(Conflict, match="immutable"):
            attempt()
    assert mind.count() == 2
    assert mind.get(ref).state == "live"
    assert mind.doctor().ok


def test_a_ref_of_ones_own_is_used_and_a_taken_one_refused(mind: Ricordo) -> None:
    assert mind.remember("Ship on Friday.", kind="note", ref="note:/plans/next").ref == "note:/plans/next"
    assert mind.remember("Lunch is at noon.", kind="note", ref="lunch").ref == "note:/lunch"
    with pytest.raises(PathConflict, match="already exists"):
        mind.remember("Ship on Monday, after the review.", kind="note", ref="note:/plans/next")
    assert mind.remember("Ship on Friday.", kind="note", ref="note:/plans/next").status == "skipped"


def test_texts_that_mean_the_same_need_a_decision_where_there_are_vectors(opens: Opens) -> None:
    mind = opens(embedding__provider="local")
    first = mind.remember("The keys are renewed each quarter.")
    saved = mind.remember("Every three months the keys are rotated.")
    assert saved.status == "needs_decision"
    assert [one.ref for one in saved.candidates] == [first.ref]
    assert (saved.candidates[0].cosine or 0.0) > 0.5
    assert mind.remember("The canteen serves soup.").status == "created"


def test_cosines_of_other_models_say_nothing(mind: Ricordo) -> None:
    mind._context.models.embedder = Meanings  # type: ignore[method-assign]
    mind.remember("Ada is on vacation in May.")
    assert mind.remember("A holiday keeps our colleague away all spring.").status == "created"


def test_what_differs_in_a_name_is_another_fact(mind: Ricordo) -> None:
    mind.remember("Host db1 has 64 GB.")
    assert mind.remember("Host db2 has 64 GB.").status == "created"
    assert mind.remember("Host db3 has 64 GB.", on_duplicate="merge").status == "created"


def test_a_person_who_keeps_both_is_remembered(mind: Ricordo, keys: str) -> None:
    kept = near(mind, on_duplicate="save")
    assert ("beside", keys) in [(link.type, link.ref) for link in mind.links(kept.ref).links]


def test_of_long_texts_a_few_new_sentences_need_a_decision_and_many_do_not(mind: Ricordo) -> None:
    lines = [f"Step {n} is to check part {n} of the {word} engine." for n, word in enumerate(["left", "right"] * 20)]
    mind.remember("\n".join(lines), kind="note")
    assert mind.remember("\n".join([*lines, "Then rest."]), kind="note").status == "needs_decision"
    others = [f"Dish {n} needs a pinch of {word}." for n, word in enumerate(["salt", "sugar"] * 20)]
    assert mind.remember("\n".join([*lines[:20], *others]), kind="note").status == "created"


def test_a_text_of_several_passages_is_no_duplicate_because_one_of_them_means_the_same(mind: Ricordo) -> None:
    mind._context.models.embedder = Meanings  # type: ignore[method-assign]
    long = "\n\n".join(f"# Part {n}\n\n{'Ada is on vacation in May. ' * 60}" for n in range(4))
    first = mind.remember(long)
    assert len(mind.get(first.ref, passages=True).passages) > 1
    assert mind.remember("A holiday keeps our colleague away all spring.").status == "created", "the known one is long"
    other = "\n\n".join(f"# Chapter {n}\n\n{'Our colleague has a holiday this spring. ' * 60}" for n in range(4))
    assert mind.remember(other).status == "created", "the new one is long"


def test_secrets_are_taken_out_of_text_and_fields_and_reported(mind: Ricordo) -> None:
    saved = mind.remember(f"Use {TOKEN} for now.", title=f"token {TOKEN}", metadata={"t": [TOKEN]})
    assert saved.redacted == ("github token",) * 3
    assert saved.to_dict()["redacted"] == ["github token"] * 3
    item = mind.get(saved.ref)
    assert item.content == "Use [redacted: github token] for now."
    assert TOKEN not in str(item.to_dict())
    assert mind.search(TOKEN).hits == ()
    assert mind.status()["secrets"] == {}


def test_allowed_secrets_are_kept_and_told_by_status_and_doctor(mind: Ricordo) -> None:
    saved = mind.remember(f"Use {TOKEN} for now.", ref="memory:/token", allow_secrets=True)
    assert saved.redacted == ()
    assert TOKEN in mind.get("memory:/token").content
    assert mind.status()["secrets"] == {"github token": 1}
    report = mind.doctor()
    check = next(check for check in report.checks if check.name == "secrets")
    assert report.ok
    assert check.ok
    assert "memory:/token (github token)" in check.detail
    assert TOKEN not in check.detail
    mind.edit("memory:/token", "Nothing here now.")
    assert mind.status()["secrets"] == {}


def test_saving_and_editing_what_agents_write_redacts_too_but_documents_stay_as_they_are(mind: Ricordo) -> None:
    assert mind.save("note:/a", f"first {TOKEN}").redacted == ("github token",)
    assert mind.edit("note:/a", f"second {TOKEN}").redacted == ("github token",)
    assert mind.get("note:/a").content == "second [redacted: github token]"
    assert mind.edit("note:/a", f"third {TOKEN}", allow_secrets=True).redacted == ()
    assert mind.save("disk:/a.md", f"a file with {TOKEN}").redacted == ()
    assert TOKEN in mind.get("disk:/a.md").content
    assert mind.status()["secrets"] == {"github token": 2}


def test_repairing_looks_for_secrets_in_all_texts_anew(mind: Ricordo) -> None:
    mind.save("disk:/a.md", f"a file with {TOKEN}")
    mind.store.secrets.note({mind.store.items.require(mind.resolve("disk:/a.md")): {"aws key": 3}})
    assert mind.status()["secrets"] == {"aws key": 3}
    mind.doctor(repair=True)
    assert mind.status()["secrets"] == {"github token": 1}


def test_many_threads_saving_the_same_text_leave_one_memory(opens: Opens) -> None:
    engines = [opens() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        saved = list(pool.map(lambda one: one.remember("All of them say the very same thing."), engines))
    assert sorted(one.status for one in saved) == ["created", "skipped", "skipped", "skipped"]
    assert {one.ref for one in saved} == {"memory:/all-of-them-say-the-very-same-thing"}


def test_merging_from_two_sides_at_once_loses_neither(opens: Opens) -> None:
    first = opens()
    ref = first.remember("The signing keys rotate every quarter, on Sunday, at noon.").ref
    known = "The signing keys rotate every quarter, on Sunday, at noon."
    texts = [f"{known} {extra}" for extra in ("Bring cake.", "The locks are new.")]
    engines = [opens() for _ in texts]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: pair[0].remember(pair[1], on_duplicate="merge"), zip(engines, texts, strict=True)))
    content = first.get(ref).content
    assert "Bring cake." in content
    assert "The locks are new." in content


def test_different_facts_in_one_frame_are_all_saved(meaning: Ricordo) -> None:
    texts = (Path(__file__).with_name("framed_memories.md")).read_text("utf-8").split("\n---\n")
    assert len(texts) == 34
    held_up = [text for text in texts if meaning.remember(text.strip()).status != "created"]
    assert held_up == []


def test_superseding_archives_nothing_that_was_changed_since_it_was_compared(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind, other = opens(), opens()
    old = mind.remember("We deploy on Fridays.")
    succeed = Changes.succeed

    def edited_first(self: Changes, *args: Any, **options: Any) -> Saved:
        monkeypatch.setattr(Changes, "succeed", succeed)
        other.edit(old.ref, "We bake bread at night.")
        return succeed(self, *args, **options)

    monkeypatch.setattr(Changes, "succeed", edited_first)
    saved = mind.remember("We never deploy on Fridays.", on_duplicate="supersede")
    assert (saved.status, mind.links(saved.ref).links) == ("created", ())
    assert (mind.get(old.ref).state, mind.get(old.ref).content) == ("live", "We bake bread at night.")
