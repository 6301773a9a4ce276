"""How values look on a terminal and in a pipe."""

from __future__ import annotations

import io
import re
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo.cli.show import (
    bar,
    local_time,
    location,
    show_answer,
    show_content,
    show_diff,
    show_explanation,
    show_matches,
    show_tree,
    show_versions,
    size_text,
)
from ricordo.cli.show_reports import show_checks, show_facts, show_refresh, show_saved
from ricordo.cli.terminal import (
    ProgressLine,
    Screen,
    cells,
    clip,
    clip_left,
    one_line,
    progress_text,
    span_of_time,
    wants_color,
    wrap,
    wrap_lines,
)
from ricordo.values.hits import (
    Answer,
    Evidence,
    Explain,
    Explanation,
    GrepMatch,
    Hit,
    SearchMeta,
    SignalShare,
    TermShare,
)
from ricordo.values.items import Fields, Item, Ref, Saved, TreeNode, Version, Versions
from ricordo.values.reports import AddReport, Check, DoctorReport, Progress, Refreshed, RefreshReport

NOW = datetime(2026, 11, 15, 10, 30, tzinfo=UTC)
CODES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """Standard output or error as a terminal has it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    return Screen()


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Screen:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    return Screen()


def out(screen: Screen) -> str:
    assert isinstance(screen.out, io.StringIO)
    return screen.out.getvalue()


def err(screen: Screen) -> str:
    assert isinstance(screen.err, io.StringIO)
    return screen.err.getvalue()


def hit(**changes: object) -> Hit:
    plain: dict[str, object] = {
        "ref": "note:/keys", "id": "1", "title": "Keys", "description": "", "kind": "note", "score": 0.8312,
        "snippet": "Rotating keys is done by the script in the vault.", "lines": (12, 18),
    }  # fmt: skip
    return Hit(**(plain | changes))  # type: ignore[arg-type]


def answer(*hits: Hit, **meta: object) -> Answer:
    plain: dict[str, object] = {
        "candidates": 27, "returned": len(hits), "milliseconds": 12.3, "profile": "default",
    }  # fmt: skip
    return Answer(hits, SearchMeta(**(plain | meta)))  # type: ignore[arg-type]


def test_a_hit_shows_its_score_title_place_and_passage(pipe: Screen) -> None:
    show_answer(pipe, answer(hit(tags=("ops",), severity="warning")), query="rotate")
    assert out(pipe).splitlines() == [
        " 1  0.831  Keys  note warning #ops",
        "    note:/keys:12-18",
        "    Rotating keys is done by the script in the vault.",
    ]
    assert err(pipe) == "1 of 27 candidates · profile default · 12 ms\n"


def test_matched_words_are_bright_on_a_terminal_by_their_stems_and_excluded_ones_are_not(
    terminal: Screen,
) -> None:
    show_answer(terminal, answer(hit()), query="how to rotate -script kind:note")
    bright = re.findall(r"\x1b\[33m\x1b\[1m(.+?)\x1b\[0m", out(terminal))
    assert bright == ["Rotating"]


def test_of_a_text_without_spaces_only_the_matching_characters_are_bright(terminal: Screen) -> None:
    show_answer(terminal, answer(hit(snippet="我们在东京大学学习")), query="东京")
    assert "我们在\x1b[33m\x1b[1m东京\x1b[0m大学学习" in out(terminal)


def test_the_sentence_with_most_of_the_words_is_bold_on_a_terminal(terminal: Screen) -> None:
    said = "Keys are many. Rotate the keys in May. Nothing else."
    show_answer(terminal, answer(hit(snippet=said)), query="rotate keys")
    bold = re.findall(r"\x1b\[1m(\w+)\x1b\[0m", out(terminal).partition("note:/keys")[2])
    assert bold == ["Keys", "Rotate", "the", "keys", "in", "May"]


def test_a_heading_above_a_sentence_is_not_bold_with_it(terminal: Screen) -> None:
    said = "# About May\nRotate the keys. Nothing else."
    show_answer(
        terminal,
        answer(hit(snippet=said, lines=(1, 2), evidence=(Evidence(1, (1, 2), said, in_lines=said),))),
        query="rotate keys",
    )
    assert "\x1b[1mthe\x1b[0m" in out(terminal)
    assert "\x1b[1mAbout\x1b[0m" not in out(terminal)


def test_a_pipe_gets_no_colour_codes(pipe: Screen) -> None:
    show_answer(pipe, answer(hit(explain=WHY), degraded=("vectors: embedder unavailable",)), query="rotate")
    assert not CODES.search(out(pipe) + err(pipe))
    assert "degraded: vectors: embedder unavailable\n" in err(pipe)


def test_a_page_stands_in_place_of_lines(pipe: Screen) -> None:
    assert location(hit(place="page 3")) == "note:/keys  page 3"
    assert location(hit(lines=(7, 7))) == "note:/keys:7"
    assert location(hit(lines=(0, 0))) == "note:/keys"


def test_a_file_below_the_working_folder_is_shown_by_its_relative_path(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert location(hit(ref=f"disk:{tmp_path}/notes/a.md")) == "notes/a.md:12-18"
    assert location(hit(ref="disk:/elsewhere/a.md")) == "/elsewhere/a.md:12-18"  # what terminals make a link of


def test_further_passages_are_named(pipe: Screen) -> None:
    parts = (
        Evidence(1, (12, 18), "x"),
        Evidence(2, (30, 31), "y"),
        Evidence(3, (40, 41), "z", place="page 4"),
        Evidence(4, (50, 50), "w"),
    )
    show_answer(pipe, answer(hit(evidence=parts)), query="x")
    assert "    also lines 30-31, page 4, line 50\n" in out(pipe)


WHY = Explain(
    value=0.6,
    signals=(SignalShare("lexical", 0.8, 0.5, 0.4), SignalShare("vector", 0.4, 0.5, 0.2)),
    terms=(TermShare("rotat", {"title": 0, "body": 2}, 3.1, 0.3), TermShare("key", {"title": 1}, 1.2, 0.1)),
    steps=(("map to 0-1", 0.8312),),
)


def test_an_explanation_draws_bars_words_and_steps(pipe: Screen) -> None:
    show_answer(pipe, answer(hit(explain=WHY)), query="rotate keys")
    lines = out(pipe).splitlines()[3:]
    assert lines[0] == "    lexical   0.8000 × 0.5000 =  0.4000  " + "█" * 24
    assert lines[1] == "    vector    0.4000 × 0.5000 =  0.2000  " + "█" * 12
    assert lines[2] == "    word rotat  0.3000 (75%)  idf 3.10  in body 2"
    assert lines[3] == "    word key  0.1000 (25%)  idf 1.20  in title 1"
    assert lines[4] == "    value 0.6000 → map to 0-1 0.8312 → score 0.8312"


def test_bars_are_drawn_to_an_eighth_of_a_column() -> None:
    assert bar(1, 1, width=2) == "██"
    assert bar(0.75, 1, width=2) == "█▌"
    assert bar(0, 1, width=2) == bar(1, 0, width=2) == ""


def test_an_item_that_is_not_found_is_explained_by_its_reason(pipe: Screen) -> None:
    show_explanation(pipe, Explanation("q", "note:/keys", False, "no word of the query stands in it"))
    assert out(pipe) == "note:/keys: no word of the query stands in it\n"
    show_explanation(pipe, Explanation("rotate", "note:/keys", True, "found at 3", 3, hit(explain=WHY)))
    assert "\n 3  0.831  Keys  note\n" in out(pipe)


def test_no_hit_is_said_on_standard_error_alone(pipe: Screen) -> None:
    show_answer(pipe, answer(notes=("substring scan",)), query="x")
    assert out(pipe) == ""
    assert "nothing found" in err(pipe)
    assert "note: substring scan" in err(pipe)


def test_stored_text_cannot_steer_the_terminal(terminal: Screen) -> None:
    bad = "\x1b]0;owned\x07\x1b[2Jtext\x9b31m\r"
    show_answer(terminal, answer(hit(title=bad, snippet=bad, tags=(bad,), ref=f"note:/{bad}")), query="")
    show_content(terminal, item(content=bad))
    show_matches(terminal, [GrepMatch("note:/a", 1, bad, (bad,), (bad,))])
    show_diff(terminal, f"+{bad}\n")
    terminal.error(bad, bad)
    left = CODES.sub("", out(terminal) + err(terminal))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", left)


def item(**changes: object) -> Item:
    plain: dict[str, object] = {
        "id": "1", "ref": Ref("note", "/keys"), "kind": "note", "state": "live", "version": 2,
        "content_hash": "ab" * 32, "content": "text", "fields": Fields(title="Keys"), "created_at": NOW,
        "updated_at": NOW,
    }  # fmt: skip
    return Item(**(plain | changes))  # type: ignore[arg-type]


def test_a_text_in_a_pipe_is_exactly_the_stored_one(pipe: Screen) -> None:
    show_content(pipe, item(content="no newline\x1b[0m\r\n at the end"))
    assert out(pipe) == "no newline\x1b[0m\r\n at the end"


def test_a_binary_item_says_that_it_has_no_text(pipe: Screen) -> None:
    show_content(pipe, item(content="", fields=Fields(is_textual=False, mime_type="image/png")))
    assert out(pipe) == ""
    assert "note:/keys is kept without text (image/png)" in err(pipe)


def test_versions_mark_the_current_one(pipe: Screen) -> None:
    versions = [
        Version(2, "b" * 64, NOW, Ref("note", "/a"), "note", Fields(title="New"), 4100, 1, True),
        Version(1, "a" * 64, NOW, Ref("note", "/a"), "note", Fields(title="Old"), 80, state="superseded"),
    ]
    show_versions(pipe, Versions(versions))
    lines = out(pipe).splitlines()
    assert lines[1].split() == ["2", "*", *local_time(NOW).split(), "4.1k", "b" * 12, "unknown", "New"]
    assert lines[2].split() == ["1", *local_time(NOW).split(), "80", "a" * 12, "superseded", "unknown", "Old"]


def test_a_tree_draws_branches_with_counts(pipe: Screen) -> None:
    leaf = TreeNode("a.md", "disk:/n/a.md", 1, ref="disk:/n/a.md", title="Alpha")
    other = TreeNode("b.md", "disk:/n/b.md", 1, ref="disk:/n/b.md", title="b.md")
    show_tree(pipe, TreeNode("disk", "disk:/", 2, children=(TreeNode("n", "disk:/n", 2, children=(leaf, other)),)))
    assert out(pipe).splitlines() == ["disk:/ (2)", "└── n (2)", "    ├── a.md  Alpha", "    └── b.md"]


def test_a_diff_is_coloured_on_a_terminal(terminal: Screen) -> None:
    show_diff(terminal, "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n")
    assert "\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n same\n" in out(terminal)


def test_grep_prints_ref_line_and_text_with_its_neighbours(pipe: Screen) -> None:
    found = [GrepMatch("note:/a", 5, "hit", ("b1", "b2"), ("a1",)), GrepMatch("note:/b", 1, "hit")]
    show_matches(pipe, found)
    assert out(pipe).splitlines() == [
        "note:/a-3-b1", "note:/a-4-b2", "note:/a:5:hit", "note:/a-6-a1", "--", "note:/b:1:hit",
    ]  # fmt: skip


def test_a_report_counts_and_says_why_each_failure_failed(pipe: Screen) -> None:
    failed = Saved("disk:/x.pdf", "failed", error={"code": "unreadable", "message": "is encrypted", "hint": "h"})
    saved = [Saved(f"disk:/{n}", "created", version=1) for n in range(12)]
    skipped = [Saved(f"disk:/s{n}", "skipped", reason="exists") for n in range(3)]
    show_saved(pipe, AddReport((*saved, *skipped, failed), ("a note",)))
    assert out(pipe) == "12 created, 3 skipped, 1 failed\n"
    assert err(pipe).splitlines() == [
        "error: /x.pdf: is encrypted",
        "hint: h",
        "skipped /s0: exists",
        "skipped /s1: exists",
        "skipped /s2: exists",
        "note: a note",
    ]


def test_one_saved_item_is_named_with_its_version(pipe: Screen) -> None:
    show_saved(pipe, AddReport((Saved("note:/a", "skipped", version=3, reason="unchanged"),)))
    assert out(pipe) == "skipped note:/a (version 3): unchanged\n"


def test_many_failures_are_cut_unless_verbose(pipe: Screen) -> None:
    report = AddReport(tuple(Saved(f"disk:/{n}", "failed", reason="bad") for n in range(30)))
    show_saved(pipe, report)
    assert err(pipe).count("error: /") == 20
    assert "10 more failed; --verbose lists them" in err(pipe)
    pipe.verbose = True
    show_saved(pipe, report)
    assert err(pipe).count("error: /") == 50


def test_a_refresh_names_what_changed_and_counts_the_rest(pipe: Screen) -> None:
    items = (
        Refreshed("note:/a", "updated"),
        Refreshed("note:/b", "unchanged"),
        Refreshed("note:/c", "missing"),
        Refreshed("note:/d", "failed", error={"message": "is encrypted", "hint": ""}),
    )
    show_refresh(pipe, RefreshReport(items))
    assert out(pipe).splitlines() == [
        "updated note:/a",
        "missing note:/c",
        "4 checked, 1 updated, 1 unchanged, 1 missing, 1 failed",
    ]
    assert err(pipe).splitlines() == ["error: note:/d: is encrypted", "--prune removes what is missing"]


def test_checks_show_well_repaired_and_not_well(pipe: Screen) -> None:
    show_checks(pipe, DoctorReport((Check("a", True), Check("b", False, "x", True), Check("c", False, "bad"))))
    assert out(pipe).splitlines() == ["✓ a", "↻ repaired b  x", "✗ c  bad"]


def test_facts_are_aligned_and_groups_indented(pipe: Screen) -> None:
    show_facts(pipe, {"items": 1234, "empty": None, "kinds": {"note": 2, "on": True}, "drives": ["a", "b"]})
    assert out(pipe).splitlines() == ["items   1,234", "kinds", "  note  2", "  on    yes", "drives  a, b"]


def test_a_table_is_cut_to_the_window_on_a_terminal_only(terminal: Screen) -> None:
    terminal.table(("a", "b"), [("x", "word " * 40)])
    assert max(cells(CODES.sub("", line)) for line in out(terminal).splitlines()) == 80


def test_a_table_in_a_pipe_is_whole(pipe: Screen) -> None:
    pipe.table(("a", "b"), [("x", "w" * 200), ("东京", "z")])
    assert out(pipe).splitlines() == ["a     b", "x     " + "w" * 200, "东京  z"]


def test_wide_characters_count_two_columns_and_combining_ones_none() -> None:
    assert cells("东京") == 4
    assert cells("e\u0301") == 1
    assert clip("东京大学", 5) == "东京…"
    assert clip_left("notes/a.md", 6) == "…/a.md"


def test_wrapping_keeps_every_character_and_the_width() -> None:
    text = "a few words, 然后是没有空格的很长的一句话, and averyveryverylongword at the end"
    lines = wrap(text, 20)
    assert max(map(cells, lines)) <= 20
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrap("", 20) == wrap("  ", 20) == []
    assert one_line(" a\n\tb ") == "a b"


CODE = "import os\nimport sys\n\ndef main(args):\n    if args:\n        return 1\n"
TABLE = "| name  | use   |\n|-------|-------|\n| heron | wades |"


def test_code_tables_and_headings_keep_their_lines_and_sentences_flow() -> None:
    assert wrap_lines(CODE, 40) == [line for line in CODE.splitlines() if line]
    assert wrap_lines(textwrap.indent(CODE, "  "), 40) == wrap_lines(CODE, 40)
    assert wrap_lines(TABLE, 40) == TABLE.splitlines()
    text = "# Herons\nA heron wades through the reeds and\nlooks for fish in the pond.\n\n- one\n- two"
    flowing = "A heron wades through the reeds and looks for fish in the pond."
    assert wrap_lines(text, 80) == ["# Herons", flowing, "- one", "- two"]
    assert max(map(len, wrap_lines(text, 20))) <= 20


def test_a_hit_shows_the_lines_of_its_passage(house: Any, tmp_path: Path) -> None:
    (tmp_path / "birds.md").write_text(f"# Birds\n\n{TABLE}\n", encoding="utf-8")
    house.run("add", str(tmp_path / "birds.md"))
    shown = [line.strip() for line in house.run("search", "heron").stdout.splitlines()]
    at = shown.index("| name  | use   |")
    assert shown[at - 1 : at + 3] == ["# Birds", *TABLE.splitlines()]


def test_colour_follows_the_flag_then_the_environment_then_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    assert wants_color(Terminal(), None)
    assert not wants_color(io.StringIO(), None)
    assert not wants_color(Terminal(), False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_color(io.StringIO(), None)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(Terminal(), None)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color(Terminal(), None)


def test_progress_says_counts_rate_time_left_and_name() -> None:
    text = progress_text(Progress(120, 500, "notes/a.md", "reading", 34.2, 11.4), 100)
    assert text == "reading  █████░░░░░░░░░░░░░░░  120/500  34/s  11 s left  notes/a.md"
    assert progress_text(Progress(3, None), 40) == "reading  3"
    assert cells(progress_text(Progress(120, 500, "n" * 300, "reading", 3.21, 4000), 60)) <= 60
    assert [span_of_time(s) for s in (8, 200, 7500)] == ["8 s", "3 min 20 s", "2 h 5 min"]


def test_progress_is_drawn_over_itself_and_wiped_at_the_end(terminal: Screen) -> None:
    with ProgressLine(terminal, active=True) as line:
        line(Progress(1, 2, "a"))
        line(Progress(2, 2, "b"))
    assert err(terminal).startswith("\r\x1b[2Kreading")
    assert err(terminal).endswith("\r\x1b[2K")
    assert err(terminal).count("\x1b[2K") == 2
    assert out(terminal) == ""


def test_progress_without_a_terminal_is_a_line_now_and_then(pipe: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.5, 111.0, 112.0])
    monkeypatch.setattr("ricordo.cli.terminal.time.monotonic", lambda: next(clock))
    with ProgressLine(pipe, active=True, redraws=False) as line:
        for done in (1, 2, 3):
            line(Progress(done, 4, f"file-{done}"))
    assert err(pipe).splitlines() == ["reading  ██████████░░░░░░░░░░  2/4  file-2"]


def test_the_cost_of_reading_much_is_said_once_and_first(pipe: Screen) -> None:
    with ProgressLine(pipe, active=True, redraws=False) as line:
        line(Progress(0, 2, "a.log", size=12_000_000))
        line(Progress(1, 2, "b.log", size=12_000_000))
    assert err(pipe).startswith("12 MB to read: if it is all text, about 30,000 passages")
    assert err(pipe).count("MB to read") == 1
    with ProgressLine(pipe, active=True, redraws=False) as line:
        line(Progress(0, 2, "a.md", size=12_000))
    assert err(pipe).count("MB to read") == 1


def test_that_many_vectors_can_be_left_to_later_is_said_once(pipe: Screen) -> None:
    with ProgressLine(pipe, active=True, redraws=False) as line:
        line(Progress(0, 20, "", "embedding"))
        assert err(pipe) == ""
        line(Progress(0, 5_000, "", "embedding"))
        line(Progress(100, 5_000, "", "embedding"))
    assert err(pipe).count("Ctrl-C loses nothing; 'ricordo embed' makes the rest later") == 1


def _shown_on(monkeypatch: pytest.MonkeyPatch, lines: int, count: int) -> list[str]:
    """What a terminal of so many lines shows of so many hits."""
    monkeypatch.setenv("LINES", str(lines))
    monkeypatch.setattr(sys, "stdout", Terminal())
    screen = Screen(color=False)
    hits = [hit(ref=f"note:/n{n}", title=f"Title {n}", snippet="many words " * 20) for n in range(count)]
    show_answer(screen, answer(*hits), query="words")
    return out(screen).splitlines()


def test_hits_are_shown_as_fully_as_the_window_allows(terminal: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _shown_on(monkeypatch, 100, 10)
    assert whole.count("") == 9  # hits stand apart
    lengths = []
    for height in (40, 26, 20):
        shown = _shown_on(monkeypatch, height, 10)
        assert len(shown) + 3 <= height
        assert "Title 0" in shown[0]
        assert any("Title 9" in line for line in shown)
        assert shown[:5] == whole[:5] or height == 20  # the best hit keeps its whole passage while there is room
        lengths.append(len(shown))
    assert lengths[0] > lengths[1] > lengths[2]


def test_brief_is_a_line_for_each_hit_and_files_are_names_alone(pipe: Screen) -> None:
    several = answer(hit(), hit(ref="note:/b", title="B", lines=(3, 3)), hit())
    show_answer(pipe, several, query="x", form="brief")
    assert out(pipe).splitlines() == [
        " 1  0.831  note:/keys:12-18  Keys", " 2  0.831  note:/b:3  B", " 3  0.831  note:/keys:12-18  Keys",
    ]  # fmt: skip
    show_answer(pipe, several, query="x", form="files")
    assert out(pipe).splitlines()[3:] == ["note:/keys", "note:/b"]


def test_paths_in_a_table_are_cut_at_the_front(terminal: Screen) -> None:
    terminal.table(("ref", "title"), [("a/" * 60 + "end.md", "t" * 60)], paths=(0,))
    row = CODES.sub("", out(terminal)).splitlines()[1]
    assert row.startswith("…")
    assert "/end.md  t" in row
    assert row.endswith("…")


def test_folders_with_a_single_folder_stand_on_one_line(pipe: Screen) -> None:
    leaf = TreeNode("a.md", "/home/me/notes/a.md", 1, ref="disk:/home/me/notes/a.md", title="A")
    node = TreeNode("notes", "/home/me/notes", 1, children=(leaf,))
    for name in ("me", "home", "disk:"):
        node = TreeNode(name, f"/{name}", 1, children=(node,))
    show_tree(pipe, TreeNode("/", "/", 1, children=(node,)))
    assert out(pipe).splitlines() == ["/ (1)", "└── disk:/home/me/notes (1)", "    └── a.md  A"]


def test_progress_is_silent_where_nobody_watches(pipe: Screen) -> None:
    with ProgressLine(pipe, active=False) as line:
        line(Progress(1, 2, "a"))
    assert err(pipe) == ""


def test_sizes_are_read_at_a_glance() -> None:
    assert [size_text(n) for n in (812, 4100, 999_499, 999_500, 3_200_000, 5_000_000_000)] == [
        "812", "4.1k", "999.5k", "1.0M", "3.2M", "5.0G",
    ]  # fmt: skip
