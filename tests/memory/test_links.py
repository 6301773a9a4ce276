"""Links between items: by hand and from texts, resolved as items come and go, and how far they reach."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo import ConfigProvider, Conflict, Entry, NotFound, Ricordo, UsageError
from ricordo.store.sql.links import MOST_NEIGHBOURS
from ricordo.text.links import targets_in
from ricordo.values.hits import LINK_TYPES
from ricordo.values.items import Ref


@pytest.fixture
def memory(engine: Ricordo) -> Ricordo:
    """An empty store."""
    return engine


def open_by_words(place: Path) -> Ricordo:
    return Ricordo.open(place, config=ConfigProvider({"embedding.provider": "none"}))


def names(text: str, ref: str = "disk:/vault/notes/a.md", mime_type: str | None = "text/markdown") -> list[str]:
    return [target.name for target in targets_in(text, Ref.parse(ref), mime_type)]


def linked(memory: Ricordo, ref: str) -> list[str]:
    """The refs an item's own links lead to."""
    return [link.ref for link in memory.links(ref, depth=1).links if link.direction == "out"]


# -- what a text links to ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Wiki Target]]", ["wiki-target"]),
        ("[[target|label]] and [[target#heading]] and [[target#heading|label]]", ["target"]),
        ("![[Embedded Note]]", ["embedded-note"]),
        ("| [[cell\\|label]] |", ["cell"]),
        ("[[note:/slug]]", ["note:/slug"]),
        ("[text](other.md)", ["disk:/vault/notes/other"]),
        ("[text](../x/y.md#h)", ["disk:/vault/x/y"]),
        ("[text](./y.md)", ["disk:/vault/notes/y"]),
        ("[text](/etc/y.txt)", ["disk:/etc/y.txt"]),
        ("[text](note:/slug)", ["note:/slug"]),
        ('[text](other.md "a title")', ["disk:/vault/notes/other"]),
        ("[text](<with spaces.md>) [text](with%20spaces.md)", ["disk:/vault/notes/with spaces"] * 2),
        ("[text](a_(b).md)", ["disk:/vault/notes/a_(b)"]),
        ("[![picture](p.png)](page.md)", ["disk:/vault/notes/page"]),
        ("see [it][one]\n\n[one]: ../one.md", ["disk:/vault/one"]),
        ("[page](HTTPS://Example.org/Page/#part)", ["https://example.org/Page"]),
    ],
)
def test_wiki_and_markdown_links_are_found_in_texts(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`[[code]]` and ``a ` [[code]] ``",
        "```\n[[fenced]]\n[a](b.md)\n```",
        "~~~~py\n[[fenced]]\n```\n[[still fenced]]\n~~~~",
        "- item\n  ```\n  [[fenced]]\n  ```",
        "![picture](p.png)",
        "[here](#heading) [mail](mailto:a@b.c) [call](tel:123)",
        "[[]] [[ ]] [[#heading]] []() [text]()",
        "[^1]: a footnote",
        "plain [brackets] and (parentheses)",
    ],
)
def test_code_pictures_and_other_schemes_are_no_links(text: str) -> None:
    assert names(text) == []


def test_brackets_in_code_and_tables_are_no_links() -> None:
    assert names("[[package]]", mime_type="text/x-toml") == []
    assert names("[[1,2],[3,4]]", mime_type="application/json") == []
    assert names("[[package]]", mime_type="text/plain") == ["package"]


def test_a_tick_that_nothing_closes_hides_no_link() -> None:
    assert names("a lone ` tick [[after]]\n\nand ` another") == ["after"]


@pytest.mark.parametrize("noise", ["`", "[", "[[", "](", "](<", '](a "', "`` ` ", "[a]:", "](a\\", "((a"])
def test_long_runs_of_signs_are_read_in_linear_time(noise: str) -> None:
    text = "[[ok]]\n\n" + noise * 20_000
    assert names(text)[0] == "ok"


# -- which item is meant ----------------------------------------------------------------------------------------


