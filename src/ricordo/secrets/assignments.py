"""Finds secrets that have no form of their own by the names that they are given to.

What counts is the shape: a name that says password, pass, secret, token or key, in many languages, then what joins a
name and its value (``=``, ``: ``, ``: str =``, ``>`` of an element, ``", "`` of a call, ``is``), then a value that does
not look like prose, code or a placeholder. Every expression starts at a name and is bounded, so that the time grows
only with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ricordo.patterns import late
from ricordo.secrets.forms import (
    FoundSecret,
    is_chosen,
    is_chosen_text,
    is_code_name,
    is_dense,
    is_grouped,
    is_made_up,
    is_passphrase,
    is_placeholder,
    is_plain_word,
    listed_names,
    says_secret,
)

_CODES = listed_names("code")
_KINDS = {
    **dict.fromkeys(_CODES, "weak"),
    **{stem: kind for kind in ("password", "weak", "secret", "key") for stem in listed_names(kind)},
}
STEMS = tuple(_KINDS)
WHOLE_STEMS = tuple(stem for stem, kind in _KINDS.items() if kind == "weak")
"""Stems that name a secret only where they are a word of their own."""
_OPENING_KEYS = late(
    r"(?i)(?:api|access|auth|encryption|decryption|signing|account|secret|private|master|service|license|x|eth|wallet"
    r"|server|shared|spend|spending|viewing|deploy|admin|storage|webhook|hmac|validator)[ _.-]?$"
)
"""Words that show that a key gives access; a sort key or a primary key does not."""
_CLOSED_KEYS = late(r"(?i)(?:public|primary|foreign|sort|partition|cache|index|object|s3|row|hash|lookup|host)[ _.-]?$")
_ABOUT = late(
    r"(?i)^(?:[a-z]$|.*[_-]?(?:name|id|ids|ref|refs|path|file|dir|url|uri|type|kind|count|counts|len|length|size|limit|ttl"
    r"|expir\w*|policy|version|arn|alias|hint|field|column|label|prefix|suffix|index|hash|algorithm|format|usage|budget"
    r"|required|enabled|placeholder|encryption|strength|message|text|title|error|help|header|manager|store|provider|sort|order|map|list|set|date|time|day|ring|board|word|words|command)s?$)"
)
"""Names that only describe a secret, such as ``token_count``, or that are other words, such as ``keyboard``."""
_REST = late(r"([A-Za-z0-9_-]{0,30})")
_OTHER_REST = late("([A-Za-z\u00c0-\u06ff]{0,3})")
_IS_NO_WORD = late(r"[sS]?(?:[_\d-].*|[A-Z].*|)$")
_ENDING = late(r"(?:e?n|ene?|et|es)$")
"""What other languages add to a noun: "adgangskoden", "passordet"."""
_LINKS = (
    "is|are|was|lautet|ist|est|es|é|è|to|är|er|jest|je|la|là|adalah|είναι|هي|is still|is now"
    "|reads|becomes|remains|heißt|wird|wordt|blir|este|será|sera|sarà|yra|је|هو|है|היא|הוא|теперь|будет"
)
_WORD = "[\\w'\u0900-\u0dff\u0e00-\u0e7f-]{1,20}"
"""A word between a name and its value. The vowel signs of Indian and Thai words are no letters."""
_WITH_ATTRIBUTES = r"(?:\s{1,4}[\w:.-]{1,40}=[\"'][^\"'<>\n]{0,80}[\"']){0,3}"
_LINK = late(rf"(?i)\s(?:{_LINKS}):?\s|[は是为為]")
_JOINED = late(
    r"(?xi) (?P<close> \\?[\"'`*]{0,3} \]? ) (?:\ ?\([^()\n]{1,20}\))? (?:"
    r"(?P<typed> (?: :\s?[&\w.<>\[\]|?\ ]{1,30}? | \sas\s[\w.]{1,30} | \[\d{0,4}\] ) \s?=(?![=>])\s{0,3} )"
    r"|(?P<sign> \s{0,3}(?: :=|=>|->|==?|[:：＝] ) \*{0,2} \s{0,3} \*{0,2} | \s{1,2}[—–]\s{1,2} )"
    rf"|(?P<prose> (?:[^\S\n]{_WORD}){{0,4}}? (?: \s{{1,4}}(?:{_LINKS}):?\s{{1,4}} | \ ?[:：]\s{{1,3}}"
    r"  | \s(?:->|=>|→|—|–)\s | (?:は|是|为|為|는|은)[:：]?\s{0,3} | ['’]s\s ) )"
    rf"|(?P<record> {_WITH_ATTRIBUTES}>\s{{0,20}}<value>"
    r"  | (?<=[\"']),\s{0,20}[\"']?value[\"']?\s?[:=]\s?(?=[\"']) | \n\ {0,20}value:\ {1,3}"
    r"  | (?<=[\"'])\s?\{\s{1,20}(?:[^\n{}]{1,80}\n\s{0,20}){0,4}?(?:default|value)\s{0,20}=\s{0,3}(?=\") )"
    rf"|(?P<element> {_WITH_ATTRIBUTES}>\s{{0,4}} )"
    r"|(?P<attribute> \s{1,4}value\s?=\s?(?=[\"']) )"
    r"|(?P<argument> ,\s{0,4}(?=b?[\"']) )"
    r"|(?P<cell> \s{0,20}\|\s{1,20} )"
    r"|(?P<call> \((?=[\"']) )"
    r"|(?P<bare> [^\S\n]{1,4} )"
    r")"
)
"""What joins a name and its value. Only a few words may stand between them, as in "the password for the server is".

