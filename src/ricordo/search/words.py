"""From a parsed query to the words of an ask: which index terms to look for, and how much each counts.

A query may be a whole prompt. Then a few of its sentences stand for it, by words and by meaning, and beside them its
rarest words: so a search for it takes hardly longer than for a question, and what is pasted below a question does not
drown it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from ricordo.patterns import late
from ricordo.search.query import ParsedQuery
from ricordo.store.query import Ask, AskedWord, Phrase
from ricordo.store.values import Scoring
from ricordo.text.languages import UNKNOWN, is_sentence, language_of
from ricordo.text.scripts import UNSPACED, has_unspaced
from ricordo.text.sentences import sentence_starts
from ricordo.text.words import Analyzer, fold, folded_words, words_in

if TYPE_CHECKING:
    from ricordo.store.search.index import SearchIndex


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
_BEGINNING_SIGNS = ("order", "sequence", "summar", "recap", "sum", "walk", "overview", "timeline")
"""One of these is in every match of that, whose compilation takes as long as a search; so it is of the others."""
_END_SIGNS = ("only", "order", "conversation", "chat", "session", "discuss", "message", "talk")
_REQUEST_SIGNS = ("note", "doc", "file", "page", "memor", "article", "entr", "item", "text", "info", "thing")
_ABROAD_SIGNS = (
    "über", "zu", "bezüglich", "sur", "concernant", "propos", "sobre", "acerca", "关于", "關於", "について", "に関する",
)  # fmt: skip
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
    text, holds = query, query.casefold().__contains__
    for _ in range(MOST_ENDS if any(map(holds, _END_SIGNS)) else 0):
        text, count = _END.subn("", text, count=1)
        if not count:
            break
    if any(map(holds, _BEGINNING_SIGNS)):
        text = _BEGINNING.sub("", text, count=1)
    return text if text.strip() else query


def topic_of(words: str) -> str:
    """The words without a request in front of them: "notes about bread" looks for bread, not for the word notes."""
    topic, holds = without_manner(words), words.casefold().__contains__
    if any(map(holds, _REQUEST_SIGNS)):
        topic = _REQUEST.sub("", topic, count=1)
    if any(map(holds, _ABROAD_SIGNS)):
        topic = _REQUESTS_ABROAD.sub("", topic) or topic
    return topic


LONG = 64
"""A query with more words is a prompt or a text; sentences with so many together stand for it."""
LONGEST_SENTENCE = 32
"""So many words of a sentence are taken: what has no end may be a table or a log."""
_SHORTEST_LONG = 2 * LONG
"""In fewer characters there are not so many words in any script."""
_WORD = late(rf"\s*(?:[{UNSPACED}]{{1,2}}|[^\s{UNSPACED}]+)")
"""A word with what is before it; where no spaces are, two characters say as much as one."""
_QUESTION = late(r"[?？؟][\s\"'”’)*_`]*$")


@lru_cache(MOST_KEPT)
def essence(text: str) -> str:
    """The sentences that stand for a long text, in their order: the first, those that ask something and the last, then
    what follows the first while there is room. Any other text is given back.

    >>> essence("Which keys are old?")
    'Which keys are old?'
    >>> essence("Look at the keys. " + "It was late. " * 40 + "Which ones are old?").splitlines()[-1]
    'Which ones are old?'
    """
    if len(text) <= _SHORTEST_LONG or len(_WORD.findall(text)) <= LONG:
        return text
    parts = (text[start:end] for start, end in pairwise(sentence_starts(text)))
    sentences = [part for part in parts if any(map(str.isalnum, part))]
    if not sentences:
        return text
    asking = [place for place, sentence in enumerate(sentences) if _QUESTION.search(sentence)]
    taken: dict[int, str] = {}
    room = LONG
    for place in dict.fromkeys((0, *reversed(asking), len(sentences) - 1, *range(len(sentences)))):
        words = _WORD.findall(sentences[place])[: min(room, LONGEST_SENTENCE)]
        taken[place] = "".join(words).strip()
        room -= len(words)
        if not room:
            break
    return "\n".join(taken[place] for place in sorted(taken))


RARE_WORDS = 64
"""How many words of a long query count besides those of the sentences that stand for it, the rarest first."""
RARE = 0.5
"""What each of them counts for."""


def words_that_carry(ask: Ask, query: ParsedQuery, index: SearchIndex, analyzer: Analyzer) -> Ask:
    """The ask for a long query with fewer words: those of the sentences that stand for it, and the rarest others.

    What is nowhere is left out of these. The ask for any other query is given back.
    """
    words = topic_of(query.words)
    if (standing := essence(words)) == words:
        return ask
    spoken = QueryWords(query.text, analyzer, index.languages)
    essential = {term for term, *_ in spoken.asked(standing)}
    others = [word for word in ask.words if word.term not in essential]
    sizes = index.posting_sizes({word.term for word in others}.union(*[word.also for word in others if word.also]))
    size_of = sizes.__getitem__
    common = [(sum(map(size_of, (word.term, *word.also))) / word.weight, word.term, word) for word in others]
    rarest = sorted([row for row in common if row[0]], key=itemgetter(0, 1))[:RARE_WORDS]
    rare = [replace(word, weight=word.weight * RARE) for *_, word in rarest]
    return replace(ask, words=(*[word for word in ask.words if word.term in essential], *rare))


LANGUAGES_WITH_COMPOUNDS = frozenset({"da", "de", "fi", "nl", "no", "sv"})
SHORTEST = 9
SHORTEST_PART = 4
_JOINTS = ("", "s", "es", "n", "en", "er", "e")
"""What may stand between the parts: Besprechung-s-notizen, Sonne-n-schein."""
PART = 0.5
"""What each part counts for: together they are the word that was asked for."""


def with_parts(ask: Ask, index: SearchIndex, analyzer: Analyzer) -> Ask:
    """An ask in which compounds that stand nowhere are replaced by their parts."""
    codes = LANGUAGES_WITH_COMPOUNDS.intersection(index.languages)
    if not codes or language_of(ask.text, short=True) not in (UNKNOWN, *codes):
        return ask
    words = {
        word: [pair for code in sorted(codes) for pair in _splits(word.written, analyzer.in_language(code))]
        for word in ask.words
        if word.written
    }
    terms = {term for word in words for term in word.terms}
    terms |= {term for splits in words.values() for pair in splits for term in pair}
    if not any(words.values()):
        return ask
    _, frequencies = index.document_frequencies(terms)
    asked = {word.term for word in ask.words}
    with_split: list[AskedWord] = []
    for word in ask.words:
        pairs = [pair for pair in words.get(word, ()) if all(frequencies.get(term) for term in pair)]
        if not pairs or any(frequencies.get(term) for term in word.terms):
            with_split.append(word)
            continue
        best = max(pairs, key=lambda pair: min(map(len, pair)))
        with_split += [AskedWord(term, word.weight * PART) for term in best if term not in asked]
    return replace(ask, words=tuple(with_split))


def _splits(word: str, analyzer: Analyzer) -> Iterator[tuple[str, str]]:
    if len(word) < SHORTEST or not word.isalpha():
        return
    for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        second = analyzer.terms(word[at:])
        for joint in _JOINTS:
            start = word[:at].removesuffix(joint)
            if len(start) < SHORTEST_PART or (joint and start == word[:at]):
                continue
            first = analyzer.terms(start)
            if len(first) == len(second) == 1:
                yield first[0], second[0]


_CHINESE = """什么 甚么 什麼 甚麼 怎么 怎麼 怎样 怎樣 如何 为什么 為什麼 为何 為何 哪里 哪裡 哪儿 哪个 哪個 哪些 哪一
    哪 多少 几个 幾個 谁 誰 请问 請問 是否 有没有 有沒有 关于 關於 吗 嗎 呢"""
_JAPANESE = """について に関する に関して とは ですか ますか でしょうか ましたか ください 教えて どこ どれ どの
    どのように どうやって どうすれば どう だれ いつ なぜ どんな いくつ いくら 何"""
_KOREAN = "무엇 어디 언제 누구 어떻게 얼마나 무슨 어떤 입니까 습니까 인가요 있나요 나요"
_THAI = "อะไร ที่ไหน อย่างไร ยังไง เมื่อไหร่ เมื่อไร เมื่อใด ใคร ทำไม เท่าไหร่ เท่าไร กี่ ไหม หรือไม่"
_WRITTEN = "\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々"
"""Kanji and katakana; a single hiragana between two of them is a particle."""


@cache
def _asking() -> re.Pattern[str]:
    words = sorted({*_CHINESE.split(), *_JAPANESE.split(), *_KOREAN.split(), *_THAI.split()}, key=len, reverse=True)
    return re.compile(f"{'|'.join(words)}|(?<=[{_WRITTEN}])[のはがをにとでもへや](?=[{_WRITTEN}])")


def asked_for(word: str) -> list[str]:
    """The parts of a word of a question that are asked for: all of it in scripts with spaces, and if it only asks.

    >>> asked_for("怎么配置服务器"), asked_for("会議の議事録"), asked_for("什么"), asked_for("server")
    (['配置服务器'], ['会議', '議事録'], ['什么'], ['server'])
    """
    if not has_unspaced(word):
        return [word]
    return [part for part in _asking().split(word) if part] or [word]


MAX_TERMS = 512
LETTERS_LOST = 5
SHORT_STEM = 7
"""Longer stems are special enough to stand for one word."""
FEWEST_OF_A_SENTENCE = 3
"""With fewer words, a small word of another language may be what is looked for: été."""
UNCERTAIN = 0.5
"""What a word counts for when its stem may be another word's."""