def test_a_link_in_a_text_leads_to_the_item_it_names(memory: Ricordo) -> None:
    memory.save("note:/keys", "Rotate them.", fields={"title": "The Signing Keys"})
    memory.save("note:/plan", "See [[the signing keys]].")
    (link,) = memory.links("note:/plan").links
    assert (link.source, link.target, link.type, link.origin) == ("note:/plan", "note:/keys", "mentions", "text")
    assert link.text == "the signing keys"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("[[two words]]", "/two-words"),
        ("[[Two_Words]]", "/deep/below/Two Words.md"),
        ("[[folder/plan]]", "/vault/folder/plan.md"),
        ("[[script.py]]", "/script.py"),
        ("[[script]]", "/script.py"),
        ("[plan](sub/plan.md)", "/vault/sub/plan.md"),
        ("[plan](sub/plan)", "/vault/sub/plan.md"),
        ("[plan](/elsewhere/plan.md)", "/elsewhere/plan.md"),
    ],
)
def test_a_target_is_a_path_a_file_name_or_a_slug(memory: Ricordo, target: str, path: str) -> None:
    memory.save(f"agent:{path}", "the target")
    memory.save("agent:/vault/source.md", target)
    assert linked(memory, "agent:/vault/source.md") == [f"agent:{path}"]


def test_a_markdown_link_means_that_file_alone(memory: Ricordo) -> None:
    memory.save("agent:/other/README.md", "another readme")
    memory.save("agent:/here/a.md", "[read me](README.md)")
    report = memory.links("agent:/here/a.md")
    assert report.links == ()
    assert report.unresolved == ("README.md",)


def test_among_several_the_title_wins_then_the_nearest_then_the_first_ref(memory: Ricordo) -> None:
    for path in ("/a/x/plan", "/a/b/c/plan", "/z/plan", "/y/plan"):
        memory.save(f"agent:{path}", "a plan")
    memory.save("agent:/a/b/source", "[[plan]]")
    memory.save("agent:/q/source", "[[plan]]")
    assert linked(memory, "agent:/a/b/source") == ["agent:/a/b/c/plan"]
    assert linked(memory, "agent:/q/source") == ["agent:/y/plan"]
    memory.save("agent:/far/away/below/thing", "titled", fields={"title": "Plan"})
    assert linked(memory, "agent:/a/b/source") == ["agent:/far/away/below/thing"]


def test_a_file_name_wins_over_an_alias_that_is_nearer(memory: Ricordo) -> None:
    memory.save("agent:/a/b/other", "goes by two names", fields={"metadata": {"aliases": ["plan"]}})
    memory.save("agent:/a/b/source", "[[plan]]")
    assert linked(memory, "agent:/a/b/source") == ["agent:/a/b/other"]
    memory.save("agent:/far/away/plan", "has it as its file name")
    assert linked(memory, "agent:/a/b/source") == ["agent:/far/away/plan"]


def test_the_order_in_which_items_come_does_not_matter(open_engine: Callable[[str], Ricordo]) -> None:
    entries = [
        Entry("agent:/a/one", "[[two]] [[three]]"),
        Entry("agent:/a/two", "[[one]]"),
        Entry("agent:/b/two", "[[one]] [x](../a/one)"),
        Entry("agent:/c/d", "[[two]]", fields={"title": "Three"}),
    ]
    reports = []
    for number, order in enumerate((entries, entries[::-1], entries[2:] + entries[:2])):
        memory = open_engine(str(number))
        for entry in order:
            memory.save_many([entry])
        reports.append({entry.ref: linked(memory, entry.ref) for entry in entries})
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["agent:/a/one"] == ["agent:/a/two", "agent:/c/d"]


def test_a_link_waits_for_its_target(memory: Ricordo) -> None:
    memory.save("note:/plan", "See [[keys]].")
    assert memory.links("note:/plan").unresolved == ("keys",)
    memory.save("note:/keys", "Here.")
    assert linked(memory, "note:/plan") == ["note:/keys"]
    assert memory.links("note:/plan").unresolved == ()