In a record, the name is one field and the value the next: ``"name": "DB_PASS", "value": "kaboom77"``.
"""
_AT_END = late(rf"(?:[^\S\n]{_WORD}){{1,4}}[^\S\n]([^\s\"'`<>\[\]{{}}(),;|\\/@:=]{{8,40}}?)[.!]?(?:\n|$)")
"""What ends a line a few words behind a name: "the password for the printer Br4ndungX"."""
_CODE = late(r"[\d#*][\d#*-]{3,19}(?:[ ,;\n]{1,3}[\d-]{4,20}){0,19}(?![\w-])")
"""Digits that open a door or an account, perhaps a list of them."""
_QUOTED = late(
    r"(?:(?i:md5|sha\d{1,3}|password|n?crypt|\w{0,10}hash\w{0,10}|secret\w{0,10}(?:::new)?|string::from|buffer\.from)\(\s?)?"
    r"\\?(?:[bru]?\"([^\"\n]{1,500})\"|[bru]?'([^'\n]{1,500})'|`([^`\n]{1,500})`|„([^“”\n]{1,100})[“”]|“([^”\n]{1,100})”"
    r"|«([^»\n]{1,100})»|「([^」\n]{1,100})」)"
)
_BARE = late(r"\\?[\"'`]?([^\s\"'`<>\[\]{}(),;|\\]{4,500})")
_GOES_ON = late(r"[;,|][^\s\"'`<>\[\]{}(),;|\\:=]{2,40}(?=\n|$)")
"""What follows a sign inside a value that is alone on its line: "password : heron;4418"."""
_BEFORE_EAST_ASIAN = late("[!-~]{4,}(?=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])")
"""A value in a language that puts no space before the next word."""
_VALUE_BEFORE = late(
    r"(?i)(?:^|[\s\"'`(])([^\s\"'`()<>]{6,80})[\"'`]?\s{1,2}(?:as|for|is|was)\s{1,2}"
    r"(?:(?:the|your|my|our|his|her|its|their|a)\s{1,2})?(?:[\w'-]{1,20}\s{1,2}){0,2}$"
)
"""A value that stands before its name: "use Br4ndung as the password"."""
_BESIDE = late(r"[^\n\w]{1,3}(?:\w{1,12}[^\n\w]{1,3}){0,3}?(?<![\w/+.@-])([A-Za-z0-9+/_-]{32,200}={0,2})(?![\w/+.@-])")
"""A long run of letters and digits a few words behind a name; if it is random, it is what the name is about."""
_ELEMENT = late(r"([^<>\n]{4,500})</")
_SETTER = late(r"(?i)(?:define|set\w{0,20}|put\w{0,8}|add\w{0,12}|env|header\w?|append|property)\(\s{0,3}[\"'][\w.-]*$")
_FLAG = late(r"(?:^|\s)--?[A-Za-z][\w.-]*$|(?:^|\s)--?$")
_LINE_END = late(r"[.!?]?[^\S\n]*(?:[#;/].*)?(?:\n|$)")


class _Name(NamedTuple):
    """A name in a text that says that a secret follows, where it stands, and what stands before it."""

    kind: str
    stem: str
    rest: str
    start: int
    end: int
    before: str

    @property
    def is_password(self) -> bool:
        return self.kind in ("password", "weak")

    @property
    def is_variable(self) -> bool:
        """Whether it is written as shells name their variables, such as ``DB_PASS``."""
        return self.stem.isupper() and self.stem.isascii()

    @property
    def is_code(self) -> bool:
        """Whether digits alone may be its value, as those of a PIN."""
        return self.stem.lower() in _CODES

    @property
    def word(self) -> str:
        """The whole name in code of which it is the end, such as ``spring.datasource.password``."""
        return re.split(r"[^\w.$-]", self.before)[-1] + self.stem + self.rest


def assigned(text: str, stems: Collection[str]) -> Iterator[FoundSecret]:
    """The values of names such as ``password`` or ``api_key``, if they look like secrets; the text holds some stems."""
    last = done = 0
    for name in _names(text, stems) if stems else ():
        # Names come in groups, one for each stem; each group starts again at the beginning of the text.
        done, last = (done if name.start >= last else 0), name.start
        if name.start < done:
            continue
        if name.kind == "password" and (match := _VALUE_BEFORE.search(name.before)) and _is_password_in_prose(match[1]):
            start = name.start - len(name.before)
            yield FoundSecret("password", start + match.start(1), start + match.end(1))
        if (beside := _BESIDE.match(text, name.end)) and is_dense(beside[1]):
            done = beside.end(1)
            yield FoundSecret("secret", *beside.span(1))
            continue
        joined = _JOINED.match(text, name.end)
        if joined is None:
            continue
        start, end, is_quoted = _value_at(text, joined)
        if name.is_code and (code := _CODE.match(text, start)):
            end = code.end()
        if end - start > 100:  # names inside a value this long belong to the value, so the search goes on behind it
            done = end
        if end > start and _holds(name, joined, text[start:end], is_quoted=is_quoted, after=text[end : end + 60]):
            done = end
            yield FoundSecret("password" if name.is_password else "secret", start, end)
        elif joined["bare"] and (ending := _AT_END.match(text, name.end)) and _ends_with_password(name, ending[1]):
            done = ending.end(1)
            yield FoundSecret("password", *ending.span(1))


def _ends_with_password(name: _Name, value: str) -> bool:
    """Whether the last word of a line is the password that the line is about; the name of a machine varies less."""
    is_mixed = value.lower() != value != value.upper()
    return (
        name.kind == "password"
        and is_mixed
        and _is_password_in_prose(value)
        and not _FLAG.search(name.before + name.stem)
    )


def _is_password_in_prose(value: str) -> bool:
    """Whether a word of a sentence can only be a password."""
    return is_chosen(value) and any(c.isdigit() for c in value) and not is_placeholder(value)


def _value_at(text: str, joined: re.Match[str]) -> tuple[int, int, bool]:
    """Where the value begins and ends, and whether it stands in quotes; an empty range if there is none."""
    at = joined.end()
    if joined["element"] or joined[0].endswith(">"):
        match = _ELEMENT.match(text, at)
        return (*match.span(1), True) if match else (at, at, False)
    quoted = _QUOTED.match(text, at)
    if quoted and quoted.lastindex:
        start, end = quoted.span(quoted.lastindex)
        return start, end - (text[end - 1] == "\\"), True
    match = _BARE.match(text, at)
    if match is None or text[match.end() : match.end() + 1] in ("(", "["):
        return at, at, False
    start, end = match.span(1)
    if joined[0].endswith("*") and match[1].endswith("*"):
        end = start + len(match[1].rstrip("*"))
        return start, end, False
    if joined[0].endswith(": ") and (more := _GOES_ON.match(text, end)):
        return start, more.end(), False
    if ends := _BEFORE_EAST_ASIAN.match(match[1]):
        return start, start + ends.end(), False
    if text[start - 1] not in "\"'`":
        value = match[1].rstrip(".:!?" if joined["prose"] or joined["bare"] else ".:?")
        if "&" in value:
            value = _in_query(text, joined.start(), value)
        end = start + len(value)
    return start, end, False


def _in_query(text: str, at: int, value: str) -> str:
    """The value up to the next ``&``, if its name is a parameter of an address."""
    name = re.search(r"[?&][\w.-]{1,40}$", text[max(0, at - 42) : at])
    return value.partition("&")[0] if name else value


def _holds(name: _Name, joined: re.Match[str], value: str, *, is_quoted: bool, after: str) -> bool:
    """Whether a value may be a password or a token, judged by how it is given and how it looks."""
    if not name.is_password and not is_quoted and value.isalpha():
        return False
    if is_placeholder(value) or value.startswith("--") or (after[:1] == ":" and "\n" in joined[0]):
        return False
    if name.stem.lower() == "pwd" and (value[0] in "/~." or value[1:3] in (":/", ":\\")):
        return False  # the working folder, as shells name it
    how = joined.lastgroup
    if how == "argument" and not _SETTER.search(name.before):
        return False
    if how == "record" or (how == "element" and "=" in joined[0]):
        return (is_chosen(value) and is_chosen_text(value)) or is_made_up(value, shortest=8) or is_grouped(value)
    if how == "element" and joined["close"] and not re.search(r"(?:name|key)=[\"'][\w.-]*$", name.before):
        return False
    if how == "call" and not (name.is_password and name.is_variable):
        return False
    if name.kind == "weak" and ("\n" in joined[0] or after[:1] == "`"):
        return False
    if how == "cell" and not after.lstrip(" ").startswith("|"):
        return False
    if how == "bare" and (joined["close"] or after[:1] == "`" or (is_quoted and name.kind == "weak")):
        return False
    if how == "bare" and not is_quoted:
        return _holds_after_space(name, value, after)
    if name.is_password:
        return _is_password(name, joined, value, is_quoted=is_quoted, after=after)
    return _is_token(name, joined, value, is_quoted)


def _holds_after_space(name: _Name, value: str, after: str) -> bool:
    """Whether what follows a name without a sign is a secret: "--password hunter2", "requirepass Br4ndung"."""
    if _FLAG.search(name.before + name.stem):
        if not name.is_password:
            return is_made_up(value, shortest=8) or is_grouped(value) or is_chosen(value, shortest=10)
        is_metavar = value.isupper() and is_plain_word(value)
        has_capital = any(c.isupper() for c in value)
        return is_chosen(value) or (
            has_capital and not is_metavar and len(value) >= 6 and not says_secret(value.lower())
        )
    if name.is_password:
        return is_chosen(value, shortest=8) and any(c.isdigit() for c in value) and not after.startswith("=")
    if not _LINE_END.match(after):
        return False
    return is_made_up(value, shortest=12) or (is_chosen(value, shortest=8) and any(c.isupper() for c in value))


def _is_password(name: _Name, joined: re.Match[str], value: str, *, is_quoted: bool, after: str) -> bool:
    how, sign = joined.lastgroup, joined[0]
    if name.is_code and _CODE.fullmatch(value):
        return not value.isdigit() or len(value) <= 12
    if name.stem.lower() == "pin":
        return False
    if is_quoted:
        needs_digit = how in ("prose", "cell") and is_plain_word(value) and value.islower() and "-" not in value
        if name.is_variable and "=" in sign and " " in value:  # a password of words; a label names what it is for
            return any(c.isdigit() for c in value) and len(value.split()) <= 8 and not says_secret(value.casefold())
        return len(value) >= 5 and is_chosen_text(value) and not needs_digit
    if is_chosen(value) or is_made_up(value, shortest=6, signs=True):
        return not is_code_name(value)
    if is_passphrase(value) and "pass" not in value.lower() and not ("_" in value and sign.startswith(" ")):
        return True
    if value.isdigit():
        return len(value) >= 6 and "=" in sign
    if len(value) < 6 or how != "sign" or is_code_name(value):
        return False
    if "=" in sign and name.is_variable:
        return True  # a variable of a shell needs no digits to be a password
    if is_plain_word(value) and says_secret(value.casefold()):
        return False
    if "=" in sign:
        return (
            sign.strip() == sign and after[:1] not in (",", ")", "(") and ("." in name.word or name.before[-1:] in "?&")
        )
    is_compound = name.kind == "password" or name.word != name.stem + name.rest or name.stem.isupper()
    return is_compound and len(value) >= 7 and _LINE_END.match(after) is not None and "\n" not in sign


def _is_token(name: _Name, joined: re.Match[str], value: str, is_quoted: bool) -> bool:
    if " " in value and not (is_quoted and name.kind == "secret"):
        return False
    if joined["prose"]:
        is_told = _LINK.search(joined[0]) is not None
        return is_grouped(value) or (is_made_up(value, shortest=12) and (is_told or _is_varied(value)))
    if name.kind == "secret" and name.stem.lower() == "secret" and joined.lastgroup != "cell":
        is_compound = name.word.lower() != "secret"
        if is_compound and (is_quoted or ("=" in joined[0] and name.is_variable)) and len(value) >= 10:
            return is_chosen_text(value) and not (is_plain_word(value) and value.isalpha())
        if is_compound and joined["sign"] and is_passphrase(value):
            return True
    if is_made_up(value, shortest=8) or is_grouped(value):
        return len(value) > 60 or not is_code_name(value)
    return is_quoted and is_chosen(value, shortest=12) and not is_plain_word(value) and _has_signs(value)


def _is_varied(value: str) -> bool:
    """Whether it has small and capital letters and digits, or is long; words before a colon are mostly about others."""
    return len(value) >= 20 or (value.lower() != value != value.upper() and any(c.isdigit() for c in value))


def _has_signs(value: str) -> bool:
    return sum(not c.isalnum() and c not in "-_./: " for c in value) >= 2


def _names(text: str, stems: Collection[str]) -> Iterator[_Name]:
    """The names that may hold a secret. It searches for plain strings, because an expression over all names is far
    slower.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become longer in lower case, which would shift the positions
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    for stem in STEMS:
        if stem not in stems:
            continue
        at = lower.find(stem)
        while at >= 0:
            end = at + len(stem)
            if (name := _name_at(text, stem, at, end)) is not None:
                yield name
            at = lower.find(stem, end)