class QueryWords:
    """How the words of one query are stemmed: as in its own language, and as in the others of the store."""

    def __init__(self, text: str, analyzer: Analyzer, languages: Collection[str]) -> None:
        spoken = language_of(text, short=True) if languages else UNKNOWN
        self.main = analyzer.in_language(spoken) if spoken in languages else analyzer
        code = spoken or language_of(text)
        is_asked = len(words_in(text)) >= FEWEST_OF_A_SENTENCE and (code in languages or is_sentence(text, code))
        small = (self.main, analyzer.in_language(code)) if is_asked else (analyzer,)
        every = (analyzer, *(analyzer.in_language(code) for code in languages))
        self.others = tuple(other for other in dict.fromkeys(every) if other is not self.main)
        # The stop words of the question's language count also where no passage is in it.
        self._stop_words = frozenset().union(*(language_analyzer.stop_words for language_analyzer in small))

    def terms_of(self, word: str) -> list[tuple[str, ...]]:
        """The terms of a word, each with those that stand for it in other languages behind it."""
        own = self.main.terms_of(word)
        if not self.others:
            return [(term,) for term in own]
        forms = [terms for analyzer in self.others if len(terms := analyzer.terms_of(word)) == len(own)]
        return [tuple(dict.fromkeys(column)) for column in zip(own, *forms, strict=True)]

    def asked(self, text: str) -> list[tuple[str, ...]]:
        """The terms that a text asks for: stop words are left out unless nothing else is left."""
        words = words_in(text)
        if text.isascii():
            content = [word for word in words if word.lower() not in self._stop_words] or words
            if not self.others:
                return [(term,) for term in self.main.terms_of_each(content)]
            return [terms for word in content for terms in self.terms_of(word)]
        content = [word for word in words if fold(word) not in self._stop_words] or words
        return [terms for word in content for part in asked_for(word) for terms in self.terms_of(part)]

    def phrase(self, text: str) -> Phrase:
        """A phrase, with the terms that it has in every language: the others are looked for in the texts alone."""
        terms = (terms for word in words_in(text) for terms in self.terms_of(word))
        return Phrase(text, tuple(term[0] for term in terms if len(term) == 1))

    def excluded(self, word: str) -> list[tuple[str, ...]]:
        """The groups of terms that a word which is not wanted has."""
        return list(dict.fromkeys(tuple(analyzer.terms(word)) for analyzer in (self.main, *self.others)))