def test_an_address_counts_only_when_it_is_an_item(memory: Ricordo) -> None:
    memory.save("note:/plan", "[page](https://example.org/page#part) [other](https://example.org/other)")
    assert memory.links("note:/plan").to_dict()["links"] == []
    assert memory.links("note:/plan").unresolved == ()
    memory.save("url:/https://example.org/page", "The page, with [a relative link](other).")
    memory.save("article:/copy", "A copy.", fields={"source_url": "https://example.org/other/"})
    assert linked(memory, "note:/plan") == ["article:/copy", "url:/https://example.org/page"]
    assert linked(memory, "url:/https://example.org/page") == ["article:/copy"]


def test_files_that_link_to_each_other_are_linked_when_they_are_added(tmp_path: Path, memory: Ricordo) -> None:
    (tmp_path / "vault" / "sub").mkdir(parents=True)
    (tmp_path / "vault" / "index.md").write_text("# Index\n\n- [[Deep Note]]\n- [b](sub/b.md)\n")
    (tmp_path / "vault" / "sub" / "b.md").write_text("---\ntitle: Deep Note\n---\nback to [the index](../index.md)\n")
    memory.add(tmp_path / "vault")
    index, deep = (f"disk:{tmp_path / 'vault' / name}" for name in ("index.md", "sub/b.md"))
    assert linked(memory, index) == [deep, deep]
    assert linked(memory, deep) == [index]


# -- items that change and go -----------------------------------------------------------------------------------


def test_an_edit_of_the_text_changes_the_links(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "[[b]] [[c]]"), Entry("note:/b", "b"), Entry("note:/c", "c")])
    memory.edit("note:/a", content="[[c]] only")
    assert linked(memory, "note:/a") == ["note:/c"]
    memory.restore("note:/a", version=1)
    assert linked(memory, "note:/a") == ["note:/b", "note:/c"]


def test_a_new_title_or_ref_brings_other_links(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "[[The Plan]]"), Entry("note:/b", "b")])
    assert linked(memory, "note:/a") == []
    memory.edit("note:/b", fields={"title": "The plan"})
    assert linked(memory, "note:/a") == ["note:/b"]
    memory.edit("note:/b", fields={"title": "Another"})
    assert linked(memory, "note:/a") == []
    memory.mv("note:/b", "note:/the-plan")
    assert linked(memory, "note:/a") == ["note:/the-plan"]


def test_links_of_a_removed_item_vanish_and_come_back_with_it(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "[[b]]"), Entry("note:/b", "[[c]]"), Entry("note:/c", "c")])
    memory.link("note:/b", "note:/a", "supports")
    memory.rm("note:/b")
    assert memory.links("note:/a").links == ()
    assert memory.links("note:/c").links == ()
    memory.restore("note:/b")
    assert {(one.source, one.target, one.type) for one in memory.links("note:/b", depth=1).links} == {
        ("note:/a", "note:/b", "mentions"),
        ("note:/b", "note:/c", "mentions"),
        ("note:/b", "note:/a", "supports"),
    }


def test_a_text_link_to_a_removed_item_means_the_next_best(memory: Ricordo) -> None:
    memory.save_many([Entry("agent:/x/a", "[[plan]]"), Entry("agent:/x/plan", "near"), Entry("agent:/y/plan", "far")])
    memory.rm("agent:/x/plan")
    assert linked(memory, "agent:/x/a") == ["agent:/y/plan"]
    memory.rm("agent:/y/plan", purge=True)
    assert memory.links("agent:/x/a").unresolved == ("plan",)
    memory.restore("agent:/x/plan")
    assert linked(memory, "agent:/x/a") == ["agent:/x/plan"]


def test_a_purged_item_leaves_no_link_behind_and_a_new_one_inherits_none(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "a"), Entry("note:/b", "b")])
    memory.link("note:/a", "note:/b", "extends")
    memory.rm("note:/b", purge=True)
    memory.save("note:/b", "another b")
    assert memory.links("note:/a").links == ()
    assert memory.doctor().ok


def test_an_item_is_not_linked_to_itself(memory: Ricordo) -> None:
    memory.save("note:/a", "this is [[a]]")
    assert memory.links("note:/a").links == ()
    with pytest.raises(UsageError, match="itself"):
        memory.link("note:/a", "note:/a")


