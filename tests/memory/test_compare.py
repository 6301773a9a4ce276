"""Which words of two sentences differ, and what that makes of them."""

from __future__ import annotations

import pytest

from ricordo.memory.compare import OPPOSITE, PARALLEL, SAME, UNRELATED, compare, compare_closely
from ricordo.models.local_onnx import LocalEmbedder

CASES = [
    (SAME, "Priya reviews all auth changes.", "Auth changes must be reviewed by Priya."),
    (SAME, "The price is 20 euros.", "The price is €20."),
    (SAME, "The keys rotate hourly.", "The keys rotate every hour."),
    (SAME, "The backups are kept for 30 days.", "We keep the backups for a month."),
    (OPPOSITE, "Use pnpm, not npm.", "Use npm, not pnpm."),
    (OPPOSITE, "The files are in Rome.", "The files moved from Rome to Milan."),
    (OPPOSITE, "The keys rotate hourly.", "The keys rotate every day."),
    (OPPOSITE, "The gate is not locked.", "The gate is locked."),
    (OPPOSITE, "The theme is red.", "The theme is green."),
    (OPPOSITE, "Ada reports to Bob.", "Bob reports to Ada."),
    (OPPOSITE, "The contract runs until 2029.", "The contract runs until 2031."),
    (OPPOSITE, "The base address is https://api.acme.test/v1.", "The base address is https://api.acme.test/v2."),
    (SAME, "Only Ada may deploy.", "Nobody but Ada may deploy."),
    (SAME, "Confluence is our wiki.", "Our wiki is Confluence."),
    (PARALLEL, "Timo writes the newsletter.", "In August, Sara writes the newsletter."),
    (OPPOSITE, "The logger is on.", "The logger is off."),
    (SAME, "By default tracing is on.", "Tracing is on by default."),
    (OPPOSITE, "The office is in Lisbon.", "The office is in Porto."),
    (PARALLEL, "We deploy on Fridays.", "We used to deploy on Mondays."),
    (SAME, "The keys rotate every quarter.", "The keys rotate every single quarter."),
    (PARALLEL, "The parser supports YAML.", "The parser supports TOML."),
    (PARALLEL, "Staging runs Postgres 15.", "Production runs Postgres 16."),
    (PARALLEL, "Uploads are limited to 10 MB.", "For admins, uploads are limited to 50 MB."),
    (PARALLEL, "Host db1 has 64 GB.", "Host db2 has 64 GB."),
    (PARALLEL, "Never push to main.", "Never force-push to main."),
    (PARALLEL, "Ticket 7 is open.", "Ticket 8 is closed."),
]


@pytest.fixture(scope="module")
def model() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.mark.parametrize(("relation", "older", "newer"), CASES)
def test_sentences_are_compared_by_the_words_that_differ(
    model: LocalEmbedder, relation: str, older: str, newer: str
) -> None:
    one, other = model.embed_documents([older, newer])
    assert compare_closely(older, newer, float(one @ other), 0.0).relation == relation
    assert compare(older, newer).relation in (relation, PARALLEL, UNRELATED)


@pytest.mark.parametrize("text", ["", "∎ ☃ 99.99.99 1,2,3 v1..2", "00:99 31 February 0x not not", "办公室在里斯本。"])
def test_any_text_can_be_compared(text: str) -> None:
    assert compare(text, text).relation == SAME
    assert compare(text, "The gate is open.", 0.5).relation != SAME


def test_texts_of_far_meanings_are_unrelated_whatever_words_they_share() -> None:
    assert compare("The gate is open.", "The gate is not open.", 0.2).relation == UNRELATED


def test_of_texts_of_several_sentences_the_first_ones_can_contradict_each_other() -> None:
    found = compare("The office is in Lisbon. Ask Ada for keys.", "The office is in Porto. Bring cake. Ask Bob.")
    assert (found.relation, found.why) == (OPPOSITE, "another name in the same place")
    headed = compare("# Places\n\nThe office is in Lisbon. Ask Ada.", "# Places\n\nThe office is in Porto. Ask Bob.")
    assert headed.relation == OPPOSITE
    assert not compare("We bake bread. It replaced Ada's cake.", "We sell boats. It replaced Bob's cars.").is_near


@pytest.mark.parametrize(
    "reasons",
    [
        (
            "\n\n**Why:** it broke once.\n**How to apply:** ask.",
            "\n\n**Why:** a mail was lost.\n**How to apply:** run it.",
        ),
        (" **Why:** never again rather than often.", "\n- Why: nobody knew.\n- How to apply: always."),
        (" - it prevents long nights", " - they replaced the old ones"),
        ("\nReason: not said.", " Warum: niemand weiß es."),
    ],
)
def test_why_a_text_claims_what_it_claims_does_not_count(reasons: tuple[str, str]) -> None:
    one, other = reasons
    for relation, older, newer in CASES:
        assert compare(older + one, newer + other) == compare(older, newer), relation
    assert compare(f"Use pnpm.{one}", f"Use pnpm.{other}").relation == SAME
    assert compare("Use background: red.", "Use background: green.").relation != SAME
