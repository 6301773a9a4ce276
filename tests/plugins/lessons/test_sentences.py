"""How often the judge is right, on sentences that did not train it: what should be proposed, and what should not."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ricordo.models.local_onnx import LocalEmbedder
from ricordo.plugins.lessons.finder import SaidTurn, found_in

SENTENCES = Path(__file__).parent / "fixtures" / "sentences.txt"
AT = datetime(2026, 1, 31, tzinfo=UTC)


def judged() -> list[tuple[str, str]]:
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [(kind, text) for kind, _, text in (line.partition(" | ") for line in lines if not line.startswith("#"))]


EMBEDDER = LocalEmbedder()


def proposed(text: str) -> list[str]:
    turns = [SaidTurn(1, "user", "Fix it.", AT), SaidTurn(2, "assistant", "Done.", AT), SaidTurn(3, "user", text, AT)]
    return [one.kind for one in found_in(turns, session="s", embedder=EMBEDDER)]


def test_most_of_what_is_proposed_is_worth_it_and_most_of_what_is_worth_it_is_proposed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted = [(text, proposed(text)) for kind, text in judged() if kind != "nothing"]
    noise = [(text, proposed(text)) for kind, text in judged() if kind == "nothing"]
    found = sum(bool(kinds) for _, kinds in wanted)
    wrong = sum(bool(kinds) for _, kinds in noise)
    precision, recall = found / (found + wrong), found / len(wanted)
    missed = [f"\n  missed: {text}" for text, kinds in wanted if not kinds]
    taken = [f"\n  proposed: {text}" for text, kinds in noise if kinds]
    with capsys.disabled():
        sys.stdout.write(
            f"\nlessons, {len(judged())} sentences: precision {precision:.2f}, recall {recall:.2f}"
            f"{''.join((*missed, *taken))}\n"
        )
    assert precision >= 0.9
    assert recall >= 0.8
