"""Whatever the text, its passages cover it exactly, fit the window, and come out the same each time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import ricordo.models.base
from ricordo.ingest.cut.chunk import chunk, line_ranges
from ricordo.ingest.cut.prefix import PREFIX_TOKENS, WINDOW_TOKENS, prefix_room, prefix_texts
from ricordo.store.prepare import embedded_text

STRUCTURES = ("markdown", "rst", "html", "code", "table", "text", "unheard-of")
LANGUAGES = ("", "python", "c", "javascript", "yaml", "json", "sql", "klingon")

marks = st.sampled_from(
    [
        "# Head\n", "## Sub\n", "Title\n=====\n", "\n", "\n\n", "```\n", "~~~\n", "- item\n", "1. item\n", "| a |\n",
        "    code\n", "\t", " ", "def f():\n", "class A:\n", "}\n", "{", '"', ",", ".. note::\n", "=====\n", "---\n",
        "word ", "Sentence one. Two! ", "漢字。", "한국어 ", "🎉", "\u200d", "\u0301", "\r\n", "\x00", "\x1c",
        "\u3000", "\ufeff", "> q\n",
        "x" * 300, "word " * 100, "漢" * 200, "한" * 100, " " * 400, "\n" * 300, "a,b,c\n" * 60, "#" * 200,
    ]
)  # fmt: skip
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
texts = st.one_of(anything, st.lists(st.one_of(marks, anything), max_size=40).map("".join))


class WordPiece:
    def __init__(self) -> None:
        path = Path(ricordo.models.base.__file__).with_name("minilm") / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(one.ids) for one in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]


class Bytes:
    """A tokenizer at its worst: every byte a token."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) for text in texts]


COUNTERS = (WordPiece(), Bytes(), None)


@settings(max_examples=400)
@given(
    text=texts,
    structure=st.sampled_from(STRUCTURES),
    language=st.sampled_from(LANGUAGES),
    counter=st.sampled_from(COUNTERS),
    single=st.booleans(),
    title=st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
)
def test_passages_cover_the_text_and_fit_the_window(
    text: str,
    structure: str,
    language: str,
    counter: WordPiece | Bytes | None,
    single: bool,
    title: str,
) -> None:
    def cut() -> list[tuple[int, int, str]]:
        passages = chunk(
            text,
            structure=structure,
            language=language,
            counter=counter,
            single=single,
        )
        return [(passage.start, passage.end, passage.heading) for passage in passages]

    spans = cut()
    assert spans == cut()
    if not text:
        assert spans == []
        return
    assert (spans[0][0], spans[-1][1]) == (0, len(text))
    assert all(one[1] == two[0] for one, two in pairwise(spans))
    parts = [text[start:end] for start, end, _ in spans]
    assert text.isspace() or not any(part.isspace() or not part for part in parts)
    assert not any("\n" in heading for _, _, heading in spans)

    passages = chunk(text, structure=structure, language=language, counter=counter, single=single)
    headings = [passage.heading for passage in passages]
    room = prefix_room(text, counter) if single and len(passages) == 1 else PREFIX_TOKENS
    prefixes = prefix_texts(title, title, "", headings, counter=counter, room=room)
    if counter is not None:
        fits = counter.count_tokens(list(map(embedded_text, prefixes, parts)))
        assert all(tokens <= WINDOW_TOKENS or len(part.strip()) <= 1 for tokens, part in zip(fits, parts, strict=True))

    ranges = line_ranges(text, passages)
    for (start, end, _), (first, last) in zip(spans, ranges, strict=True):
        assert first == 1 + text.count("\n", 0, start)
        assert last == 1 + text.count("\n", 0, end - 1)


@settings(max_examples=150)
@given(
    parts=st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]), max_size=300)] * 4),
    counter=st.sampled_from(COUNTERS),
    room=st.sampled_from([0, 1, 4, 16, PREFIX_TOKENS]),
)
def test_a_prefix_fits_its_room(parts: tuple[str, str, str, str], counter: WordPiece | Bytes | None, room: int) -> None:
    title, description, context, heading = parts
    [prefix] = prefix_texts(title, description, context, [heading], counter=counter, room=room)
    if counter is not None:
        assert counter.count_tokens([prefix])[0] <= room
