"""The commits of a repository as items: found by what they say, linked to their files, and followed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.git.conftest import Checkout, Opened

from ricordo import Filters, Ricordo, Unavailable, UsageError
from ricordo.cli.program import program
from ricordo.config.files import standing_in
from ricordo.plugins.history import commits as git_history
from ricordo.verbs import index, rows

COMMITS = Filters(drives=("git",))
WHY = "Retry payments three times\n\nThe bank's gateway drops one call in fifty on Mondays."
PAY = "def pay():\n    for attempt in range(3):\n        call_bank()\n"


@pytest.fixture
def shop(main: Checkout) -> Checkout:
    main.commit("Add payments", pay__py="def pay():\n    call_bank()\n", when="2024-03-01T10:00:00Z")
    main.commit(WHY, pay__py=PAY, when="2024-03-04T10:00:00Z")
    return main


def commit_refs(engine: Ricordo) -> list[str]:
    return [str(item.ref) for item in engine.list(filters=COMMITS)]


def test_a_search_finds_why_a_line_is_as_it_is(engine: Ricordo, shop: Checkout) -> None:
    engine.add(shop.top, history=True)
    head = shop.git("rev-parse", "HEAD")
    hit = engine.search("why is attempt in range(3) when the bank drops calls", filters=COMMITS)[0]
    assert hit.ref == f"git:{shop.top}/{head[:12]}"
    item = engine.get(hit.ref)
    assert item.title == "Retry payments three times"
    assert "drops one call in fifty" in item.content
    assert "+    for attempt in range(3):" in item.content
    assert item.updated_at == datetime(2024, 3, 4, 10, tzinfo=UTC)
    assert item.fields.metadata["author"] == "Ada"
    assert (item.provenance.author, item.provenance.origin) == ("loader", str(shop.top))


def test_the_history_of_a_file_has_its_commits_among_its_versions(engine: Ricordo, shop: Checkout) -> None:
    engine.add(shop.top, history=True)
    file = str(shop.top / "pay.py")
    titles = [one.fields.title for one in engine.history(file) if one.commit]
    assert titles == ["Retry payments three times", "Add payments"]
    assert [one.number for one in engine.history(file) if not one.commit] == [1]
    assert [one.commit for one in engine.history(str(shop.top / "README.md")) if one.commit] != []
    linked = {link.ref for link in engine.links(f"git:{shop.top}/{shop.git('rev-parse', 'HEAD')[:12]}", depth=1).links}
    assert f"disk:{file}" in linked


def test_a_text_that_somebody_saved_as_a_commit_makes_no_refresh_read_a_repository(
    engine: Ricordo, shop: Checkout
) -> None:
    mine = f"git:{shop.top}/mine"
    engine.save(mine, "Written by hand.")
    assert [(one.ref, one.status) for one in engine.refresh(mine).items] == [(mine, "skipped")]
    engine.refresh(all=True)
    assert commit_refs(engine) == [mine]


def test_the_timeline_has_commits_at_their_times(engine: Ricordo, shop: Checkout) -> None:
    engine.add(shop.top, history=True)
    events = [event for event in engine.timeline(since="2024-03-02").events if event.ref.startswith("git:")]
    assert events[0].title == "Retry payments three times"
    assert events[0].at == datetime(2024, 3, 4, 10, tzinfo=UTC)


def test_refresh_takes_in_new_commits_and_no_other(engine: Ricordo, shop: Checkout) -> None:
    engine.add(shop.top, history=True)
    before = set(commit_refs(engine))
    assert len(before) == 3
    assert not engine.refresh(all=True).count("created")
    new = shop.commit("Log payments", log__py="x = 1\n")
    made = [one.ref for one in engine.refresh(shop.top).items if one.status == "created"]
    assert f"git:{shop.top}/{new[:12]}" in made
    assert set(commit_refs(engine)) == before | {f"git:{shop.top}/{new[:12]}"}


def test_without_the_option_no_commit_is_added_and_outside_a_repository_it_is_refused(
    engine: Ricordo, shop: Checkout, tmp_path: Path
) -> None:
    engine.add(shop.top)
    assert commit_refs(engine) == []
    engine.refresh(all=True)
    assert commit_refs(engine) == []
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(UsageError, match="no git repository"):
        engine.add(plain, history=True)


def test_binary_and_vendored_files_large_changes_and_secrets_are_left_out(engine: Ricordo, main: Checkout) -> None:
    main.write("logo.png", b"\x89PNG\x00\x00" + bytes(range(256)))
    main.write("node_modules/lib/index.js", "otherwise()\n")
    main.write("big.txt", "\n".join(f"row {n}" for n in range(5_000)))
    main.write("key.py", 'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"\n')
    main.commit("Import everything")
    main.commit("Only words, and `[[no link]]`")
    engine.add(main.top, history=True)
    item = engine.get(f"git:{main.top}/{main.git('rev-parse', 'HEAD~1')[:12]}")
    assert "otherwise" not in item.content
    assert "node_modules" not in item.content
    assert "logo.png" not in item.content
    assert "and 2 more" in item.content
    assert "wJalrXUtnFEMI" not in item.content
    assert len(item.content) < git_history.LONGEST_CHANGES + 2_000


def test_the_newest_commits_are_read_and_a_note_says_that_there_are_more(
    engine: Ricordo, shop: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_history, "MOST_COMMITS", 2)
    report = engine.add(shop.top, history=True)
    assert len(commit_refs(engine)) == 2
    assert any("the newest 2 commits are read" in note for note in report.notes)


def test_commits_are_read_the_same_in_small_parts(shop: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = git_history.hashes(shop.top)
    whole = list(git_history.read(shop.top, wanted))
    monkeypatch.setattr(git_history, "AT_ONCE", 1)
    assert list(git_history.read(shop.top, wanted)) == whole
    assert [one.hash for one in whole] == wanted


def test_the_terminal_shows_who_committed_what_among_the_versions(
    shop: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(shop.top)
    assert CliRunner().invoke(program, ["add", ".", "--history"]).exit_code == 0
    lines = CliRunner().invoke(program, ["history", "pay.py"]).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]].count("commit") == 2
    assert any(line.startswith("commit") and "Ada" in line and "Retry payments" in line for line in lines)


def test_the_history_of_a_renamed_file_has_the_commits_from_before(engine: Ricordo, shop: Checkout) -> None:
    engine.add(shop.top, history=True)
    shop.git("mv", "pay.py", "payments.py")
    shop.commit("Call it payments", when="2024-03-05T10:00:00Z")
    shop.commit("Pay later", payments__py=f"{PAY}\n# later\n", when="2024-03-06T10:00:00Z")
    engine.refresh(all=True)
    told = ["Pay later", "Call it payments", "Retry payments three times", "Add payments"]
    file = str(shop.top / "payments.py")
    assert [one.fields.title for one in engine.history(file) if one.commit] == told
    other = [one.fields.title for one in engine.history(str(shop.top / "README.md")) if one.commit]
    assert not set(other) & set(told)


def test_a_worktree_adds_only_the_commits_that_its_repository_has_not_stored(
    engine: Ricordo, shop: Checkout, tmp_path: Path
) -> None:
    engine.add(shop.top, history=True)
    before = commit_refs(engine)
    tree = shop.worktree("feature", tmp_path / "tree")
    engine.add(tree.top, history=True)
    assert commit_refs(engine) == before
    tree.commit("Only here", extra__py="x = 1\n")
    engine.add(tree.top, history=True)
    new = set(commit_refs(engine)) - set(before)
    assert [ref.rpartition("/")[0] for ref in new] == [f"git:{shop.top}"]


def test_refresh_in_a_worktree_takes_in_the_commits_of_its_branch_once(
    engine: Ricordo, shop: Checkout, tmp_path: Path
) -> None:
    engine.add(shop.top, history=True)
    tree, other = shop.worktree("feature", tmp_path / "tree"), shop.worktree("other", tmp_path / "other")
    here = tree.commit("Pay by card", pay__py=PAY + "card = True\n")
    there = other.commit("Pay by cheque", pay__py=PAY + "cheque = True\n")
    assert not engine.refresh(all=True).count("created")
    with standing_in(tree.top):
        made = [one.ref for one in engine.refresh(all=True).items if one.status == "created"]
        assert made == [f"git:{shop.top}/{here[:12]}"]
        assert not engine.refresh(all=True).count("created")
    titles = [one.fields.title for one in engine.history(str(shop.top / "pay.py")) if one.commit]
    assert titles == ["Pay by card", "Retry payments three times", "Add payments"]
    made = [one.ref for one in engine.refresh(other.top).items if one.status == "created"]
    assert made == [f"git:{shop.top}/{there[:12]}"]
    shop.git("merge", "-q", "feature")
    assert not [one for one in engine.refresh(all=True).items if one.status == "created" and here[:12] in one.ref]


def test_a_worktree_that_was_added_is_followed_from_anywhere(engine: Ricordo, shop: Checkout, tmp_path: Path) -> None:
    tree = shop.worktree("feature", tmp_path / "tree")
    engine.add(shop.top, tree.top, history=True)
    new = tree.commit("Pay by card", pay__py=PAY + "card = True\n")
    made = [one.ref for one in engine.refresh(all=True).items if one.status == "created"]
    assert made == [f"git:{shop.top}/{new[:12]}"]
    linked = {link.ref for link in engine.links(made[0]).links}
    assert f"disk:{tree.top}/pay.py" in linked


def test_commits_come_after_the_files_that_fit_unless_they_are_asked_for(engine: Ricordo, shop: Checkout) -> None:
    for number in range(80):
        shop.git("commit", "-q", "--allow-empty", "-m", f"Payments and the bank gateway, part {number}")
    (shop.top / "guide.md").write_text(
        "# Guide\n\nHow payments reach the bank: through its gateway, which wants a token for each of them.\n"
    )
    engine.add(shop.top, history=True)
    hits = engine.search("payments bank gateway").hits
    assert hits[0].ref == f"disk:{shop.top}/guide.md"
    assert {hit.ref.partition(":")[0] for hit in hits[1:]} >= {"git"}
    steps = [
        step
        for hit in engine.search("payments bank gateway", explain=True)
        if hit.explain
        for step in hit.explain.steps
    ]
    assert any("sources that fit come before commits" in step for step, _ in steps)
    assert engine.search("why payments bank gateway part 7").hits[0].ref.startswith("git:")


def test_commits_come_after_files_also_where_these_are_in_another_store(
    main: Checkout, tmp_path: Path, opened: Opened
) -> None:
    main.git("commit", "-q", "--allow-empty", "-m", "Payments at the bank gateway")
    outside = Checkout(tmp_path / "outside")
    short = outside.write("short.md", "Payments at the bank gateway.\n")
    long = outside.write("long.md", "How payments reach the bank: through its gateway.\n" + "Tea is at four.\n" * 30)
    opened(outside).add(short, long)
    project = opened(main)
    project.add(main.top, history=True)
    found = [(hit.tier, hit.ref.rpartition("/")[2]) for hit in project.search("payments bank gateway").hits]
    head = main.git("rev-parse", "HEAD")[:12]
    assert found[:3] == [("agent", "short.md"), ("agent", "long.md"), ("project", head)]
    asked = [hit.ref.rpartition("/")[2] for hit in project.search("why payments bank gateway").hits]
    assert asked.index(head) < asked.index("long.md")


def test_without_the_plugin_no_face_has_the_option_and_a_program_is_told(
    engine: Ricordo, shop: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = next(row for row in json.loads(index.FILE.read_text("utf-8")) if row["path"] == "add")
    assert "history" in {param.name for param in rows.verb_row(plain).params}
    monkeypatch.setattr(rows, "installed", dict)
    assert "history" not in {param.name for param in rows.verb_row(plain).params}
    monkeypatch.setattr("ricordo.ingest.add.ask", lambda *_: [])
    with pytest.raises(Unavailable, match="no plugin reads histories"):
        engine.add(shop.top, history=True)
