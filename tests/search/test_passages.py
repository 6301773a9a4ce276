"""The passages of an item as the engine shows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo import NotFound, Ricordo
from ricordo.search.present import HEADED, OWN_WORDS, Marker, answering_first, kept_beside, kept_by_prose
from ricordo.text.words import Analyzer
from ricordo.values.hits import Evidence


def test_passages_cover_the_text_and_know_their_lines_and_headings(engine: Ricordo, tmp_path: Path) -> None:
    body = "\n\n".join(f"## Part {n}\n\n" + f"Sentence about subject {n}. " * 60 for n in range(3))
    file = tmp_path / "long.md"
    file.write_text(f"---\ntitle: Long\n---\n{body}\n", encoding="utf-8")
    engine.add(file)
    passages = engine.get(str(file), passages=True).passages
    assert "".join(passage.text for passage in passages) == engine.get(str(file)).content
    assert passages[0].lines[0] == 4  # the front matter counts
    assert {"Part 0", "Part 1", "Part 2"} <= {passage.heading.split(" › ")[-1] for passage in passages}


def test_of_passages_that_match_nearly_alike_the_one_whose_heading_names_the_question_is_shown(engine: Ricordo) -> None:
    filler = "Keep the lid closed and the kettle clean. " * 25
    washing = "Brewing tea leaves spots; tea stains, so wash what brewing tea touched."
    brewing = "Brewing takes some minutes."
    text = f"# Kitchen\n\n## Washing up\n\n{washing} {filler}\n\n## Brewing tea\n\n{brewing} {filler}\n"
    engine.save("note:/kitchen", text, structure="markdown", kind="document")
    shown, other, *_ = engine.search("brewing tea").hits[0].evidence
    assert shown.heading.endswith("Brewing tea")
    assert shown.score < other.score, "its words alone would not have put it first"


def test_the_passages_of_an_earlier_version_are_its_own(engine: Ricordo) -> None:
    engine.save("note:/a", "First text.")
    engine.edit("note:/a", "Second text.")
    assert [one.text for one in engine.get("note:/a", version=1, passages=True).passages] == ["First text."]
    assert [one.text for one in engine.get("note:/a", passages=True).passages] == ["Second text."]


def test_an_unknown_item_has_no_passages_but_an_error(engine: Ricordo) -> None:
    with pytest.raises(NotFound):
        engine.get("note:/nowhere", passages=True)


def test_a_passage_that_only_words_found_is_compared_by_meaning_too_before_one_is_shown(
    compass: Callable[..., Ricordo],
) -> None:
    engine = compass()
    filler = "Keep the lid closed and clean. " * 20
    for number in range(90):
        nearness = "alpha" if number < 59 else "delta"
        engine.save(f"note:/{number}", f"{nearness} vessel {number}. {filler}", wait=False)
    text = f"# Stove\n\n## First\n\nalpha vessel. {filler}\n\n## Second\n\nbeta kettle, kettle. {filler}\n"
    engine.save("note:/long", text, structure="markdown", kind="document", wait=False)
    engine.embed()
    hit = next(one for one in engine.search("kettle", limit=90).hits if one.ref == "note:/long")
    assert hit.evidence[0].heading.endswith("Second"), "near in meaning, and it holds the word"


def test_a_list_of_further_pages_is_not_shown_in_place_of_the_passage_that_answers(engine: Ricordo) -> None:
    """It has the words of the question, often more of them than the answer."""
    answer = "If you give a container arguments but no command, the command of its image runs with your arguments. "
    filler = "Nothing of that kind is said in this paragraph, which fills the page. " * 11
    links = "* [Give a container a command](/command)\n* [Arguments of a container](/arguments)\n"
    engine.save("note:/page", f"# Page\n\n{answer * 3}\n\n{filler}\n\n## What's next\n\n{links}")
    [hit] = engine.search("command and arguments of a container", track=False).hits
    assert hit.evidence[0].text.startswith("# Page") or "If you give" in hit.evidence[0].text
    assert "[Arguments" not in hit.evidence[0].text


def test_a_passage_that_only_meaning_kept_counts_the_words_of_the_title_that_all_of_them_have(
    compass: Callable[..., Ricordo],
) -> None:
    engine = compass()
    filler = "Keep the lid closed and clean. " * 20
    others = "".join(f"## Part {n}\n\ndelta kettle {n}. {filler}\n\n" for n in range(6))
    text = f"# Kettle\n\n{others}## Answer\n\ngamma pot. {filler}\n"
    engine.save("note:/long", text, fields={"title": "Kettle"}, structure="markdown", kind="document")
    [hit] = engine.search("kettle", track=False).hits
    assert hit.evidence[0].heading.endswith("Answer"), "six others have the word once more, and are far in meaning"


def test_of_passages_that_count_alike_the_one_that_says_the_words_itself_is_shown(engine: Ricordo) -> None:
    filler = "Everything else about it stands in other parts of this text. " * 10
    short = "Rust on the kettle."
    both = "Vinegar takes the rust away, if one waits long enough. Then rinse it, dry it and put it back where it was."
    text = f"## One\n\n{short} {filler}\n\n## Two\n\n{both} {filler}\n"
    engine.save("note:/vinegar", text, fields={"title": "Vinegar"}, structure="markdown", kind="document")
    shown, other, *_ = engine.search("vinegar rust").hits[0].evidence
    assert "Vinegar takes the rust away" in shown.text
    assert shown.score < other.score, "by its score alone, the shorter one would be first"


def test_a_snippet_begins_with_the_sentence_that_has_most_words_of_the_question(engine: Ricordo) -> None:
    repeating = "The valve is a valve, and a valve has a valve seat, as every valve of such a valve set has a valve."
    filler = "Nothing of this has to do with what was asked, and it goes on for a while. " * 3
    answer = "A valve that leaks is closed by the red lever."
    engine.save("note:/valves", f"{repeating} {filler}{answer} {filler}")
    snippet = engine.search("how is a leaking valve closed").hits[0].snippet
    assert snippet.startswith(f"…{answer}")


def test_of_two_sentences_with_as_many_words_that_is_shown_which_begins_with_them(
    engine: Ricordo,
) -> None:
    late = "The lantern hangs above the door of the mill and its light is seen from far away, say those who sell oil."
    rest = "Nobody has counted the steps. " * 12
    engine.save("note:/mill", f"{late} {rest} The lantern burns oil, and so it smells. {rest}")
    assert engine.search("lantern oil").hits[0].snippet.startswith("…The lantern burns oil")


def test_a_word_far_behind_the_beginning_of_its_sentence_is_still_shown(engine: Ricordo) -> None:
    endless = "one and another and yet another of them " * 9
    engine.save("note:/endless", f"{endless} near the harbour crane {endless}")
    assert "harbour crane" in engine.search("harbour crane").hits[0].snippet


@pytest.mark.parametrize(
    "name",
    [
        "What's next", "Whatsnext", "See also", "Further reading", "References", "Footnotes", "Acknowledgements",
        "Acknowledgment", "Copyright", "Changelog", "Change log", "Change history", "Table of contents",
        "Previous discussion",
    ],
)  # fmt: skip
def test_a_passage_below_a_heading_that_leads_elsewhere_is_worth_less(name: str) -> None:
    text = "Keys are rotated by hand, and whoever rotates them says so in the channel of the team. " * 4
    plain = kept_beside("Rotating keys", text)
    assert kept_beside(f"Keys › {name}", text) < plain
    assert kept_beside("Rotating keys", f"{text}\n## {name}\n\nThe rest.\n") < plain
    assert kept_beside("Rotating keys", f"{text} One word about {name.lower()} in passing.") == plain


SHAPES = (
    "Keys are rotated by hand, and whoever rotates them says so in the channel of the team. " * 4,
    "Keys are rotated by hand.", "* [Keys](/keys)\n* [Rotation](/rotation)\n", "| key | rotated |\n|---|---|\n",
    "## See also\n\n* [Keys](/keys)\n", "Nothing of it. " * 9,
)  # fmt: skip


@example([(0.5, "Twelve chars", ""), (0.4, SHAPES[0], ""), (0.455, "| a | b |", "")])
@given(st.lists(st.tuples(st.floats(0, 1.5), st.sampled_from(SHAPES), st.sampled_from(("", "Keys", "A › Footnotes")))))
def test_the_order_of_passages_is_that_of_their_whole_value_however_little_is_looked_at(
    given_parts: list[tuple[float, str, str]],
) -> None:
    marker = Marker(frozenset(("key", "rotat")), Analyzer())
    parts = [
        Evidence(number, (1, 1), "", heading, "", score, "") for number, (score, _, heading) in enumerate(given_parts)
    ]
    texts = [text for _, text, _ in given_parts]
    most = max(1, *(marker.count_in(text) for text in texts), 1)

    def value(one: Evidence) -> float:
        text = texts[one.chunk]
        headed = 1.0 + HEADED * marker.share_of(one.heading.replace(" › ", " ")) ** 3
        kept = kept_beside(one.heading, text) * kept_by_prose(text)
        return one.score * headed * kept + OWN_WORDS * marker.count_in(text) / most

    found = answering_first(parts, texts, marker) if len(parts) > 1 else tuple(parts)
    assert [round(value(one), 9) for one in found] == sorted((round(value(one), 9) for one in parts), reverse=True)


SETTINGS = """\
gc.auto
    When there are more loose objects than this, they are packed. The default value is 6700. Nothing is packed at 0,
    whatever gc.autoPackLimit says of the number of packs, and whatever else speaks for packing them at that time.

