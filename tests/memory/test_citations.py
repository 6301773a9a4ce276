"""Memories that name files of the project say what became of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Ricordo

Opens = Callable[..., Ricordo]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src" / "cart.py").write_text("def total(): ...")
    monkeypatch.chdir(folder)
    return folder


def told(mind: Ricordo) -> tuple[str, ...]:
    (hit,) = mind.search("where is the total computed").hits
    return hit.citations


def test_a_memory_says_whether_the_file_it_names_is_fresh_changed_moved_or_gone(opens: Opens, project: Path) -> None:
    mind = opens()
    mind.remember("The total is computed in src/cart.py:1, and missing.py does not exist.")
    assert told(mind) == ("src/cart.py: fresh",)
    (project / "src" / "cart.py").rename(project / "cart.py")
    assert told(mind) == ("src/cart.py: moved to cart.py",)
    (project / "src" / "cart.py").write_text("something else")
    assert told(mind) == ("src/cart.py: changed",)
    (project / "src" / "cart.py").unlink()
    (project / "cart.py").unlink()
    assert told(mind) == ("src/cart.py: gone",)


def test_a_memory_of_a_lost_file_ranks_lower_and_agents_are_told_so(opens: Opens, project: Path) -> None:
    mind = opens()
    mind.remember("The total of a cart is computed in src/cart.py.")
    rule = mind.remember("Never touch src/cart.py by hand.", loading="always")
    before = mind.search("total of a cart").hits[0].score
    (project / "src" / "cart.py").unlink()
    hit = mind.search("total of a cart", explain=True).hits[0]
    assert hit.score == pytest.approx(before * 0.5)
    assert hit.explain is not None
    assert hit.explain.steps[-1] == ("cites a file that is gone ×0.5", hit.score)
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
