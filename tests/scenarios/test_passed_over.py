"""What adds nothing to a folder is passed over and counted: copies, links, and what tools make for programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ricordo import Ricordo

from .test_folder import change, found, statuses, write

KEYS = "# Keys\n\nThe signing keys are rotated every thirty days.\n"


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """Two files with the same bytes, two links to them, and another file."""
    folder = write(tmp_path / "manual", keys__md=KEYS, old_keys__md=KEYS, bees__md="# Bees\n\nThe hive hums.\n")
    (folder / "a-link.md").symlink_to("keys.md")
    os.link(folder / "keys.md", folder / "z-link.md")
    return folder


def items_of(engine: Ricordo) -> list[str]:
    return sorted(Path(item.ref.path).name for item in engine.list())


def test_files_with_the_same_bytes_are_one_item_and_one_hit(engine: Ricordo, manual: Path) -> None:
    report = engine.add(manual)
    kept = {"bees.md": "created", "keys.md": "created"}
    assert statuses(report, manual) == kept | dict.fromkeys(("a-link.md", "old/keys.md", "z-link.md"), "skipped")
    reasons = {item.reason for item in report.items if item.status == "skipped"}
    assert reasons == {f"the same bytes as disk:{manual}/keys.md"}
    assert found(engine, "signing keys") == ["keys.md"]
    assert engine.refresh(all=True).count("created") == 0
    assert engine.add(manual).count("created") == 0


def test_a_copy_is_taken_in_when_it_differs(engine: Ricordo, manual: Path) -> None:
    engine.add(manual)
    change(manual / "old" / "keys.md", KEYS + "\nOnce it was a year.\n")
    assert engine.refresh(all=True).count("created") == 1
    assert found(engine, "once a year")[0] == "keys.md"


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "changed"])
def test_a_copy_is_taken_in_when_the_file_that_stood_for_it_does_so_no_more(
    engine: Ricordo, manual: Path, *, is_gone: bool
) -> None:
    (manual / "a-link.md").unlink()
    (manual / "z-link.md").unlink()
    engine.add(manual)
    if is_gone:
        (manual / "keys.md").unlink()
    else:
        change(manual / "keys.md", "# Keys\n\nNobody rotates them.\n")
    engine.refresh(manual / "keys.md", prune=True)  # only that file is looked at, as when folders are watched
    (hit, *_) = engine.search("signing keys rotated every thirty days", track=False).hits
    assert hit.ref == f"disk:{manual}/old/keys.md"


def test_a_file_that_is_named_itself_is_taken_in_whatever_it_is(engine: Ricordo, manual: Path) -> None:
    script = write(manual, app__js="var a = {};" * 100) / "app.js"
    engine.add(manual)
    report = engine.add(manual / "old" / "keys.md", script)
    assert report.count("created") == 2


def test_the_same_bytes_in_two_folders_are_two_items(engine: Ricordo, tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", keys__md=KEYS), write(tmp_path / "other", keys__md=KEYS)
    assert engine.add(one, other).count("created") == 2


def test_what_tools_make_for_programs_is_passed_over(engine: Ricordo, tmp_path: Path) -> None:
    folder = write(tmp_path / "site", page__md="# Page\n\nWords.\n", plain__js="var a = 1;\nvar b = 2;\n")
    made = ("a.woff2", "a.ttf", "app.js.map", "app.css.map", "jquery.min.js", "uv.lock", "package-lock.json")
    for name in made:
        (folder / name).write_text(f"{name}: words words words\n")
    (folder / "searchindex.js").write_text("Search.setIndex({" + "words:[1,2,3]," * 100 + "})\n")
    report = engine.add(folder)
    assert items_of(engine) == ["page.md", "plain.js"]
    assert report.count("skipped") == len(made) + 1
    assert engine.refresh(all=True).count("created") == 0