def _name_at(text: str, stem: str, at: int, end: int) -> _Name | None:
    kind = _KINDS[stem]
    following = text[end : end + 1]
    if kind == "weak" and (following.isalnum() or _is_inside_a_word(text, at)):
        return None
    match = (_REST if stem.isascii() else _OTHER_REST).match(text, end)
    rest = match[1] if match else ""
    end = match.end() if match else end
    has_ending = kind == "password" and len(stem) > 5 and _ENDING.match(rest)
    if stem.isascii() and not has_ending and (not _IS_NO_WORD.match(rest) or _ABOUT.match(rest.strip("_-"))):
        return None
    before = text[max(0, at - 60) : at]
    if kind == "key" and stem == "key" and not _opens(before, rest):
        return None
    if "arn:" in before.rpartition(" ")[2]:
        return None
    return _Name(kind, text[at : end - len(rest)], rest, at, end, before)


def _is_inside_a_word(text: str, at: int) -> bool:
    """Whether letters of the same case stand right before, as in "compass"; the end of ``smtpPass`` is a word."""
    previous = text[at - 1 : at]
    return previous.isalnum() and not (previous.islower() and text[at].isupper()) and not previous.isdigit()


def _opens(before: str, rest: str) -> bool:
    """Whether a key gives access: ``api_key``, ``OPENAI_KEY``, but not ``primary key``."""
    if _OPENING_KEYS.search(before):
        return True
    return bool(re.search(r"[A-Z]_$", before)) and not _CLOSED_KEYS.search(before) and not rest