# -- by hand ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", [*LINK_TYPES, "depends-on", "is_part_of"])
def test_items_are_linked_by_built_in_and_own_types(memory: Ricordo, type_: str) -> None:
    memory.save_many([Entry("note:/a", "a"), Entry("note:/b", "b")])
    made = memory.link("note:/a", "note:/b", type_)
    assert (made.source, made.target, made.type, made.origin) == ("note:/a", "note:/b", type_, "manual")
    assert memory.link("note:/a", "note:/b", type_) == made
    assert [one.direction for one in memory.links("note:/b").links] == ["in"]


@pytest.mark.parametrize("type_", ["", "x", "Supports", "two words", "1st", "a" * 42, "supports\n"])
def test_a_type_that_is_no_word_is_refused_with_the_built_in_ones(memory: Ricordo, type_: str) -> None:
    memory.save_many([Entry("note:/a", "a"), Entry("note:/b", "b")])
    with pytest.raises(UsageError) as refused:
        memory.link("note:/a", "note:/b", type_)
    assert all(known in refused.value.hint for known in LINK_TYPES)


def test_unlink_takes_one_type_or_all(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "a"), Entry("note:/b", "b")])
    for type_ in ("supports", "extends", "corrects"):
        memory.link("note:/a", "note:/b", type_)
    assert memory.unlink("note:/a", "note:/b", "extends") == 1
    with pytest.raises(NotFound, match="no link 'extends'"):
        memory.unlink("note:/a", "note:/b", "extends")
    with pytest.raises(NotFound):
        memory.unlink("note:/b", "note:/a")
    assert memory.unlink("note:/a", "note:/b") == 2
    assert memory.links("note:/a").links == ()


def test_a_link_in_a_text_is_not_unlinked_by_hand(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "[[b]]"), Entry("note:/b", "b")])
    with pytest.raises(Conflict, match="is part of the text"):
        memory.unlink("note:/a", "note:/b")


def test_links_need_items_that_are_there(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "a"), Entry("note:/b", "b")])
    memory.rm("note:/b")
    for target in ("note:/b", "note:/nowhere"):
        with pytest.raises(NotFound):
            memory.link("note:/a", target)


# -- around an item ---------------------------------------------------------------------------------------------


@pytest.fixture
def chain(memory: Ricordo) -> Ricordo:
    """a → b → c → d, and e alone."""
    memory.save_many([Entry(f"note:/{name}", f"about {name}", fields={"title": f"Note {name}"}) for name in "abcde"])
    for source, target in ("ab", "bc", "cd"):
        memory.link(f"note:/{source}", f"note:/{target}", "sequences")
    return memory


def test_links_are_shown_both_ways_with_their_distance(chain: Ricordo) -> None:
    found = [(one.distance, one.direction, one.ref, one.title) for one in chain.links("note:/b").links]
    assert found == [
        (1, "out", "note:/c", "Note c"),
        (1, "in", "note:/a", "Note a"),
        (2, "out", "note:/d", "Note d"),
    ]
    assert len(chain.links("note:/b", depth=1).links) == 2
    assert len(chain.links("note:/a", depth=3).links) == 3
    with pytest.raises(UsageError):
        chain.links("note:/a", depth=0)


def test_a_report_is_plain_data(chain: Ricordo) -> None:
    plain = chain.links("note:/d", depth=1).to_dict()
    assert (plain["ref"], plain["depth"], plain["unresolved"]) == ("note:/d", 1, [])
    (link,) = plain["links"]
    assert (link["source"], link["target"], link["type"]) == ("note:/c", "note:/d", "sequences")
    assert (link["direction"], link["distance"]) == ("in", 1)


def test_a_link_between_two_neighbours_is_not_shown_as_the_items_own(memory: Ricordo) -> None:
    memory.save_many([Entry(f"note:/{name}", f"about {name}") for name in ("plan", "tools", "costs")])
    memory.link("note:/plan", "note:/tools", "extends")
    memory.link("note:/plan", "note:/costs", "extends")
    memory.link("note:/tools", "note:/costs", "contradicts")
    found = [(one.distance, one.source, one.type, one.target) for one in memory.links("note:/plan").links]
    assert found == [
        (1, "note:/plan", "extends", "note:/costs"),
        (1, "note:/plan", "extends", "note:/tools"),
        (2, "note:/tools", "contradicts", "note:/costs"),
    ]


