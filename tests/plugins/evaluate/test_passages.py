"""Whether the passage that is shown answers: questions over a folder of documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ricordo.config.loading import Config, load_config
from ricordo.errors import NotFound, Unreadable
from ricordo.plugins.evaluate.run import evaluate_passages

QUESTION = {
    "question": "how often do I feed the starter",
    "answers": [{"file": "bread/starter.md", "quote": "Feed it twice a day"}],
    "part": "held back",
}


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    (folder / "bread").mkdir(parents=True)
    filler = "Nothing of that kind is said in this paragraph, which only fills the page. " * 12
    (folder / "bread" / "starter.md").write_text(
        f"# Sourdough\n\n## History\n\n{filler}\n\n## Feeding the starter\n\nFeed it twice\na day, with flour.\n"
    )
    (folder / "soup.md").write_text("# Soup\n\nA soup is for guests, who feed on it.\n")
    return folder


def words_only() -> Config:
    config = load_config()
    return replace(config, embedding=replace(config.embedding, provider="none"))


def written(folder: Path, *rows: object) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def test_a_page_and_the_passage_shown_of_it_are_judged_by_part(handbook: Path, tmp_path: Path) -> None:
    wrong = {**QUESTION, "part": "chosen on", "answers": [{"file": "soup.md", "quote": "who feed on it"}]}
    file = written(tmp_path, QUESTION, wrong)
    report = evaluate_passages(handbook, file, config=words_only(), cache_dir=tmp_path / "cache")
    held, chosen = report.rows["default"]["held back"], report.rows["default"]["chosen on"]
    assert (held["queries"], held["page@1"], held["passage"], held["words"]) == (1, 1, 1, 1)
    assert (chosen["page@1"], chosen["page@3"], chosen["passage@1"]) == (0, 1, 0)
    assert "held back" in report.table()
    again = evaluate_passages(handbook, file, config=words_only(), cache_dir=tmp_path / "cache")
    assert again == report
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ({"question": "what"}, Unreadable, "line 1 is not a question"),
        ({**QUESTION, "answers": [{"file": "none.md", "quote": "x"}]}, NotFound, "names 'none.md'"),
        ({**QUESTION, "answers": [{"file": "soup.md", "quote": "stew"}]}, Unreadable, "does not say 'stew'"),
    ],
)
def test_a_broken_question_is_named_with_its_line(
    handbook: Path, tmp_path: Path, row: object, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        evaluate_passages(handbook, written(tmp_path, row), config=words_only(), cache_dir=tmp_path / "cache")
