"""Measures whether the passage that a hit shows is one that answers: questions over a folder of documents.

A file of questions has one JSON object a line: ``{"question", "answers": [{"file", "quote"}], "part"}``. ``file`` is a
path below the folder, ``quote`` a few words of the lines that answer, ``part`` an optional name by which results are
shown apart (questions that something was chosen by, and others that were held back). The folder is added to a store in
the user's cache as ``add`` would do it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.loading import Config, load_config
from ricordo.engine import Ricordo
from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.evaluate.run import BASELINES
from ricordo.evaluate.stores import default_cache_folder, index_settings
from ricordo.evaluate.tables import aligned
from ricordo.frozen import frozen
from ricordo.search.profiles import find_profile
from ricordo.values.hits import Hit
from ricordo.values.reports import Progress

DEPTH = 10
FIGURES = ("page@1", "page@3", "page@10", "passage", "one of three", "words", "passage@1", "passage@3")
_SHAPE = 'A line is {"question": "…", "answers": [{"file": "guide/setup.md", "quote": "a few words of the answer"}]}.'


@frozen
class Answering:
    """Lines of a page that answer a question, and the words that were quoted."""

    path: Path
    lines: tuple[int, int]
    quote: str


@frozen
class PassageQuestion:
    """A question with all lines that are known to answer it."""

    text: str
    part: str
    answers: tuple[Answering, ...]


@frozen
class PassageReport:
    """By profile and part: how many questions there were, and the figures."""

    dataset: str
    rows: Mapping[str, Mapping[str, Mapping[str, float]]]
    queries: int

    def to_dict(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "queries": self.queries, "passages": self.rows}

    def table(self) -> str:
        """One line for each profile and part."""
        rows = [
            [self.dataset, name, part, str(int(row["queries"])), *(f"{row[one]:.3f}" for one in FIGURES)]
            for name, parts in self.rows.items()
            for part, row in parts.items()
        ]
        return aligned(("folder", "profile", "part", "questions", *FIGURES), rows, left=3)


def read_questions(file: str | Path, folder: Path) -> list[PassageQuestion]:
    """The questions of a file; a quotation that its page does not have is an error with the line's number."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise NotFound(f"there is no file '{path}'", hint=_SHAPE)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            pairs = [(str(one["file"]), str(one["quote"])) for one in row["answers"]]
            question, part = str(row["question"]), str(row.get("part", "all"))
        except (ValueError, KeyError, TypeError):
            raise Unreadable(f"{path}, line {number} is not a question with its answers", hint=_SHAPE) from None
        answers = [_answering(folder, name, quote, f"{path}, line {number}") for name, quote in pairs]
        found.append(PassageQuestion(question, part, tuple(answers)))
    if not found:
        raise UsageError(f"'{path}' holds no question", hint=_SHAPE)
    return found


def _answering(folder: Path, name: str, quote: str, where: str) -> Answering:
    path = folder / name
    if not path.is_file():
        raise NotFound(
            f"{where} names '{name}', which is not in '{folder}'", hint="Name the folder it was written for."
        )
    text = path.read_text(encoding="utf-8", errors="replace")
    match = re.search(r"\s+".join(map(re.escape, quote.split())), text) if quote.strip() else None
    if match is None:
        raise Unreadable(
            f"{where}: '{name}' does not say '{quote}'", hint="Quote it as it stands there, marks included."
        )
    return Answering(path, (text.count("\n", 0, match.start()) + 1, text.count("\n", 0, match.end()) + 1), quote)


def evaluate_passages(
    folder: str | Path,
    questions: str | Path,
    *,
    profiles: Sequence[str] = ("default",),
    config: Config | None = None,
    cache_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PassageReport:
    """Ask every question of a store that holds the folder, and look at the first passage of each hit.

    ``passage`` and ``one of three`` are counted among the questions of which an answering page is among ten hits;
    the other figures among all.
    """
    root = Path(folder).expanduser().resolve()
    if not root.is_dir():
        raise NotFound(f"there is no folder '{root}'", hint="Name the folder that the questions are about.")
    settings = config or load_config()
    settings = replace(
        settings,
        usage=replace(settings.usage, log=False),
        knowledge=replace(settings.knowledge, enabled=False),
    )
    for name in profiles:
        if name not in BASELINES:
            find_profile(settings, name)
    asked = read_questions(questions, root)
    rows: dict[str, dict[str, dict[str, float]]] = {}
    with Ricordo.open(folder_store(root, settings, cache_dir=cache_dir, progress=progress), config=settings) as engine:
        for name in dict.fromkeys(profiles):
            parts: dict[str, list[dict[str, float]]] = {}
            for question in asked:
                options = BASELINES.get(name, {"profile": name})
                answer = engine.search(question.text, limit=DEPTH, track=False, literal=True, **options)
                parts.setdefault(question.part, []).append(judged(answer.hits, question))
            rows[name] = {part: _means(found) for part, found in parts.items()}
    return PassageReport(root.name, rows, len(asked))


def folder_store(
    root: Path,
    config: Config,
    *,
    cache_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """The file of a store that holds a folder as ``add`` reads it; built when its files or the settings change."""
    state = sorted((file.as_posix(), file.stat().st_size, file.stat().st_mtime_ns) for file in root.rglob("*"))
    known = json.dumps([state, index_settings(config)])
    store = (cache_dir or default_cache_folder()) / f"folder-{hashlib.sha256(known.encode()).hexdigest()[:24]}"
    store.mkdir(parents=True, exist_ok=True)
    file = store / "store.db"
    with Ricordo.open(file, config=config) as engine:
        engine.add(root, progress=progress)  # adds nothing that is there already
    return file


def judged(hits: Sequence[Hit], question: PassageQuestion) -> dict[str, float]:
    """The figures of one question."""
    found = [(rank, hit, one) for rank, hit in enumerate(hits, start=1) for one in question.answers if _is_of(hit, one)]
    rank = found[0][0] if found else DEPTH + 1
    pages = [(at, hit, one) for at, hit, one in found if at == rank]
    shown = any(_shows(hit.evidence[0].lines, one) for _, hit, one in pages if hit.evidence)
    among = any(_shows(evidence.lines, one) for _, hit, one in pages for evidence in hit.evidence)
    words = any(_plain(one.quote) in _plain(hit.snippet) for _, hit, one in pages)
    first = {
        depth: any(at <= depth and hit.evidence and _shows(hit.evidence[0].lines, one) for at, hit, one in found)
        for depth in (1, 3)
    }
    return {
        "page@1": rank == 1,
        "page@3": rank <= 3,
        "page@10": rank <= DEPTH,
        "passage": shown,
        "one of three": among,
        "words": words,
        "passage@1": first[1],
        "passage@3": first[3],
    }


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found = [row for row in rows if row["page@10"]]
    means = {}
    for figure in FIGURES:
        among = found if figure in ("passage", "one of three", "words") else rows
        means[figure] = sum(row[figure] for row in among) / len(among) if among else 0.0
    return {"queries": float(len(rows)), **means}


def _is_of(hit: Hit, one: Answering) -> bool:
    return hit.ref.endswith(one.path.as_posix())


def _shows(lines: tuple[int, int], one: Answering) -> bool:
    return lines[0] <= one.lines[1] and one.lines[0] <= lines[1]


def _plain(text: str) -> str:
    return " ".join(text.split())
