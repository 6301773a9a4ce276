"""Chunking: passages cover the text, follow its structure, carry breadcrumbs and fit the window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import ricordo.models.base
from ricordo.ingest.cut.chunk import chunk, line_ranges
from ricordo.ingest.cut.prefix import PREFIX_TOKENS, WINDOW_TOKENS, prefix_room, prefix_texts
from ricordo.store.prepare import embedded_text
from ricordo.values.items import Passage

from ..growth import TOO_MUCH, growth


class WordPiece:
    """The shipped model's own tokenizer; remembers what it was asked."""

    def __init__(self) -> None:
        path = Path(ricordo.models.base.__file__).with_name("minilm") / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.calls: list[list[str]] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.calls.append(list(texts))
        return [len(one.ids) for one in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]


@pytest.fixture(scope="module")
def shipped() -> WordPiece:
    return WordPiece()


@pytest.fixture
def counter(shipped: WordPiece) -> WordPiece:
    shipped.calls.clear()
    return shipped


def covered(text: str, passages: Sequence[Passage]) -> list[str]:
    """The texts of the passages, after checking that they cover the whole without a gap."""
    assert passages[0].start == 0
    assert passages[-1].end == len(text)
    assert all(one.end == two.start for one, two in pairwise(passages))
    return [text[passage.start : passage.end] for passage in passages]


