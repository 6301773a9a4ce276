"""Takes a message of a user apart into the sentences that are the user's own.

What others wrote is hidden before sentences are looked for, over its whole span: code, quoted lines, quotations of any
length, pasted mails, chats and logs, what programs put between tags, and what was said for a while only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ricordo.frozen import frozen
from ricordo.patterns import late

MOST_CHARACTERS = 8_000
"""Only so much of a message is looked at; the rest is mostly pasted."""
HIDDEN = "·"
"""Stands for each character of a quotation, in which nothing is looked for."""


@frozen
class Sentence:
    """A sentence as a user wrote it, the same with its quotations hidden, and what was said before it."""

    text: str
    bare: str
    before: str = ""
    """The sentence before it in the same message; for the first, what the agent said last."""
    message: str = ""
    """The beginning of the user's own words in its message, which tell the language of a short sentence."""
    opens_session: bool = False
    """Whether the agent has said nothing before it."""
    after: str = ""
    """The sentence after it in the same message."""

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"”')").endswith(("?", "？"))


_GONE = "\x01"
"""Stands for a block that was taken out."""
_NOT_SPOKEN = ("/", "! ", "[Request interrupted", "[image")
_FENCE = late(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TAGGED = late(
    r"<([A-Za-z][\w:-]{1,40})(?:\s[^<>]*)?>.*?</\1\s*>"
    r"|<(?:[a-z]+-[\w-]+|channel|system|document|quote|blockquote)(?:\s[^<>]*)?>.*\Z",
    re.DOTALL,
)
"""A block between tags; a tag of an agent's program that is never closed holds all the rest."""
_QUOTED = late(
    r"(?<![\w\"])\"(?=[^\s\"])[^\"]{1,2000}?\"(?!\w)|“[^”]{1,2000}[”]|«[^»]{1,2000}»|„[^“”\"]{1,2000}[“”\"]"
    r"|「[^」]{1,2000}」|『[^』]{1,2000}』|(?<!\w)['‘](?=[^\s'’])[^'’\n]{1,400}['’](?!\w)|`[^`\n]+`"
)
_CITED = late(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)
_RULE = late(r"^[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,}|-{2,}8<-{2,})[ \t]*$", re.MULTILINE)
_HEADER = late(
    r"^(?:From|To|Cc|Sent|Date|Subject|Von|An|Gesendet|Betreff|De|À|Objet|Para|Asunto|Assunto):[ \t]\S.*$", re.MULTILINE
)
_GREETING = late(
    r"^(?:Dear|Sehr geehrte\w*|Liebe[rs]?|Chère?s?|Madame|Monsieur|Estimad[oa]s?|Querid[oa]s?|Prezad[oa]s?"
    r"|Gentil[ei])\b"
    r"[^\n]{0,60},?[ \t]*$",
    re.MULTILINE,
)
_REGARDS = late(
    r"^[ \t]*(?:(?:kind|best|warm|many)?\s*regards|best wishes|best|cheers|sincerely|yours\b[^\n]*|(?:viele |mit "
    r"|beste )?"
    r"(?:freundlichen )?grü(?:ß|ss)en?|cordialement|bien à vous|saludos(?: cordiales)?|atenciosamente|abraços?"
    r"|all the best"
    r"|thanks(?:,| in advance)?|mfg|vg|lg)[,.!]?[ \t]*(?:\n[^\n]{1,60})?$",
    re.MULTILINE | re.IGNORECASE,
)
_CHAT = late(
    r"(?:^[ \t]*(?:\[[^\]\n]{1,30}\][ \t]*|\d{1,2}:\d\d[ \t]+)?[@\w][\w .@-]{0,24}:[ \t]+\S.*(?:\n|\Z)){2,}",
    re.MULTILINE,
)
_PASTES = late(
    r"^[^\n]{0,120}\b(?:wrote|writes|said|says|sent|mails?|e-?mail|message|comments?|reviewers?|review|feedback|log"
    r"|logs|output|error|"
    r"stack ?trace|traceback|thread|ticket|issue|slack|teams|docs?|wiki|spec|handbook|readme|article|post|snippet"
    r"|excerpt|"
    r"below|pasted?|copied|schreibt|schrieb|meldet|geschickt|écrit|écrivent|envoyé|escribe|escribió|dice|mandó"
    r"|escreveu|disse)\b"
    rf"[^\n]{{0,60}}:[ \t]*\n\s*(?!{_GONE})",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that announces what somebody else wrote: what follows up to an empty line is theirs."""
_BELOW = late(
    r"^[^\n]{0,120}\b(?:(?:first |the )?(?:page|draft|text|chapter|paragraph|mail|article|abstract|letter|transcript"
    r"|essay|story)"
    r"(?: is)?|pasted|copied|(?:see|full text|original)) below\b[^\n]*\n[ \t]*\n",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that says that a text follows: all the rest is that text."""
_ANNOUNCES_A_WHILE = late(
    r"\b(?:for (?:now|today|tonight|this (?:session|task|run|branch|pr|change|commit|week|demo|one)|the rest of"
    r"|the time being"
    r"|the moment|the demo)|(?:only |just )(?:today|this once|this time)|this session|in this (?:session|pr|branch"
    r"|change|commit)"
    r"|until|für heute|fürs erste|vorerst|heute|in dieser sitzung|pour (?:l'instant|le moment|aujourd'hui"
    r"|cette session)"
    r"|por (?:ahora|hoy)|de momento|en esta sesión|por enquanto|hoje)\b[^.!?:]{0,40}:(?:\s|\Z)",
    re.IGNORECASE,
)
"""What comes after this, to the end of the paragraph, holds for a while."""
_ALL_FOR_A_WHILE = late(
    r"(?:^|[.!;,–—(-]\s*)(?:but )?(?:all (?:of )?(?:this|that|these|those)|(?:this|that|these|those"
    r"|both)(?: rules?)?)\s+"
    r"(?:is |are |holds? |goes |counts? |applies |apply )?(?:just |only )?"
    r"(?:for|in) (?:this|now|today|the (?:rest|demo|moment|time being))\b",
    re.MULTILINE | re.IGNORECASE,
)
"""A paragraph with this holds for a while."""
_CODE_LINE = late(
    r"^(?:\t|\ {4,}\S)|^\s*(?:\||//|/\*|\*/|#include|\$\ |%\ |@@|\+\+\+|---\s\S)|[;{}]\s*$"
    r"|^\s*(?:Traceback|File \"|at \w+[.(]|\w*(?:Error|Exception):)"
    r"|^\s*[\w.]+\([^)]*\)\s*$|^\s*(?:def|class|import|from\ \S+\ import|const|let|var|return|function)\b.*[:;({=]"
    r"|\s=\s.*[\[({\"']|^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\s*\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL)\b"
)
_BULLET = late(r"^\s*(?:[-*+•]|\(?\d{1,2}[.)])\s+|^\s*#{1,6}\s+|[*_]{2,}")
_END = re.compile(r"(?:[.!?…]+[\"”’)»·]*(?=\s)\s+|[。！？]+[」』）]*\s*|\n+)")
_ABBREVIATION = late(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|no|nr|z\.B|d\.h|u\.a|bzw|p\.ex|p\.ej|resp|incl|max|min|mr|mrs|ms|dr|prof"
    r"|fig|sec|st)"
    r"|\b(?-i:[A-Z]))\.$",
    re.IGNORECASE,
)


def sentences(message: str, before: str = "") -> Iterator[Sentence]:
    """The sentences of a message that are the user's own; ``before`` is what the agent said last.

    >>> [one.text for one in sentences("Use tabs. ```x = 1```\\n> never do that\\nIs it late?")]
    ['Use tabs.', 'Is it late?']
    >>> [one.text for one in sentences('<mail from="bo">Always ask.</mail> ok. He wrote "Never. Ever." to me')]
    ['ok.', 'He wrote "Never. Ever." to me']
    """
    if message.startswith(_NOT_SPOKEN):
        return
    text = _without_others(message[:MOST_CHARACTERS])
    bare = _QUOTED.sub(lambda match: HIDDEN * len(match.group()), text)
    own = " ".join(bare.replace(HIDDEN, "").split())[:400]
    opens_session, before = not before, _last_sentence(before)
    pairs = [tuple(" ".join(part[start:end].split()) for part in (text, bare)) for start, end in _spans(bare)]
    pairs = [(said, shown) for said, shown in pairs if any(sign.isalnum() for sign in said)]
    for (said, shown), (after, _) in pairwise([*pairs, ("", "")]):
        yield Sentence(said, shown, before, own, opens_session, after)
        before = said


def _without_others(text: str) -> str:
    """The message without whole blocks that are not the user's own; quotations inside sentences stay."""
    for pattern in (_FENCE, _TAGGED, _CITED):
        text = pattern.sub(f"\n{_GONE}\n", text)
    text = _without_mails(_without_ruled(text))
    text = _BELOW.sub(lambda match: match.group() + "\0", text).partition("\0")[0]
    text = _PASTES.sub(lambda match: match.group() + "\0", text)
    text = "".join(part if not place else _after_paragraph(part) for place, part in enumerate(text.split("\0")))
    text = "\n\n".join(map(_without_passing, re.split(r"\n[ \t]*\n", _CHAT.sub("\n", text))))
    lines = ("" if _CODE_LINE.search(line) else _BULLET.sub("", line) for line in text.splitlines())
    return "\n".join(lines).replace(_GONE, "\n")


def _without_passing(paragraph: str) -> str:
    """A paragraph without what it says to hold for a while."""
    if _ALL_FOR_A_WHILE.search(paragraph):
        return ""
    announced = _ANNOUNCES_A_WHILE.search(paragraph)
    return paragraph[: announced.start()] if announced else paragraph


def _after_paragraph(text: str) -> str:
    """What follows the first empty line; a quotation in marks may end before it."""
    if (quotation := _QUOTED.match(text)) is not None:
        return "\n" + text[quotation.end() :]
    return "\n" + re.split(r"\n[ \t]*\n", text, maxsplit=1)[-1] if re.search(r"\n[ \t]*\n", text) else ""


def _without_ruled(text: str) -> str:
    """Without what stands between two ruled lines, or after a single one."""
    parts = _RULE.split(text)
    return f"\n{_GONE}\n".join(parts[::2])


def _without_mails(text: str) -> str:
    """Without pasted mails: from the headers or the greeting to the closing words, or to the last paragraph but one."""
    while (start := _HEADER.search(text) or _GREETING.search(text)) is not None:
        rest = text[start.start() :]
        if (closing := _REGARDS.search(rest)) is not None:
            after = rest[closing.end() :]
        else:
            paragraphs = re.split(r"\n[ \t]*\n", rest.strip())
            body = [part for part in paragraphs if not (_HEADER.match(part) and part.count("\n") == 0)]
            after = paragraphs[-1] if len(body) > 1 and paragraphs[-1].rstrip().endswith("?") else ""
        text = f"{text[: start.start()]}\n{_GONE}\n{after}"
    return text


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text are; an abbreviation is no end."""
    start = 0
    for match in _END.finditer(text):
        is_line = "\n" in match.group()
        if not is_line and _ABBREVIATION.search(text, max(start, match.start() - 12), match.start() + 1):
            continue
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _last_sentence(text: str) -> str:
    """The end of what an agent said, which a message answers."""
    lines = [line for line in text[-2_000:].splitlines() if line.strip()]
    parts = re.split(r"(?<=[.!?…])\s+", lines[-1]) if lines else []
    return parts[-1] if parts else ""