def ask_for_words(
    query: ParsedQuery, analyzer: Analyzer, languages: Collection[str] = (), *, respell: bool = True
) -> Ask:
    """The ask for a query's words alone; a word asked for n times counts 1 + ln n times.

    ``languages`` are those of the store's passages besides its own. Without ``respell``, no similar word is looked for
    in place of one that is nowhere.
    """
    words = topic_of(query.words)
    standing = essence(words)
    respell = respell and standing == words  # a long text has many words that are nowhere
    spoken = QueryWords(query.text, analyzer, languages)
    counts: dict[str, int] = {}
    also: dict[str, tuple[str, ...]] = {}
    for text in (words, *query.phrases):
        for term, *others in spoken.asked(text) if text.strip() else ():
            counts[term] = counts.get(term, 0) + 1
            also[term] = tuple(others)
    spaced = [
        word for word in folded_words(standing) if not has_unspaced(word)
    ]  # the others are several words, not one
    written = {terms[0]: word for word in spaced for terms in spoken.terms_of(word)}
    uncertain = {term: word for term, word in written.items() if is_uncertain(word, term)}
    excluded = (terms for word in query.excluded for terms in spoken.excluded(word))
    return Ask(
        text=query.text,
        words=tuple(
            AskedWord(
                term,
                1.0 + math.log(times),
                UNCERTAIN if term in uncertain else 1.0,
                uncertain.get(term, ""),
                written.get(term, "") if respell else "",
                also[term],
            )
            for term, times in list(counts.items())[:MAX_TERMS]
        ),
        prefixes=query.prefixes,
        phrases=tuple(map(spoken.phrase, query.phrases)),
        excluded=tuple(terms for terms in excluded if terms),
        excluded_phrases=tuple(map(spoken.phrase, query.excluded_phrases)),
    )


def is_uncertain(word: str, term: str) -> bool:
    """Whether a stem is so much shorter than its word that it may be another word's: productivity, product."""
    return len(term) <= SHORT_STEM and len(word.removesuffix("s")) - len(term) >= LETTERS_LOST


SCORING = Scoring(1.2, 0.75, (3.3, 1.7, 1.0, 0.67, 0.33, 1.0))
"""BM25F: k1 and b as usual (others gained nothing that held on sets they were not chosen by, ``bench/NOTES.md``), and
the weights of title, path, description, tags and context relative to the body, which is the last."""
