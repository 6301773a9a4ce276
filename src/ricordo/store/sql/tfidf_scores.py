"""TF-IDF cosines of a query with the candidates of a pool; both stores compute them here, as their rows are alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ricordo.store.sql.pool import GatheredPool
from ricordo.text.words import Analyzer, tfidf_cosine, tfidf_idf
from ricordo.values.items import Item

Frequencies = Callable[[Collection[str]], tuple[int, dict[str, int]]]
"""Answers how many live chunks there are, and in how many of them each term occurs."""


Texts = Callable[[Sequence[int]], Mapping[int, tuple[int, str, str]]]
"""Answers the item, heading and text of chunks."""


def tfidf_cosines(
    texts_of: Texts,
    analyzer: Analyzer,
    query: str,
    pool: GatheredPool,
    known: Mapping[int, Item],
    frequencies: Frequencies,
    respelled: Mapping[str, tuple[str, ...]],
) -> dict[int, float]:
    """The cosine of the query with each item's best chunk and its fields, without stop words.

    For a word in ``respelled``, which occurs nowhere, the likeliest of its terms that the item has counts instead.
    """
    chunks = pool.best_chunks()
    texts = texts_of(list(chunks.values()))
    counts: dict[int, dict[str, int]] = {}
    for n, item in known.items():
        chunk = chunks.get(n)
        body = texts[chunk][2] if chunk is not None and chunk in texts else ""
        fields = item.fields
        whole = "\n".join((fields.title, fields.description, fields.context, " ".join(fields.tags), body))
        counts[n] = analyzer.content_counts(whole)
    asked = analyzer.content_counts(query)
    terms = {term for table in counts.values() for term in table}.union(asked, *respelled.values())
    total, found = frequencies(terms)
    idf = {term: tfidf_idf(total, found.get(term, 0)) for term in terms}
    instead = {term: likely for word, likely in respelled.items() for term in analyzer.terms_of(word) if term in asked}

    def meant(table: Mapping[str, int]) -> dict[str, int]:
        words: dict[str, int] = {}
        for term, count in asked.items():
            likely = instead.get(term, (term,))
            found = next((one for one in likely if one in table), likely[0])
            words[found] = words.get(found, 0) + count
        return words

    return {n: tfidf_cosine(meant(table) if instead else asked, table, idf) for n, table in counts.items()}
