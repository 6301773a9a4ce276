"""Markdown: the text stays exact, front matter becomes fields, nothing in it is fatal."""

from __future__ import annotations

import pytest

from ricordo.ingest.formats.read import parse_bytes
from ricordo.values.items import Parsed


def markdown(text: str) -> Parsed:
    return parse_bytes(text.encode(), "note.md")


def test_front_matter_becomes_fields_and_leaves_the_text() -> None:
    parsed = markdown(
        "---\ntitle: Plan B\ndescription: What else\ntags: [one, two]\ncategory: work\ndomain: ops\n"
        "severity: Warning\nimportance: '4'\ncontext: from the meeting\nloading: always\nimmutable: yes\n"
        "decay_protected: true\nsource_url: https://example.org/x\n---\n\n# Heading\n\nBody.\n"
    )
    assert parsed.text == "\n# Heading\n\nBody.\n"
    assert parsed.title == "Plan B"
    assert parsed.first_line == 15
    assert parsed.fields == {
        "title": "Plan B",
        "description": "What else",
        "tags": ("one", "two"),
        "category": "work",
        "domain": "ops",
        "severity": "warning",
        "importance": 4,
        "context": "from the meeting",
        "loading": "always",
        "immutable": True,
        "decay_protected": True,
        "source_url": "https://example.org/x",
    }
    assert parsed.warnings == ()


def test_the_first_line_is_that_of_the_original_file() -> None:
    original = "---\r\ntitle: A\r\n---\r\nfirst\r\nsecond\r\n"
    parsed = parse_bytes(original.encode(), "a.md")
    assert parsed.text == "first\nsecond\n"
    assert original.splitlines()[parsed.first_line - 1] == "first"


def test_tags_may_be_a_line_of_words_with_commas() -> None:
    assert markdown("---\ntags: red, green , red\n---\nx").fields["tags"] == ("red", "green")


def test_unknown_keys_are_metadata_with_dates_as_iso_text() -> None:
    parsed = markdown("---\nauthor: Zoë\ndate: 2024-03-01\nnested: {when: 2024-03-01T10:00:00Z, n: [1, 2]}\n---\nx")
    assert parsed.fields == {
        "metadata": {
            "author": "Zoë",
            "date": "2024-03-01",
            "nested": {"when": "2024-03-01T10:00:00+00:00", "n": [1, 2]},
        }
    }


def test_validity_dates_become_iso_times() -> None:
    fields = markdown("---\nvalid_from: 2024-03-01T00:00:00Z\nvalid_until: 2025-01-01T12:00+02:00\n---\nx").fields
    assert fields == {"valid_from": "2024-03-01T00:00:00+00:00", "valid_until": "2025-01-01T10:00:00+00:00"}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("importance: 9", "importance"),
        ("importance: high", "importance"),
        ("severity: dreadful", "severity"),
        ("valid_from: soon", "valid_from"),
        ("immutable: maybe", "immutable"),
        ("title: [a, b]", "title"),
        ("tags: {a: b}", "tags"),
    ],
)
def test_a_value_a_field_cannot_hold_is_a_warning_and_stays_in_metadata(line: str, field: str) -> None:
    parsed = markdown(f"---\n{line}\ndomain: ops\n---\nbody")
    assert parsed.text == "body"
    assert field not in parsed.fields
    assert parsed.fields["domain"] == "ops"
    assert field in parsed.fields["metadata"]
    assert len(parsed.warnings) == 1
    assert field in parsed.warnings[0]


def test_an_impossible_date_stays_text() -> None:
    parsed = markdown("---\nreviewed: 2024-02-30\n---\nbody")
    assert parsed.fields["metadata"] == {"reviewed": "2024-02-30"}


@pytest.mark.parametrize(
    "block",
    [
        "title: one: two",
        "title: [unclosed",
        "\ttabs: no",
        "x: !!python/object:os.system {}",
        "x: " + "[" * 500,
        "x: " + "{a: " * 10000,
        "a: &a [*a]",
        "a: &a [1, 1]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: &d [*c, *c, *c, *c]\n"
        "e: &e [*d, *d, *d, *d]\nf: &f [*e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f]",
    ],
)
def test_a_front_matter_that_is_not_sane_yaml_stays_in_the_text(block: str) -> None:
    text = f"---\n{block}\n---\n# Heading\nbody"
    parsed = markdown(text)
    assert parsed.text == text
    assert parsed.first_line == 1
    assert parsed.title == "Heading"


def test_broken_yaml_is_reported_with_its_line() -> None:
    (warning,) = markdown("---\nok: 1\ntitle: one: two\n---\nbody").warnings
    assert "not valid YAML" in warning
    assert "line 3" in warning


@pytest.mark.parametrize(
    "text",
    ["---\n\nA rule above\n\n---\nand below", "---\nno end", "--- \n- a\n- b\n---\nx", "----\na: b\n----"],
)
def test_a_horizontal_rule_is_not_a_front_matter(text: str) -> None:
    parsed = markdown(text)
    assert parsed.text == text
    assert parsed.fields == {}
    assert parsed.warnings == ()


def test_an_empty_front_matter_is_left_out() -> None:
    parsed = markdown("---\n---\nbody")
    assert (parsed.text, parsed.first_line) == ("body", 3)


def test_only_a_file_that_starts_with_dashes_has_front_matter() -> None:
    text = "\n---\ntitle: A\n---\nbody"
    assert markdown(text).text == text


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\ntext", "One"),
        ("intro\n\nOne Two\n=======\n", "One Two"),
        ("## Second level first\n\n# The one\n", "The one"),
        ("## Only this\n", "Only this"),
        ("```\n# not a heading\n```\n\n# Real `code` and [link](http://x) ##\n", "Real code and link"),
        ('<h1 align="center">Logo <b>Name</b></h1>\n\n## Install\n', "Logo Name"),
        ("# ![badge](x.png) Name &amp; more {#anchor}\n", "Name & more"),
        ("no heading at all\n#hashtag\n", ""),
        ("# snake_case_name *stays*\n", "snake_case_name stays"),
        ("- item\n---\n", ""),
    ],
)
def test_the_title_is_the_first_heading_in_plain_words(text: str, title: str) -> None:
    assert markdown(text).title == title
