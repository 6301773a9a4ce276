"""Memories that name files, symbols, items or pages say what became of them."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Ricordo, UsageError
from ricordo.plugins.upkeep import citations

Opens = Callable[..., Ricordo]
CART = "class Cart:\n    def total(self):\n        return 1\n\n    def clear(self):\n        return None\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src" / "cart.py").write_text("def total(): ...")
    monkeypatch.chdir(folder)
    return folder


def git(folder: Path, *arguments: str) -> None:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    shutil.rmtree(project / ".git")
    git(project, "init", "-q", "-b", "main")
    (project / "src" / "cart.py").write_text(CART)
    git(project, "add", ".")
    git(project, "commit", "-qm", "Begin")
    return project


def told(mind: Ricordo) -> tuple[str, ...]:
    (hit,) = mind.search("where is the total computed").hits
    return hit.citations


def test_a_memory_says_whether_the_file_it_names_is_fresh_changed_moved_or_gone(opens: Opens, project: Path) -> None:
    mind = opens()
    mind.remember("The total is computed in src/cart.py, and missing.py does not exist.")
    assert told(mind) == ("src/cart.py: fresh",)
    (project / "src" / "cart.py").rename(project / "cart.py")
    assert told(mind) == ("src/cart.py: moved to cart.py",)
    (project / "src" / "cart.py").write_text("something else")
    assert told(mind) == ("src/cart.py: changed",)
    (project / "src" / "cart.py").unlink()
    (project / "cart.py").unlink()
    assert told(mind) == ("src/cart.py: gone",)


def test_the_lines_that_changed_are_shown_beside_those_that_were_cited(opens: Opens, repository: Path) -> None:
    mind = opens()
    ref = mind.remember("The total is computed by `Cart.total` in src/cart.py.").ref

    def changed() -> dict[str, tuple[str, str, int]]:
        rows = citations.cited_texts(mind._context.store, mind.get(ref))
        return {what: (before.text if before else "", now.text, now.line) for what, before, now in rows}

    assert changed() == {}
    later = "# A cart\n" + CART.replace("return 1", "return 2")
    (repository / "src" / "cart.py").write_text(later)
    total = "    def total(self):\n        return {}"
    assert changed() == {"src/cart.py": (CART, later, 1), "Cart.total": (total.format(1), total.format(2), 3)}
    git(repository, "commit", "-qam", "Count again")
    (repository / "src" / "cart.py").write_text(later + "\n")
    assert changed()["src/cart.py"][0] == CART, "what was cited is found among earlier commits"


def test_a_slow_machine_finds_as_much(opens: Opens, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at a file takes an hour by the clock."""
    (project / "src" / "cart.py").write_text(CART)
    late, clock = [0.0], time.monotonic
    read = citations.ProjectFiles._read_file

    def slowly(files: citations.ProjectFiles, path: str) -> citations.FileNow | None:
        late[0] += 3600
        return read(files, path)

    monkeypatch.setattr(citations.ProjectFiles, "_read_file", slowly)
    mind = opens()
    monkeypatch.setattr(time, "monotonic", lambda: clock() + late[0])
    mind.remember("The total is computed by Cart.total() alone.")
    assert told(mind) == ("Cart.total: fresh",)
    (project / "src" / "cart.py").rename(project / "basket.py")
    assert told(mind) == ("Cart.total: moved to basket.py:2",)
    assert late[0] >= 3600


def test_what_only_moved_is_told_without_doubt(opens: Opens, project: Path) -> None:
    mind = opens()
    rule = mind.remember("The total is computed in src/cart.py.", loading="always")
    (project / "src" / "cart.py").rename(project / "cart.py")
    text = mind.context("").text
    assert f"[{rule.ref} cites src/cart.py, which has moved]" in text
    assert "no longer sure" not in text


@pytest.mark.parametrize("written", ["Cart.total()", "`Cart.total`", "Cart.total"])
def test_a_cited_symbol_is_known_by_its_definition(opens: Opens, project: Path, written: str) -> None:
    file = project / "src" / "cart.py"
    file.write_text(CART)
    mind = opens()
    saved = mind.remember(f"The total is computed by {written}, and nowhere() does not exist.")
    [cited] = mind.get(saved.ref).fields.metadata["citations"]
    assert (cited["path"], cited["symbol"]) == ("src/cart.py", "Cart.total")
    file.write_text(CART.replace("None", "0"))
    assert told(mind) == ("Cart.total: fresh",)
    file.write_text(CART.replace("return 1", "return 2"))
    assert told(mind) == ("Cart.total: changed",)
    (project / "sums.py").write_text(CART)
    file.write_text("")
    assert told(mind) == ("Cart.total: moved to sums.py:2",)
    (project / "sums.py").unlink()
    assert told(mind) == ("Cart.total: gone",)


