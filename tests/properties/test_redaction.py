"""Redaction, over many texts: it is done once and for all, and takes nothing but secrets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ricordo.secrets.find import find_secrets, redact

SECRETS = (
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "sk-ant-" + "api03-aB3dE5fG7hJ9kL1mN3pQ5rS7",
    "xoxb-" + "123456789012-abcdefGHIJ",
)
PIECES = st.sampled_from(
    (
        *SECRETS,
        "password=",
        "token: ",
        "://u:",
        "@host",
        " ",
        "\n",
        "Bearer ",
        "hunter2",
        "[redacted: aws key]",
        "'",
        "x",
    )
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=12).map("".join))
def test_what_is_redacted_has_no_secret_left_and_stays_as_it_is(text: str) -> None:
    clean, _ = redact(text)
    assert find_secrets(clean) == []
    assert redact(clean) == (clean, ())


@given(st.lists(st.text(alphabet="abc XYZ.,\n-()é你", max_size=20), min_size=1, max_size=6), st.data())
def test_the_text_around_secrets_is_kept_to_the_letter(prose: list[str], data: st.DataObject) -> None:
    chosen = [data.draw(st.sampled_from(SECRETS)) for _ in prose[1:]]
    text = prose[0] + "".join(f" {secret} {part}" for secret, part in zip(chosen, prose[1:], strict=True))
    clean, kinds = redact(text)
    assert len(kinds) == len(chosen)
    labels = iter(kinds)
    assert clean == prose[0] + "".join(f" [redacted: {next(labels)}] {part}" for part in prose[1:])


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_findings_are_in_order_apart_and_inside_the_text(text: str) -> None:
    last = 0
    for one in find_secrets(text):
        assert last <= one.start < one.end <= len(text)
        last = one.end


BY_COMMON_SIGNS = (
    "0f" * 16 + "-0a0a0a0a-0b0b0b0b",
    "0f" * 16 + "-us12",
    "s." + "aB1" * 8,
    "M" + "a1" * 12 + ".abcdef." + "x1" * 14,
    "pat" + "a1" * 7 + "." + "0f" * 32,
    "figd_" + "a1" * 19,
    "1/1234567890123:" + "0f" * 16,
)
"""Secrets whose signs plain texts are full of, so that few places are looked at."""


@given(st.sampled_from((*SECRETS, *BY_COMMON_SIGNS)), st.text(max_size=40), st.text(max_size=40))
def test_a_secret_between_spaces_is_found_whatever_was_met_before(secret: str, before: str, after: str) -> None:
    text = f"{before} {secret} {after}"
    for _ in range(2):
        assert any(
            secret in text[one.start : one.end] or text[one.start : one.end] in secret for one in find_secrets(text)
        )
    assert secret not in redact(f"{text} {secret}")[0]
