"""Words that occur nowhere: typing errors, shortened codes, and languages that the store does not stem."""

from __future__ import annotations

import pytest

from ricordo import Ricordo


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("borow cheker", "note:/borrow"),
        ("lifetmie", "note:/lifetime"),
        ("0x8007", "note:/code"),
        ("error 0x8007", "note:/code"),
        ("токенів", "note:/tokens"),
    ],
)
def test_a_word_that_stands_nowhere_finds_what_it_most_likely_means(engine: Ricordo, query: str, first: str) -> None:
    engine.save("note:/borrow", "The borrow checker rejects this program.")
    engine.save("note:/lifetime", "A lifetime says how long a reference is valid.")
    engine.save("note:/code", "Windows Update stopped with 0x80070057.")
    engine.save("note:/tokens", "Ротація токенів доступу: токени оновлюються щодня.".replace("токенів", "токена"))
    engine.save("note:/other", "Bread rises overnight in the pantry.")
    answer = engine.search(query, track=False)
    assert answer.hits[0].ref == first
    assert any("was not found" in note for note in answer.meta.notes)


@pytest.mark.parametrize("profile", ["default", "vault", "brain", "knowledge"])
def test_the_one_note_that_holds_the_query_as_a_substring_comes_first(meaning: Ricordo, profile: str) -> None:
    meaning.save("note:/code", "Stopped with E4X80070057Q.")
    for at in range(30):
        meaning.save(f"note:/{at}", f"An error of Windows Update, number {at}.", wait=False)
    meaning.embed()
    assert meaning.search("x8007005", profile=profile, track=False).hits[0].ref == "note:/code"


def test_a_word_that_stood_only_in_a_text_that_is_gone_is_not_looked_for(engine: Ricordo) -> None:
    engine.save("note:/gone", "Lanterns everywhere.")
    engine.save("note:/kept", "The lanters of Perth, a family name, and the quay.")
    engine.rm("note:/gone")
    answer = engine.search("lanterns quay", track=False)
    assert [hit.ref for hit in answer.hits] == ["note:/kept"]
    assert answer.meta.notes == ("'lanterns' was not found; looked for lanters",)
    engine.edit("note:/kept", "The quay.")
    assert engine.search("lanterns quay", track=False).meta.notes == ()


def test_words_that_mean_nothing_known_stay_as_they_are(engine: Ricordo) -> None:
    engine.save("note:/a", "Bread rises overnight.")
    assert engine.search("zzzzz qqqqq", track=False).hits == ()


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("how do I know that a token is genuine", True),
        ("validate a jwt signature", True),
        ("hack a wifi network in the train", False),
        ("zzzzz qqqqq", False),
        ("recipe for lemon cake", False),
    ],
)
def test_an_answer_in_which_nothing_fits_says_so(meaning: Ricordo, query: str, fits: bool) -> None:
    meaning.save("note:/jwt", "Validating JSON Web Tokens: check the signature first, then who issued the token.")
    meaning.save("note:/deploy", "Deploy on Monday morning; roll back when error rates rise.")
    meaning.save("note:/keys", "Rotate the signing keys every quarter.")
    notes = meaning.search(query, track=False).meta.notes
    assert any("nothing fits well" in note for note in notes) is not fits


def test_a_note_shows_the_word_that_was_looked_for_and_not_its_stem(engine: Ricordo) -> None:
    engine.save("note:/tls", "The gateway needs a certificate of its own.")
    notes = engine.search("certifcate", track=False).meta.notes
    assert notes == ("'certifcate' was not found; looked for certificate",)


def test_the_vault_profile_counts_a_word_that_another_was_looked_for(engine: Ricordo) -> None:
    engine.save("note:/tls", "The gateway needs a certificate of its own.")
    engine.save("note:/bread", "Bread rises overnight.")
    right, wrong = (
        engine.search(text, profile="vault", explain=True, track=False) for text in ("certificate", "certifcate")
    )
    values = [
        {share.name: share.value for share in answer.hits[0].explain.signals}["semantic"]
        for answer in (right, wrong)
        if answer.hits[0].explain
    ]
    assert values[0] == values[1] > 0