def test_a_cited_item_is_followed_through_edits_moves_and_replacements(opens: Opens, project: Path) -> None:
    mind = opens()
    mind.remember("Add up the prices.", ref="note:/sums", kind="note")
    saved = mind.remember("How the total is computed is in note:/sums.")
    assert told_of(mind, saved.ref) == ["note:/sums: fresh"]
    mind.edit("note:/sums", fields={"importance": 3})
    assert told_of(mind, saved.ref) == ["note:/sums: fresh"]
    mind.mv("note:/sums", "note:/adding")
    assert told_of(mind, saved.ref) == ["note:/sums: moved to note:/adding"]
    mind.edit("note:/adding", "Add up the prices and the tax.")
    [cited] = mind.get(saved.ref).cites
    assert cited.state == "changed"
    right = mind.correct("note:/adding", "Multiply the prices.")
    assert told_of(mind, saved.ref) == [f"note:/sums: replaced by {right.ref}"]
    mind.rm(right.ref)
    assert told_of(mind, saved.ref) == ["note:/sums: gone"]


def told_of(mind: Ricordo, ref: str) -> list[str]:
    return [str(one) for one in mind.get(ref).cites]


def test_a_url_is_compared_with_the_page_that_is_stored(opens: Opens, project: Path) -> None:
    mind = opens()
    mind.save("url:/https://example.org/total", "The total is a sum.")
    saved = mind.remember("The total is explained on https://example.org/total, not on https://example.org/other.")
    assert told_of(mind, saved.ref) == ["https://example.org/total: fresh"]
    mind.edit("url:/https://example.org/total", "The total is a product.")
    assert told_of(mind, saved.ref) == ["https://example.org/total: changed"]


def test_what_is_given_is_cited_besides_what_the_text_names_and_must_be_there(opens: Opens, project: Path) -> None:
    (project / "src" / "tax.py").write_text("def tax():\n    return 2\n")
    mind = opens()
    mind.remember("Add up.", ref="note:/sums", kind="note")
    saved = mind.remember("The total has a tax.", cites=["src/cart.py:1", "tax()", "note:/sums"])
    assert told_of(mind, saved.ref) == ["src/cart.py: fresh", "tax: fresh", "note:/sums: fresh"]
    mind.edit(saved.ref, "The total has two taxes, as src/tax.py says.")
    assert len(mind.get(saved.ref).cites) == 4
    with pytest.raises(UsageError, match=r"nothing here is called 'src/none\.py'"):
        mind.remember("The total is nothing.", cites=["src/none.py"])
    with pytest.raises(UsageError, match="only memories cite"):
        mind.remember("The total is nothing.", cites=["src/cart.py"], kind="note")


def test_a_new_text_cites_what_it_names_and_no_longer_what_the_old_one_named(opens: Opens, project: Path) -> None:
    (project / "src" / "tax.py").write_text("def tax(): ...\n")
    mind = opens()
    saved = mind.remember("The total is computed in src/cart.py.")
    mind.edit(saved.ref, "The total is computed in src/tax.py.")
    assert told(mind) == ("src/tax.py: fresh",)
    (project / "src" / "tax.py").write_text("def tax(): return 0\n")
    assert told(mind) == ("src/tax.py: changed",)
    mind.edit(saved.ref, "The whole total is computed in src/tax.py.")
    assert told(mind) == ("src/tax.py: fresh",)
    mind.correct(saved.ref, "The total is computed by hand.")
    assert told(mind) == ()


def test_a_file_that_git_renamed_is_moved_even_if_it_was_edited(opens: Opens, repository: Path) -> None:
    mind = opens()
    mind.remember("The total is computed in src/cart.py.")
    git(repository, "mv", "src/cart.py", "src/basket.py")
    (repository / "src" / "basket.py").write_text(CART + "# edited\n")
    assert told(mind) == ("src/cart.py: moved to src/basket.py",)
    git(repository, "commit", "-qam", "Rename")
    assert told(mind) == ("src/cart.py: moved to src/basket.py",)
    git(repository, "mv", "src/basket.py", "bag.py")
    git(repository, "commit", "-qam", "Rename again")
    assert told(mind) == ("src/cart.py: moved to bag.py",)
    git(repository, "rm", "-q", "bag.py")
    git(repository, "commit", "-qm", "Remove")
    assert told(mind) == ("src/cart.py: gone",)