def paragraph(words: int, word: str = "harbour") -> str:
    return " ".join([f"The {word} is quiet at dawn."] * (words // 6))


class TestWhole:
    def test_no_text_gives_no_passage(self) -> None:
        assert chunk("", counter=None) == ()

    def test_a_short_text_is_one_passage(self) -> None:
        text = "# A\n\none\n\n# B\n\ntwo\n"
        assert chunk(text, structure="markdown", counter=None) == (Passage(0, len(text), "A"),)

    def test_white_space_alone_is_one_passage(self) -> None:
        text = " \n" * 5_000
        assert chunk(text, counter=None) == (Passage(0, len(text)),)

    def test_a_memory_that_fits_the_window_stays_whole(self, counter: WordPiece) -> None:
        text = paragraph(180) + "\n\n" + "A last line about anchors."
        assert counter.count_tokens([text])[0] > 206, "else it would be whole anyway"
        assert len(chunk(text, counter=counter, single=True)) == 1
        assert len(chunk(text, counter=counter)) > 1

    def test_a_memory_that_outgrows_the_window_is_cut(self, counter: WordPiece) -> None:
        text = paragraph(600)
        assert len(chunk(text, counter=counter, single=True)) > 1


class TestMarkdown:
    def test_breadcrumbs_name_the_section_a_passage_starts_in(self) -> None:
        text = "\n\n".join(
            ["# Guide", paragraph(90), "## Install", paragraph(90), "### Linux", paragraph(90), "## Use", paragraph(90)]
        )
        passages = chunk(text, structure="markdown", counter=None)
        covered(text, passages)
        assert [passage.heading for passage in passages] == [
            "Guide",
            "Guide › Install",
            "Guide › Install › Linux",
            "Guide › Use",
        ]
        assert text[passages[2].start :].startswith("### Linux")

    def test_small_sections_stay_together_but_not_across_a_chapter(self) -> None:
        small = [f"### Option {n}\n\nSets option {n}." for n in range(4)]
        text = "\n\n".join(["# One", "## Options", *small, "# Two", paragraph(96)])
        passages = chunk(text, structure="markdown", counter=None)
        parts = covered(text, passages)
        assert [passage.heading for passage in passages] == ["One", "Two"]
        assert "Option 3" in parts[0]

    def test_a_heading_is_never_left_alone(self) -> None:
        text = "\n\n".join(["# Guide", "## Install", "### Linux", "```\n" + "make install\n" * 200 + "```"])
        passages = chunk(text, structure="markdown", counter=None)
        assert all("make install" in part for part in covered(text, passages))
        assert passages[1].heading == "Guide › Install › Linux"

    def test_a_number_sign_in_a_fence_is_no_heading(self) -> None:
        fence = "```bash\n# not a heading\nrun\n```"
        text = "\n\n".join(
            ["# Real", paragraph(96), fence, paragraph(96), "~~~~\n# nor this\n~~~\n# or this\n~~~~", "# End"]
        )
        passages = chunk(text + "\n\n" + paragraph(96), structure="markdown", counter=None)
        assert {passage.heading for passage in passages} == {"Real", "End"}

    def test_other_number_signs_are_no_headings(self) -> None:
        text = "#hashtag\n\n####### seven\n\n    # indented code\n\n" + paragraph(60)
        assert {passage.heading for passage in chunk(text, structure="markdown", counter=None)} == {""}

    def test_underlined_headings_count_and_rules_do_not(self) -> None:
        text = f"Title\n=====\n\n{paragraph(90)}\n\nPart\n----\n\n{paragraph(90)}\n\n---\n\n{paragraph(90)}\n"
        headings = [passage.heading for passage in chunk(text, structure="markdown", counter=None)]
        assert headings == ["Title", "Title › Part", "Title › Part"]

    def test_headings_read_as_plain_text(self) -> None:
        text = f"## The **bold** [`run()`](/api#run) _call_ {{#run}} ##\n\n{paragraph(60)}"
        assert chunk(text, structure="markdown", counter=None)[0].heading == "The bold run() call"

    def test_an_empty_heading_adds_no_crumb(self) -> None:
        text = f"# Top\n\n{paragraph(100)}\n\n##\n\n{paragraph(100)}"
        assert [passage.heading for passage in chunk(text, structure="markdown", counter=None)] == ["Top", "Top"]

    @pytest.mark.parametrize(
        "block",
        [
            pytest.param("```python\n" + "call(value)\n\n" * 40 + "```", id="fence"),
            pytest.param("| a | b |\n|---|---|\n" + "| one | two |\n" * 40, id="table"),
            pytest.param("- an item of the list\n" * 24, id="list"),
            pytest.param("\n\n".join(f"{n}. an item\n\n   and more of it" for n in range(15)), id="loose list"),
        ],
    )
    def test_a_block_that_fits_is_not_cut(self, block: str) -> None:
        text = f"# H\n\n{paragraph(66)}\n\n{block.strip()}\n\n{paragraph(66)}\n"
        parts = covered(text, chunk(text, structure="markdown", counter=None))
        assert any(block.strip() in part for part in parts)

    def test_a_long_list_is_cut_between_items(self) -> None:
        text = "# H\n\n" + "".join(
            f"- item {n} of the list. It has two sentences,\n  and two lines\n" for n in range(60)
        )
        parts = covered(text, chunk(text, structure="markdown", counter=None))
        assert len(parts) > 3
        assert all(part.startswith("- item") for part in parts[1:])

    def test_a_long_paragraph_is_cut_between_sentences_evenly(self) -> None:
        text = paragraph(340)
        parts = covered(text, chunk(text, structure="markdown", counter=None))
        assert len(parts) == 3
        assert all(part.rstrip().endswith("dawn.") for part in parts)
        assert min(map(len, parts)) > 0.8 * max(map(len, parts))

    def test_white_space_belongs_to_what_stands_before_it_and_indentation_to_its_line(self) -> None:
        text = "  \n" + "\n\n \n".join(["# H", paragraph(200), "    indented code " * 5, paragraph(200)]) + " \n\n"
        parts = covered(text, chunk(text, structure="markdown", counter=None))
        assert len(parts) > 3
        assert all(not part[0].isspace() or part.startswith("    indented") for part in parts[1:])

    def test_windows_line_ends_change_nothing(self) -> None:
        text = f"# Top\n\n{paragraph(100)}\n\n## Part\n\n```\n# no\n```\n\n{paragraph(100)}\n"
        plain = chunk(text, structure="markdown", counter=None)
        windows = chunk(text.replace("\n", "\r\n"), structure="markdown", counter=None)
        assert [passage.heading for passage in windows] == [passage.heading for passage in plain]


class TestOtherStructures:
    def test_rst_titles_make_levels_in_the_order_they_appear(self) -> None:
        text = (
            f"=====\nGuide\n=====\n\n{paragraph(90)}\n\nInstall\n=======\n\n{paragraph(90)}\n\n"
            f"Linux\n-----\n\n.. code-block:: sh\n\n   make\n\n{paragraph(90)}\n\nUse\n===\n\n{paragraph(90)}\n"
        )
        passages = chunk(text, structure="rst", counter=None)
        covered(text, passages)
        assert [passage.heading for passage in passages] == [
            "Guide",
            "Guide › Install",
            "Guide › Install › Linux",
            "Guide › Use",
        ]
        assert text[passages[1].start :].startswith("Install\n")

    def test_rst_directives_stay_whole(self) -> None:
        directive = ".. note::\n\n" + "\n\n".join(f"   Part {n} of the note stands here." for n in range(12))
        text = f"{paragraph(66)}\n\n{directive}\n\n{paragraph(66)}"
        parts = covered(text, chunk(text, structure="rst", counter=None))
        assert any(directive in part for part in parts)

    def test_python_units_are_named_and_keep_their_decorators(self) -> None:
        body = "        self.value = compute(self.value)\n" * 12
        text = (
            f'"""Doc."""\n\n{"import os" * 40}\n\n\n'
            f"@dataclass\nclass Store:\n    size: int\n\n    def open(self):\n{body}\n"
            f"    # why\n    @retry(\n        3\n    )\n    async def close(self):\n{body}\n\n"
            f"def main() -> None:\n{body}\n\n"
            f'if __name__ == "__main__":\n    main()\n{"    main()" * 40}\n'
        )
        passages = chunk(text, structure="code", language="python", counter=None)
        parts = covered(text, passages)
        assert [passage.heading for passage in passages] == ["", "Store", "Store › close", "main", ""]
        assert parts[1].startswith("@dataclass\nclass Store")
        assert parts[2].startswith("    # why\n    @retry(")

    @pytest.mark.parametrize(
        ("language", "units", "expected"),
        [
            ("go", ["func (s *Store) Open(a int) error {", "type Store struct {"], ["Open", "Store"]),
            ("rust", ["pub(crate) fn open<T>(a: T) -> u8 {", "impl<T> Drop for Bin<T> {"], ["open", "Drop for Bin"]),
            ("typescript", ["export const open = async (a: string) => {", "class Store<T> {"], ["open", "Store"]),
            ("java", ["public class Store extends Base {", "static void run(String[] args) {"], ["Store", "run"]),
            ("c", ["struct store {", "static int *open_it(char *name,", "int main()"], ["store", "open_it", "main"]),
            ("ruby", ["module Store", "def open(a)"], ["Store", "open"]),
            ("bash", ["open_it() {", "function close_it {"], ["open_it", "close_it"]),
            ("sql", ["CREATE TABLE IF NOT EXISTS store (", "create or replace function f(a int)"], ["store", "f"]),
            ("toml", ["[tool.ruff]", "[[item]]"], ["tool.ruff", "item"]),
            ("yaml", ["store:", "jobs:"], ["store", "jobs"]),
        ],
    )  # fmt: skip
    def test_units_of_many_languages_are_named(self, language: str, units: list[str], expected: list[str]) -> None:
        body = "    value = compute(value) + compute(value);\n" * 12
        text = "".join(f"{unit}\n{body}\n" for unit in units)
        passages = chunk(text, structure="code", language=language, counter=None)
        covered(text, passages)
        assert [passage.heading for passage in passages] == expected

    def test_prose_in_a_docstring_is_no_unit(self) -> None:
        doc = "\n".join(["    class of things that matter", "    def is a word", "    function words are small"] * 12)
        text = f'class Real:\n    """A thing.\n\n{doc}\n    """\n    x = 1\n'
        passages = chunk(text, structure="code", language="python", counter=None)
        assert {passage.heading for passage in passages} == {"Real"}

    def test_rows_of_a_table_are_not_cut(self) -> None:
        rows = [f'{n},"A name, with a comma","two\nlines"\n' for n in range(80)]
        text = "id,name,note\n" + "".join(rows)
        parts = covered(text, chunk(text, structure="table", counter=None))
        assert len(parts) > 3
        assert all(part[0].isdigit() and part.endswith('lines"\n') for part in parts[1:])

    def test_a_row_too_long_for_the_window_is_cut_alone(self) -> None:
        text = "id,note\n1,short\n2," + "word " * 600 + "\n3,short\n"
        parts = covered(text, chunk(text, structure="table", counter=None))
        assert parts[0].startswith("id,note\n1,short")
        assert all(len(part) < 800 for part in parts)

    def test_a_stray_quote_does_not_swallow_the_table(self) -> None:
        text = '1,5" disk\n' + "".join(f"{n},row\n" for n in range(3_000))
        parts = covered(text, chunk(text, structure="table", counter=None))
        assert all(part.endswith("row\n") for part in parts[-10:])

    def test_records_of_json_lines_are_not_cut(self) -> None:
        text = "".join(f'{{"id": {n}, "text": "He said \\"no\\". Then he left."}}\n' for n in range(80))
        parts = covered(text, chunk(text, structure="text", language="json", counter=None))
        assert len(parts) > 3
        assert all(part.startswith('{"id"') for part in parts)

    def test_paragraphs_of_a_text_are_not_cut_when_they_fit(self) -> None:
        paragraphs = [paragraph(60 + 6 * n, f"port{n}") for n in range(8)]
        text = "\n\n".join(paragraphs)
        parts = covered(text, chunk(text, counter=None))
        assert all(any(whole in part for part in parts) for whole in paragraphs)


class TestWindow:
    @pytest.mark.parametrize("structure", ["markdown", "rst", "code", "table", "text"])
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("漢字と仮名の文章です。" * 300, id="japanese"),
            pytest.param("한국어 문장은 짧지 않다. " * 200, id="korean"),
            pytest.param("👩‍👩‍👧 🇩🇪 e\u0301\u0302 " * 400, id="emoji"),
            pytest.param("a1-b2_c3/" * 800, id="no spaces"),
            pytest.param("0123456789abcdef" * 500, id="hex"),
            pytest.param("|" * 3_000, id="punctuation"),
            pytest.param(("x = y[i] + (z * {w}) - ~q; " * 8 + "\n") * 20, id="symbols"),
        ],
    )
    def test_every_passage_fits_with_its_prefix(self, structure: str, text: str, counter: WordPiece) -> None:
        passages = chunk(text, structure=structure, counter=counter)
        covered(text, passages)
        headings = [passage.heading for passage in passages]
        prefixes = prefix_texts(paragraph(60), paragraph(60), paragraph(60), headings, counter=counter)
        parts = [text[passage.start : passage.end] for passage in passages]
        embedded = list(map(embedded_text, prefixes, parts))
        assert max(counter.count_tokens(embedded)) <= WINDOW_TOKENS

    def test_the_counter_is_asked_in_batches(self, counter: WordPiece) -> None:
        text = "\n\n".join(paragraph(90, f"quay{n}") for n in range(200))
        assert len(chunk(text, counter=counter)) > 100
        assert len(counter.calls) <= 3

    def test_a_counter_is_not_asked_what_is_certain(self, counter: WordPiece) -> None:
        text = "# Part\n\n" + paragraph(36)
        assert len(text) < 200
        chunk(text, structure="markdown", counter=counter, single=True)
        assert counter.calls == []

    @pytest.mark.parametrize("structure", ["markdown", "rst", "code", "table", "text"])
    def test_the_work_for_a_huge_line_without_spaces_grows_with_its_length_only(self, structure: str) -> None:
        text = "x" * 4_000_000
        passages: list[Passage] = []

        def cut(size: int) -> None:
            passages[:] = chunk(text[:size], structure=structure, counter=None)

        assert growth(cut, len(text)) < TOO_MUCH
        assert len(covered(text, passages)) > 4_000

    @pytest.mark.parametrize("structure", ["markdown", "rst", "code", "table", "text"])
    @pytest.mark.parametrize(
        "unit", ["# a\n", "```a\n", "> ", "[", "* ", "a\n--\n", '"\n', " \n", "\ta", "#" + " " * 5_000 + "x\n", "def f"]
    )
    def test_time_grows_with_the_text_only(self, structure: str, unit: str) -> None:
        text = unit * (300_000 // len(unit))
        passages: list[Passage] = []

        def cut(size: int) -> None:
            passages[:] = chunk(text[:size], structure=structure, language="python", counter=None)

        assert growth(cut, len(text)) < TOO_MUCH
        covered(text, passages)

    def test_a_character_keeps_its_accents(self, counter: WordPiece) -> None:
        text = "e\u0301" * 2_000
        assert all(not part.startswith("\u0301") for part in covered(text, chunk(text, counter=counter)))


class TestPrefix:
    def test_the_prefix_says_what_the_passage_is_about(self) -> None:
        [prefix] = prefix_texts("Guide", "How to start", "For editors", ["Guide › Install › Linux"])
        assert prefix == "Guide\nInstall › Linux\nHow to start\nFor editors"
        assert embedded_text(prefix, "\n make \n") == prefix + " | make"
        assert embedded_text("", " make ") == "make"

    def test_a_long_prefix_keeps_some_of_each_part_and_the_nearest_heading(self, counter: WordPiece) -> None:
        heading = " › ".join(["Guide", "A very long chapter about everything there is", "Another long one", "Linux"])
        [prefix] = prefix_texts(paragraph(60), paragraph(60, "ferry"), "Context", [heading], counter=counter)
        title, crumbs, description = prefix.split("\n")
        assert counter.count_tokens([prefix])[0] <= PREFIX_TOKENS
        assert title.startswith("The harbour")
        assert crumbs.endswith("Linux")
        assert description.startswith("The ferry")

    @pytest.mark.parametrize("title", ["漢" * 500, "한" * 500, "x" * 5_000, "x1" * 500, "é̂" * 300, "🎉" * 300])
    def test_any_title_is_cut_to_fit(self, title: str, counter: WordPiece) -> None:
        [prefix] = prefix_texts(title, title, title, [title], counter=counter)
        assert prefix
        assert counter.count_tokens([prefix])[0] <= PREFIX_TOKENS

    def test_prefixes_of_many_passages_take_few_calls(self, counter: WordPiece) -> None:
        headings = [f"Guide › Chapter {n % 50} about the harbour" for n in range(1_000)]
        prefixes = prefix_texts("Guide", "How to moor a boat in a storm", "", headings, counter=counter)
        assert len(prefixes) == 1_000
        assert prefixes[51] == "Guide\nChapter 1 about the harbour\nHow to moor a boat in a storm"
        assert len(counter.calls) <= 3

    def test_a_memory_that_fills_the_window_gets_the_prefix_that_is_left(self, counter: WordPiece) -> None:
        text = paragraph(200)
        tokens = counter.count_tokens([text])[0]
        assert WINDOW_TOKENS - PREFIX_TOKENS < tokens < WINDOW_TOKENS
        assert len(chunk(text, counter=counter, single=True)) == 1
        room = prefix_room(text, counter)
        [prefix] = prefix_texts(paragraph(60, "ferry"), "", "", [""], counter=counter, room=room)
        assert prefix.startswith("The ferry")
        assert counter.count_tokens([embedded_text(prefix, text)])[0] <= WINDOW_TOKENS


class TestLineRanges:
    def test_a_passage_that_ends_a_line_ends_on_that_line(self) -> None:
        text = "one\ntwo\nthree four\nfive"
        passages = [Passage(0, 4), Passage(4, 14), Passage(14, 19), Passage(19, len(text))]
        assert line_ranges(text, passages) == [(1, 1), (2, 3), (3, 3), (4, 4)]
        assert line_ranges(text, passages, first_line=5)[0] == (5, 5)

    def test_the_ranges_are_those_one_would_count(self) -> None:
        text = "\n\n".join(["# Guide", paragraph(60), "```\na\n\n\nb\n```", paragraph(240), "end"]) + "\n\n\n"
        passages = chunk(text, structure="markdown", counter=None)
        for passage, (first, last) in zip(passages, line_ranges(text, passages, 3), strict=True):
            assert first == 3 + text[: passage.start].count("\n")
            assert last == 3 + text[: passage.end - 1].count("\n")