gc.autoPackLimit
    When there are more packs than this, gc auto consolidates them into one. The default value is 50. The default of
    gc.auto does not matter here: with the auto default, the auto pack limit decides by default.

`gc.autoDetach` = bool
    Return at once and go on in the background. The default of gc.autoDetach is true; a program that waits for gc, or
    gc.auto itself, is told so.

-d, --depth <n>
    How deep the window is. By default
    --depth is 50, and more takes longer; so do others that name the depth as a default.
"""


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(
    ("query", "begins"),
    [
        ("default of gc.auto", "gc.auto When"),
        ("what is the default of gc.autoPackLimit?", "gc.autoPackLimit When"),
        ("gc.autoDetach", "`gc.autoDetach` = bool"),
        ("default of --depth", "-d, --depth <n>"),
    ],
)
def test_what_is_asked_for_by_its_name_is_shown_where_it_is_defined(
    engine: Ricordo, query: str, begins: str, *, long: bool
) -> None:
    """Also where each entry is a passage, or all are one."""
    filler = "This is about something else, and is long enough to stand alone as a passage of its own. " * 8
    text = SETTINGS.replace("\n\n", f"\n\n{filler}\n\n") if long else SETTINGS
    engine.save("agent:/settings.md", text)
    (hit,) = engine.search(query, track=False).hits
    assert hit.snippet.lstrip("…").startswith(begins)


LISTS = {
    "lines": "# Nets\n\nnet.retry = 3\nnet.retryDelay = 250\nnet.retryLimit = 30\n",
    "table": "| name | default |\n|---|---|\n| `net.retry` | 3 |\n| `net.retryDelay` | 250 |\n"
    "| `net.retryLimit` | 30 |\n",
    "terms": "`net.retry`::\n  Defaults to 3.\n\n`net.retryDelay`::\n`net.retryPause`::\n  Defaults to 250.\n\n"
    "`net.retryLimit`::\n  Defaults to 30.\n",
}


@pytest.mark.parametrize("form", LISTS)
def test_the_value_of_what_is_asked_for_by_its_name_is_shown_without_those_of_its_neighbours(
    engine: Ricordo, form: str
) -> None:
    engine.save("agent:/nets.md", LISTS[form])
    for name, value in (("net.retry", "3"), ("net.retryDelay", "250"), ("net.retryLimit", "30")):
        (hit,) = engine.search(f"default of {name}", track=False).hits
        assert [one for one in ("3", "250", "30") if one in re.findall(r"\d+", hit.snippet)] == [value], hit.snippet
