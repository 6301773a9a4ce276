"""What a query is about: its words without those that only say how it is to be answered.

"Can you walk me through the order in which I brought up different parts of my budget tracker? Name only five." asks
for a budget tracker. The rest would find texts about order, parts and names. English alone, because these are whole
phrases and no single words; a query that is nothing but such a phrase stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ricordo.patterns import late

_TALKS = r"conversations?|chats?|sessions?|discussions?|messages?|talks?"
_PLEASE = r"(?:please\s+|(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:help\s+me\s+)?)*"
_SUMMARY = r"(?:(?:a|an|the|quick|brief|short|full|complete|comprehensive|detailed|clear|concise)\s+)*"
_BROUGHT_UP = r"""(?:did\s+)?(?:I|we|you)(?:['’]ve|\s+have)?\s+
    (?:brought\s+up|bring\s+up|mention(?:ed)?|talk(?:ed)?\s+about|discuss(?:ed)?|raised?|introduced?)\s+
    (?:the\s+)?(?:(?:different|various)\s+)?
    (?:(?:aspects|topics|parts|ways|ideas|details|things|points|concepts|steps)\s+(?:of|about|related\s+to|in|for)\s+)?"""
_BEGINNING = late(
    rf"""^\s*{_PLEASE}(?:
        (?:(?:walk\s+me\s+through|list|tell\s+me|show\s+me|give\s+me)\s+)?(?:in\s+order\s+)?
            (?:the\s+(?:order|sequence)\s+in\s+which|in\s+(?:what|which)\s+order|(?<=in\ order\ )how)\s+{_BROUGHT_UP}
        | (?:summari[sz]e|recap|sum\s+up|walk\s+me\s+through)\s+(?=(?:how|what|my|our|everything|all)\b)
        | (?:(?:give|write|tell|show)\s+me\s+)?{_SUMMARY}(?:summary|overview|recap|timeline)\s+(?:of|about)\s+
    )(?=\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_END = late(
    # It begins where the marks before it do, or each mark of a long row of them would be tried as a beginning.
    rf"""(?<![\s,;?])[\s,;?]*(?:
        (?:mention|list|name|give)\s+only(?:\s+and\s+only)?\s+\w+\s+\w+\.?
        | \bin\s+order
        | \b(?:throughout|across|during|over|in|through)\s+(?:all\s+)?(?:our|my|these)\s+(?:\w+\s+)?(?:{_TALKS})
        | \b(?:that\s+)?we(?:['’]ve|\s+have)?\s+(?:talked\s+about|discussed)
    )[\s?.!]*$""",
    re.VERBOSE | re.IGNORECASE,
)
_REQUEST = late(
    r"""^\s*(?:(?:please\s+)?(?:find|show|search|get|give|list|look\s+up)\s+(?:for\s+)?(?:me\s+)?)?
    (?:(?:all|any|some|my|our|the)\s+)*
    (?:notes?|documents?|docs?|files?|pages?|memor(?:y|ies)|articles?|entr(?:y|ies)|items?|texts?|info(?:rmation)?|anything|everything)
    \s+(?:(?:that\s+(?:is|are)\s+)?(?:about|on|regarding|concerning|related\s+to|relating\s+to))\s+(?=\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_REQUESTS_ABROAD = late(
    r"""^\s*(?:(?:bitte\s+)?(?:zeig(?:e|en)?|such(?:e|en)?|finde?n?|gib)\s+(?:sie\s+)?(?:mir\s+)?)?
    (?:(?:alle|meine|unsere|die)\s+)*(?:notiz(?:en)?|dokumente?|dateien?|seiten?|texte?|informationen|alles)
    \s+(?:über|zum?|zur|zu\s+de[mnr]|bezüglich)\s+(?=\S)
    | ^\s*(?:(?:montre|trouve|cherche|donne)[sz]?(?:-moi)?\s+)?(?:(?:toutes|tous|les|mes|nos|des)\s+)*
    (?:notes?|documents?|fichiers?|pages?|textes?|informations?|tout)\s+(?:sur|concernant|à\s+propos\s+d[eu'’])\s*(?=\S)
    | ^\s*(?:(?:muéstra|busca|encuentra|da)(?:me)?\s+)?(?:(?:todas|todos|las|los|mis|nuestras|unas)\s+)*
    (?:notas?|documentos?|archivos?|páginas?|textos?|información|todo)\s+(?:sobre|acerca\s+del?)\s+(?=\S)
    | ^(?:请|請)?(?:查找|搜索|显示|顯示|找)?(?:所有|我的)?(?:关于|關於)(?=\S)
    | (?<=\S)(?:についての|に関する)(?:資料|メモ|ノート|文書)$""",
    re.VERBOSE | re.IGNORECASE,
)
MOST_ENDS = 3
"""So many phrases are taken from the end; a query has no more, and a text made to be slow may."""
MOST_KEPT = 16
"""How many queries are kept with what they are about: both sides of a search ask for it."""


@lru_cache(MOST_KEPT)
def without_manner(query: str) -> str:
    """A query without the phrases that say how it is to be answered.

    >>> without_manner("Can you give me a quick summary of my estate planning throughout our chats?")
    'my estate planning'
    >>> without_manner("summarize")
    'summarize'
    """
    text = query
    for _ in range(MOST_ENDS):
        text, found = _END.subn("", text, count=1)
        if not found:
            break
    text = _BEGINNING.sub("", text, count=1)
    return text if text.strip() else query


def topic_of(words: str) -> str:
    """The words without a request in front of them: "notes about bread" looks for bread, not for the word notes."""
    found = _REQUEST.sub("", without_manner(words), count=1)
    return _REQUESTS_ABROAD.sub("", found) or found
