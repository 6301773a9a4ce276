"""Skills: found by precedence, taken in once per name, noticed when they change, found for a task."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, NotFound, Ricordo, UsageError
from ricordo.config.loading import trust
from ricordo.values.hits import Filters

Writer = Callable[..., Path]


@pytest.fixture
def write() -> Writer:
    """Writes a SKILL.md below a root and answers its path."""

    def write_one(root: Path, name: str, description: str = "", body: str = "Do it.", *, front: str = "") -> Path:
        path = root / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        front = front or f"---\nname: {name}\ndescription: {description or f'About {name}'}\n---\n"
        path.write_text(f"{front}{body}\n", encoding="utf-8")
        return path

    return write_one


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


def open_in(folder: Path, **settings: Any) -> Ricordo:
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"embedding.provider": "none", **settings}
    return Ricordo.open(folder / "store.db", config=ConfigProvider(settings, start=folder), start=folder)


def statuses(report: Any) -> dict[str, str]:
    return {saved.ref: saved.status for saved in report.items}


def described(engine: Ricordo) -> dict[str, str]:
    """The skills with their descriptions."""
    listed = engine.list(filters=Filters(kinds=("skill",)))
    return {item.ref.path.lstrip("/"): item.fields.description for item in listed}


def test_every_skill_below_a_root_becomes_an_item_with_its_text_and_place(
    engine: Ricordo, tmp_path: Path, write: Writer
) -> None:
    path = write(tmp_path / "skills", "pdf", "Work with PDF forms", "# PDF\n\nRun fill.py.")
    write(tmp_path / "skills" / "nested" / "deep", "docx")
    (tmp_path / "skills" / "pdf" / "notes.md").write_text("not a skill")
    assert statuses(engine.skills_add(tmp_path / "skills")) == {"skill:/docx": "created", "skill:/pdf": "created"}
    item = engine.get("skill:/pdf")
    assert item.kind == "skill"
    assert item.title == "pdf"
    assert item.content == "# PDF\n\nRun fill.py.\n"
    assert item.first_line == 5
    assert item.fields.description == "Work with PDF forms"
    assert item.fields.source_url == path.as_uri()
    assert engine.get("skill:/pdf").fields.metadata["location"] == str(path)
    assert engine.skill("pdf").ref == engine.skill("skill:/pdf").ref


def test_the_workspace_comes_before_the_user_and_shadowed_ones_are_reported(
    tmp_path: Path, home: Path, write: Writer
) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    write(home / ".claude/skills", "pdf", "The user's")
    write(work / ".agents/skills", "pdf", "The second of the workspace")
    write(work / ".claude/skills", "pdf", "The workspace's")
    write(home / ".codex/skills", "sql", "Only the user's")
    with open_in(work / "deep" / "inside") as engine:
        report = engine.skills_add()
        assert described(engine) == {
            "pdf": "The workspace's",
            "sql": "Only the user's",
        }
        shadowed = [saved.reason or "" for saved in report.items if saved.status == "skipped"]
        assert len(shadowed) == 2
        assert all("shadowed" in reason and str(work / ".claude") in reason for reason in shadowed)


def test_roots_that_are_named_are_ranked_by_where_they_lie(tmp_path: Path, home: Path, write: Writer) -> None:
    work = tmp_path / "work"
    write(tmp_path / "elsewhere", "pdf", "The machine's")
    write(home / "mine", "pdf", "The user's")
    write(work / "skills", "pdf", "The workspace's")
    with open_in(work) as engine:
        engine.skills_add(tmp_path / "elsewhere")
        assert engine.skill("pdf").fields.description == "The machine's"
        engine.skills_add(tmp_path / "elsewhere", home / "mine")
        assert engine.skill("pdf").fields.description == "The user's"
        engine.skills_add("skills")
        assert engine.skill("pdf").fields.description == "The workspace's"
        report = engine.skills_add(home / "mine")
        assert [saved.status for saved in report.items] == ["skipped"]
        assert "shadowed" in (report.items[0].reason or "")
        assert engine.skill("pdf").fields.description == "The workspace's"


def test_when_the_first_of_a_name_goes_the_next_takes_its_place(tmp_path: Path, home: Path, write: Writer) -> None:
    work = tmp_path / "work"
    path = write(work / "skills", "pdf", "The workspace's")
    write(home / ".claude/skills", "pdf", "The user's")
    with open_in(work) as engine:
        engine.skills_add()
        path.unlink()
        assert statuses(engine.skills_add()) == {"skill:/pdf": "updated"}
        assert engine.skill("pdf").fields.description == "The user's"


def test_a_changed_skill_is_read_again_by_add_and_by_refresh_and_others_are_not(
    engine: Ricordo, tmp_path: Path, write: Writer
) -> None:
    root = tmp_path / "skills"
    write(root, "pdf", "Old words")
    write(root, "sql")
    engine.skills_add(root)
    engine.edit("skill:/pdf", fields={"importance": 5})
    write(root, "pdf", "Newer words", "Other text.")
    assert statuses(engine.skills_add(root)) == {"skill:/pdf": "updated", "skill:/sql": "skipped"}
    assert engine.skill("pdf").fields.description == "Newer words"
    assert engine.skill("pdf").fields.importance == 5
    write(root, "pdf", "Newest words of all", "More text.")
    refreshed = {one.ref: one.status for one in engine.refresh("skill:/").items}
    assert refreshed == {"skill:/pdf": "updated", "skill:/sql": "unchanged"}
    item = engine.skill("pdf")
    assert (item.fields.description, item.content, item.title) == ("Newest words of all", "More text.\n", "pdf")
    assert item.fields.metadata["location"] == str(root / "pdf" / "SKILL.md")


def test_an_edit_of_a_skill_is_noticed_before_the_context_and_by_every_look_at_skills(
    tmp_path: Path, engine: Ricordo, write: Writer
) -> None:
    file = write(tmp_path / "skills", "tea", "How to brew tea.")
    engine.skills_add(tmp_path / "skills")
    looks: tuple[Callable[[], str], ...] = (
        lambda: engine.context("brew tea in a pot").text,
        lambda: engine.skills_search("brew tea")[0].description,
        lambda: engine.skill("tea").fields.description,
    )
    for number, look in enumerate(looks):
        file.write_text(file.read_text().replace("description: ", f"description: ({number}) "))
        engine._next_look = 0.0  # a second later
        assert f"({number})" in look()


def test_a_skill_whose_file_is_gone_is_reported_and_removed_on_request(
    engine: Ricordo, tmp_path: Path, write: Writer
) -> None:
    root = tmp_path / "skills"
    path = write(root, "pdf")
    write(root, "sql")
    engine.skills_add(root)
    path.unlink()
    assert statuses(engine.skills_add(root))["skill:/pdf"] == "missing"
    assert [one.status for one in engine.refresh("skill:/pdf").items] == ["missing"]
    assert engine.skill("pdf").content == "Do it.\n"
    assert statuses(engine.skills_add(root, prune=True))["skill:/pdf"] == "removed"
    assert list(described(engine)) == ["sql"]


def test_a_skill_without_a_name_or_with_broken_yaml_has_its_folders_name(
    engine: Ricordo, tmp_path: Path, write: Writer
) -> None:
    root = tmp_path / "skills"
    write(root, "nameless", front="---\ndescription: Something\n---\n")
    write(root, "bare", front="# Bare\n")
    write(root, "broken", front="---\nname: [oops\ndescription: Use when: forms break\n---\n")
    write(root, "colon", front="---\nname: invoice-maker\ndescription: Make invoices: with tax\n---\n")
    write(root, "number", front="---\nname: 42\ndescription: The answer\n---\n")
    write(root, "sneaky", front="---\nname: ../../etc/passwd\ndescription: Sneaks out\n---\n")
    report = engine.skills_add(root)
    assert report.failed == 0
    assert described(engine) == {
        "42": "The answer",
        "bare": "",
        "broken": "Use when: forms break",
        "etc-passwd": "Sneaks out",
        "invoice-maker": "Make invoices: with tax",
        "nameless": "Something",
    }
    notes = "\n".join(report.notes)
    assert "not valid YAML" in notes
    for name in ("nameless", "bare", "broken"):
        assert f"its folder's is used: {name}" in notes
    assert "no description" in notes
    write(root, "broken", front="---\nname: broken\ndescription: Mended\n---\n")
    engine.skills_add(root)
    assert engine.skill("broken").fields.description == "Mended"


def test_one_bad_file_does_not_stop_the_rest(engine: Ricordo, tmp_path: Path, write: Writer) -> None:
    root = tmp_path / "skills"
    write(root, "good")
    (root / "odd").mkdir()
    (root / "odd" / "SKILL.md").write_bytes(b"---\nname: odd\ndescription: caf\xe9 \x00\n---\n\xff\xfe\x00 text")
    (root / "folder" / "SKILL.md").mkdir(parents=True)
    report = engine.skills_add(root, tmp_path / "nowhere", root / "good" / "SKILL.md")
    assert statuses(report)["skill:/good"] in ("created", "skipped")
    failed = [saved for saved in report.items if saved.status == "failed"]
    assert str(tmp_path / "nowhere") in {saved.ref for saved in failed}
    assert "good" in described(engine)


def command(tmp_path: Path, script: str) -> str:
    program = tmp_path / "list_skills.py"
    program.write_text(script, encoding="utf-8")
    return f"{sys.executable} {program}"


def test_a_command_may_list_skills_here_and_elsewhere_and_comes_last(tmp_path: Path, home: Path, write: Writer) -> None:
    local = write(tmp_path / "hub", "sql", "In the file", "SELECT 1").parent
    write(tmp_path / "work" / "skills", "pdf", "The workspace's")
    entries = [
        {"name": "sql", "path": str(local), "description": "In the list"},
        {"name": "pdf", "path": "/nowhere", "description": "Hidden behind the workspace's"},
        {"name": "far", "path": "https://hub.example.org/far", "description": "Lives elsewhere"},
        {"description": "nameless"},
    ]
    listing = command(tmp_path, f"import json; print(json.dumps({entries!r}))")
    with open_in(tmp_path / "work", **{"skills.command": listing}) as engine:
        report = engine.skills_add()
        assert described(engine) == {
            "far": "Lives elsewhere",
            "pdf": "The workspace's",
            "sql": "In the list",
        }
        assert engine.skill("sql").content == "SELECT 1\n"
        assert engine.skill("far").fields.source_url == "https://hub.example.org/far"
        assert [saved.ref for saved in report.items if saved.status == "failed"] == ["entry 4 of the list"]
        again = statuses(engine.skills_add())
        assert again["skill:/far"] == "skipped"
        assert again["skill:/sql"] == "skipped"
        command(tmp_path, "print('[]')")
        assert statuses(engine.skills_add())["skill:/far"] == "missing"


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("import time; time.sleep(60)", "unavailable", "within 0.5 s"),
        ("import sys; sys.exit('no network')", "unavailable", "no network"),
        ("print('hello')", "contract", "did not print JSON"),
        ("print('{}')", "contract", "not a list"),
    ],
)
def test_a_command_that_fails_is_an_error_with_a_hint_and_the_rest_is_taken_in(
    tmp_path: Path, home: Path, write: Writer, script: str, code: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "work" / "skills", "pdf")
    monkeypatch.setattr("ricordo.plugins.skills.intake.COMMAND_SECONDS", 0.5 if "sleep" in script else 120.0)
    settings = {"skills.command": command(tmp_path, script)}
    with open_in(tmp_path / "work", **settings) as engine:
        report = engine.skills_add()
    assert statuses(report) == {"skills.command": "failed", "skill:/pdf": "created"}
    error = next(saved.error for saved in report.items if saved.error)
    assert error is not None
    assert error["code"] == code
    assert words in error["message"]
    assert error["hint"]


def test_a_command_that_does_not_exist_is_an_error(tmp_path: Path, home: Path) -> None:
    for bad in ("no-such-program-here --list", "'unbalanced"):
        with open_in(tmp_path / "work", **{"skills.command": bad}) as engine:
            assert statuses(engine.skills_add()) == {"skills.command": "failed"}


def test_a_projects_settings_run_no_command_until_they_are_trusted(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    settings = work / ".ricordo" / "config.toml"
    settings.parent.mkdir(parents=True)
    proof = tmp_path / "proof"
    listing = command(tmp_path, f"open({str(proof)!r}, 'w').close(); print('[]')")
    settings.write_text(f"[skills]\ncommand = {json.dumps(listing)}\n[embedding]\nprovider = 'none'\n")
    config = ConfigProvider(start=work)
    with Ricordo.open(work / "store.db", config=config, start=work) as engine:
        report = engine.skills_add()
        assert not proof.exists()
        assert any("skills.command" in note and "trust" in note for note in report.notes)
    trust(settings)
    with Ricordo.open(work / "store.db", config=ConfigProvider(start=work), start=work) as engine:
        engine.skills_add()
    assert proof.exists()


def test_an_unknown_skill_names_near_ones(engine: Ricordo, tmp_path: Path, write: Writer) -> None:
    with pytest.raises(NotFound) as none:
        engine.skill("pdf")
    assert "skills add" in none.value.hint
    write(tmp_path / "skills", "pdf-forms")
    engine.skills_add(tmp_path / "skills")
    with pytest.raises(NotFound) as problem:
        engine.skill("PDF-form")
    assert "pdf-forms" in problem.value.hint
    engine.save("note:/x", "A note")
    with pytest.raises(NotFound, match="not a skill"):
        engine.skill("note:/x")


def test_skills_are_found_by_what_they_are_for(engine: Ricordo, tmp_path: Path, write: Writer) -> None:
    root = tmp_path / "skills"
    write(root, "pdf", "Fill in and read PDF forms")
    write(root, "sql", "Write queries for databases")
    engine.skills_add(root)
    engine.save("note:/pdf", "PDF forms PDF forms")
    assert [skill.name for skill in engine.skills_search("read the form in invoice.pdf -draft")] == ["pdf"]
    assert engine.skills_search("knitting") == ()
    with pytest.raises(UsageError):
        engine.skills_search("  ")


def test_the_log_of_questions_has_only_the_skills_that_were_shown(
    open_engine: Any, tmp_path: Path, write: Writer
) -> None:
    engine = open_engine(**{"search.min_fit": 0.9})
    write(tmp_path / "skills", "pdf", "Fill in and read PDF forms")
    write(tmp_path / "skills", "forms", "Talk about forms of government")
    engine.skills_add(tmp_path / "skills")
    shown = engine.skills_search("read and fill in a PDF form")
    assert (len(shown), len(engine.search("read and fill in a PDF form", track=False).hits)) == (1, 2)
    assert engine._context.tracker is not None
    assert engine._context.tracker.flush(60)
    (question,) = engine.log().questions
    assert ([hit.ref for hit in question.shown], question.results) == ([shown[0].ref], 1)


def test_a_link_to_a_skill_folder_is_followed(engine: Ricordo, tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "repository", "pdf")
    (tmp_path / "skills").mkdir()
    try:
        (tmp_path / "skills" / "pdf").symlink_to(tmp_path / "repository" / "pdf")
    except OSError:
        pytest.skip("no links here")
    engine.skills_add(tmp_path / "skills")
    assert engine.skill("pdf").fields.metadata["location"] == str(tmp_path / "skills" / "pdf" / "SKILL.md")


def test_a_listing_may_say_location_file_or_content(open_engine: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\nHow to do {name}.")
    listed = [
        {"name": "one", "location": str(tmp_path / "one")},
        {"name": "two", "file": str(tmp_path / "two" / "SKILL.md")},
        {"name": "three", "description": "d", "content": "# Three\n\nHow to do three."},
        {"name": "four", "description": "d", "path": "/no/such/place"},
    ]
    (tmp_path / "list.json").write_text(json.dumps(listed))
    printing = "import sys,pathlib;print(pathlib.Path(sys.argv[1]).read_text())"
    command = f"{sys.executable} -c '{printing}' {tmp_path / 'list.json'}"
    engine = open_engine(**{"skills.command": command})
    report = engine.skills_add()
    for name in ("one", "two", "three"):
        assert f"How to do {name}." in engine.skill(name).content
    assert any("no file /no/such/place" in note for note in report.notes)


def test_skills_below_a_least_score_are_left_out(open_engine: Any, tmp_path: Path) -> None:
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf" / "SKILL.md").write_text("---\nname: pdf\ndescription: Fill in forms\n---\nUse a library.")
    engine = open_engine()
    engine.skills_add(tmp_path)
    task = "forms of government in ancient Athens"
    assert [skill.name for skill in engine.skills_search(task)] == ["pdf"]
    assert engine.skills_search(task, min_score=0.999) == ()