def test_neighbours_are_counted_whichever_way_the_links_point(chain: Ricordo) -> None:
    store = chain.store
    numbers = {name: store.items.require(Ref.parse(f"note:/{name}")) for name in "abcde"}
    by_name = {
        start: {name: distance for name, n in numbers.items() if (distance := found.get(n)) is not None}
        for start in "abcde"
        for found in [store.links.neighbours([numbers[start]])]
    }
    assert by_name["a"] == {"a": 0, "b": 1, "c": 2}
    assert by_name["d"] == {"d": 0, "c": 1, "b": 2}
    assert by_name["e"] == {"e": 0}
    assert store.links.neighbours([numbers["a"], numbers["d"]], depth=1) == {
        numbers["a"]: 0, numbers["d"]: 0, numbers["b"]: 1, numbers["c"]: 1,
    }  # fmt: skip
    assert store.links.neighbours([]) == {}


def test_removed_items_are_no_neighbours_and_no_bridge(chain: Ricordo) -> None:
    a = chain.store.items.require(Ref.parse("note:/a"))
    chain.rm("note:/b")
    assert chain.store.links.neighbours([a]) == {a: 0}


def test_what_everything_links_to_does_not_flood_the_neighbours(memory: Ricordo) -> None:
    memory.save("note:/hub", "the hub")
    memory.save_many(Entry(f"note:/n{i}", "see [[hub]]") for i in range(MOST_NEIGHBOURS + 200))
    hub = memory.store.items.require(Ref.parse("note:/hub"))
    found = memory.store.links.neighbours([hub])
    assert len(found) == MOST_NEIGHBOURS + 1
    assert found == memory.store.links.neighbours([hub])


# -- items that are already in ----------------------------------------------------------------------------------


def test_relink_finds_the_links_of_items_that_are_already_in(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "[[b]]"), Entry("note:/b", "[[a]]"), Entry("note:/c", "c")])
    memory.link("note:/c", "note:/a", "extends")
    with memory.store.database.write() as connection:  # type: ignore[attr-defined]
        connection.rows("DELETE FROM links WHERE origin='text'")
        connection.rows("DELETE FROM item_names")
    report = memory.doctor()
    assert [check.name for check in report.checks if not check.ok] == ["links"]
    assert memory.store.links.relink() == 3
    assert memory.doctor().ok
    assert (linked(memory, "note:/a"), linked(memory, "note:/b")) == (["note:/b"], ["note:/a"])
    assert linked(memory, "note:/c") == ["note:/a"]


def test_doctor_repairs_links_that_are_not_those_in_the_texts(memory: Ricordo) -> None:
    memory.save_many([Entry("note:/a", "[[b]]"), Entry("note:/b", "b")])
    with memory.store.database.write() as connection:  # type: ignore[attr-defined]
        connection.rows("UPDATE links SET name='other', target=NULL")
    assert not memory.doctor().ok
    assert memory.doctor(repair=True).ok
    assert memory.doctor().ok
    assert linked(memory, "note:/a") == ["note:/b"]


# -- suggestions ------------------------------------------------------------------------------------------------


def test_suggestions_are_like_the_item_and_not_linked_with_it(memory: Ricordo) -> None:
    memory.save_many(
        [
            Entry("note:/keys", "Rotate them.", fields={"title": "signing keys"}),
            Entry("note:/linked", "The signing keys are old."),
            Entry("note:/new", "Who holds the signing keys?"),
            Entry("note:/soup", "Soup on Tuesdays."),
        ]
    )
    memory.link("note:/linked", "note:/keys")
    assert [hit.ref for hit in memory.similar("note:/keys", unlinked=True).hits] == ["note:/new"]