def test_citations_hold_in_all_work_trees(
    opens: Opens, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    git(repository, "worktree", "add", "-q", "-b", "feature", str(tree))
    monkeypatch.chdir(tree)
    (tree / "new.py").write_text("def taxes(): ...\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "Taxes")
    mind = opens()
    mind.remember("The total is computed in src/cart.py and new.py.")
    (tree / "src" / "cart.py").write_text("")
    assert told(mind) == ("src/cart.py: changed", "new.py: fresh")
    monkeypatch.chdir(repository)
    assert told(mind) == ("src/cart.py: fresh", "new.py: gone")


def test_a_memory_of_a_lost_file_ranks_lower_and_agents_are_told_so(opens: Opens, project: Path) -> None:
    mind = opens()
    mind.remember("The total of a cart is computed in src/cart.py.")
    rule = mind.remember("Never touch src/cart.py by hand.", loading="always")
    before = mind.search("total of a cart").hits[0].score
    (project / "src" / "cart.py").unlink()
    hit = mind.search("total of a cart", explain=True).hits[0]
    assert hit.score == pytest.approx(before * 0.5)
    assert hit.explain is not None
    assert hit.explain.steps[-1] == ("cites what is gone ×0.5", hit.score)
    told = mind.context("total of a cart").text
    assert told.count("no longer sure: cites src/cart.py, which is gone]") == 2
    assert f"[{rule.ref} no longer sure" in told


def test_files_outside_the_project_and_of_other_projects_are_not_looked_at(
    opens: Opens, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "secret.txt").write_text("x")
    (project / "link.txt").symlink_to(project.parent / "secret.txt")
    mind = opens()
    saved = mind.remember("The total is in link.txt, ../secret.txt and src/cart.py.")
    assert [one["path"] for one in mind.get(saved.ref).fields.metadata["citations"]] == ["src/cart.py"]
    monkeypatch.chdir(project.parent)
    assert told(mind) == ()


def test_citations_that_nobody_can_read_are_left_alone(opens: Opens, project: Path) -> None:
    mind = opens()
    odd = [1, {"path": 2}, {"project": "shop", "path": "../secret.txt", "hash": "x"}, {"item": "x", "id": 1},
           {"project": "shop", "path": "src/cart.py", "hash": "x", "lines": "all"}]  # fmt: skip
    saved = mind.remember("The total is computed.", metadata={"citations": odd})
    assert mind.get(saved.ref).cites == ()
    assert told(mind) == ()


def test_lines_that_an_earlier_version_cited_count_as_their_file_and_commands_as_nothing(
    opens: Opens, project: Path
) -> None:
    mind = opens()
    saved = mind.remember("The total is computed in src/cart.py.")
    [cited] = mind.get(saved.ref).fields.metadata["citations"]
    old = [cited | {"lines": [1, 1], "hash": "x", "file": cited["hash"]}, cited | {"command": "make", "runs": "make"}]
    mind.edit(saved.ref, fields={"metadata": {"citations": old}})
    assert told(mind) == ("src/cart.py: fresh",)


def test_a_text_edited_in_its_file_cites_what_it_names_and_keeps_that(opens: Opens, project: Path) -> None:
    (project / "src" / "tax.py").write_text("def tax(): ...\n")
    mind = opens(knowledge__folder=str(project / "known"), knowledge__enabled=True)
    saved = mind.remember("The total is computed in src/cart.py.", cites=["src/tax.py"], title="Total")
    file = project / "known" / "memories" / f"{saved.ref.removeprefix('memory:/')}.md"
    text = file.read_text()
    file.write_text(text.replace("in src/cart.py", "in README.md, by hand"))
    (project / "README.md").write_text("Sums are made by hand.")
    mind.sync()
    assert told(mind) == ("src/tax.py: fresh", "README.md: fresh")
    (project / "README.md").write_text("Sums are made elsewhere.")
    file.write_text(file.read_text().replace("title: Total", "title: Sums"))
    mind.sync()
    assert mind.get(saved.ref).title == "Sums"
    assert told(mind) == ("src/tax.py: fresh", "README.md: changed")
    assert "src/cart.py" in file.read_text(), "what a person edits is not written at the same time"


def test_a_file_written_by_hand_cites_what_it_names(opens: Opens, project: Path) -> None:
    mind = opens(knowledge__folder=str(project / "known"), knowledge__enabled=True)
    (project / "known" / "memories").mkdir(parents=True)
    (project / "known" / "memories" / "total.md").write_text("The total is computed in src/cart.py.\n")
    mind.sync()
    assert told(mind) == ("src/cart.py: fresh",)
    (project / "src" / "cart.py").unlink()
    assert told(mind) == ("src/cart.py: gone",)


def test_what_belongs_to_another_project_is_kept_as_long_as_the_text_names_it(
    opens: Opens, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = opens()
    saved = mind.remember("The total is computed in src/cart.py.")
    (tmp_path / "elsewhere" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    mind.edit(saved.ref, "The grand total is computed in src/cart.py.")
    monkeypatch.chdir(project)
    assert told(mind) == ("src/cart.py: fresh",)
    monkeypatch.chdir(tmp_path / "elsewhere")
    mind.edit(saved.ref, "The grand total is computed by hand.")
    monkeypatch.chdir(project)
    assert told(mind) == ()