def test_suggestions_go_by_meaning_where_there_are_vectors(meaning: Ricordo) -> None:
    meaning.save("note:/a", "A note about productivity and doing more in less time.")
    meaning.save("note:/b", "Getting things done: how to organise your work day.")
    meaning.save("note:/c", "The geology of volcanic islands.")
    assert [hit.ref for hit in meaning.similar("note:/a", limit=1, unlinked=True).hits] == ["note:/b"]
    meaning.link("note:/a", "note:/b", "extends")
    assert [hit.ref for hit in meaning.similar("note:/a", limit=1, unlinked=True).hits] == ["note:/c"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/docs/concepts/pods/", "/site/content/docs/concepts/pods/_index.md"),
        ("/docs/concepts/volumes", "/site/content/docs/concepts/volumes.md"),
        ("/docs/concepts/volumes.html#claims", "/site/content/docs/concepts/volumes.md"),
        ("/guide/setup", "/site/content/01-guide/02-setup.md"),
        ("/guide/", "/site/content/01-guide/README.md"),
        ("/docs/tasks/pods/", None),
    ],
)
def test_a_path_from_the_root_of_a_site_means_the_page_whatever_comes_first(
    memory: Ricordo, written: str, meant: str | None
) -> None:
    pages = ("docs/concepts/pods/_index.md", "docs/concepts/volumes.md", "01-guide/02-setup.md", "01-guide/README.md")
    early, late = pages[:2], pages[2:]
    for name in early:
        memory.save(f"disk:/site/content/{name}", f"The page {name}.")
    source = "disk:/site/content/docs/home.md"
    memory.save(source, f"See [it]({written}).")
    for name in late:
        memory.save(f"disk:/site/content/{name}", f"The page {name}.")
    assert [link.target for link in memory.links(source, depth=1).links] == ([f"disk:{meant}"] if meant else [])


# -- what replaced an item --------------------------------------------------------------------------------------

ACTS = st.lists(st.tuples(st.sampled_from(["correct", "with", "restore", "rm"]), st.integers(0, 7), st.integers(0, 7)))


@settings(max_examples=40)
@given(acts=ACTS.filter(lambda acts: len(acts) > 2))
def test_every_answer_names_the_same_replacement(acts: list[tuple[str, int, int]]) -> None:
    with TemporaryDirectory() as folder, open_by_words(Path(folder) / "store.db") as engine:
        refs = [engine.remember(f"The lamp {n} is lit.", on_duplicate="save", wait=False).ref for n in range(4)]
        as_it_was = engine.get(refs[-1]).updated_at.isoformat()
        for act, one, other in acts:
            ref = refs[one % len(refs)]
            with suppress(Conflict, NotFound, UsageError):
                if act == "correct":
                    refs.append(engine.correct(ref, f"The lamp is out, says number {len(refs)}.", wait=False).ref)
                elif act == "with":
                    engine.correct(ref, replacement=refs[other % len(refs)])
                elif act == "restore":
                    engine.restore(ref)
                else:
                    engine.rm(ref)
        hits = {hit.ref: hit for hit in engine.search("lamp", as_of=as_it_was, limit=50, track=False).hits}
        told = {event.ref: event for event in engine.timeline(limit=500).events}
        for ref in refs:
            with suppress(NotFound):
                item, history = engine.get(ref), engine.history(ref)
                named = (item.corrected_by, item.superseded_by)
                assert (history.corrected_by, history.superseded_by) == named
                assert ref not in hits or (hits[ref].corrected_by, hits[ref].superseded_by) == named
                assert ref not in told or (told[ref].corrected_by, told[ref].superseded_by) == named


def test_a_long_chain_of_corrections_leads_to_its_end(memory: Ricordo) -> None:
    first = newest = memory.remember("The lamp burns 0 hours.", wait=False).ref
    as_it_was = memory.get(first).updated_at.isoformat()
    for hours in range(1, 26):
        newest = memory.correct(newest, f"The lamp burns {hours} hours.", wait=False).ref
    assert memory.get(first).corrected_by == newest
    hits = memory.search("lamp", as_of=as_it_was, track=False).hits
    assert [(hit.ref, hit.corrected_by) for hit in hits] == [(first, newest)]
