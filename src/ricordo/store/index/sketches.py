"""Sketches of vectors: one bit for each number, its sign. They find the candidates for exact comparison.

1. A scan counts in how many bits each sketch differs from the query's. That is fast, and rough: it treats all numbers
   of the query alike.
2. For the best of these, the cosine is estimated with the query's numbers in sixteen steps: the sum of the numbers
   where a sketch has a bit is made of five counts of bits.
"""

from __future__ import annotations

import threading

import numpy as np

from ricordo.store.arrays import Array, stable_order

SCAN_BLOCK = 65_536
SHARED_FROM = 400_000
"""Below this many sketches a second thread gains little, and on a busy machine it would be waited for."""
PICKED_BELOW_ONE_IN = 8
"""If fewer than one entry in this number is wanted, their sketches are picked out before they are compared."""
ESTIMATED_PER_COMPARED = 4
ESTIMATED_SHARE = 128
"""For how many entries cosines are estimated: per vector that is compared in the end, or one in this number of all."""
BITS = 4
"""With how many bits the query's numbers are estimated."""
SAMPLED_FROM = 65_536
SAMPLE = 4_096
"""From how many distances on a sample is taken first, and of how many."""
WORDS_PER_BYTE = 3
"""Of how many words of 64 bits the bits are counted in one byte, which is faster than in two; more might not fit."""


def sketch(vectors: Array) -> Array:
    """The signs of each vector, packed: ``(n, dims)`` floats to ``(words, n)`` uint64."""
    bits = np.packbits(vectors > 0, axis=1, bitorder="little")
    missing = -bits.shape[1] % 8
    if missing:
        bits = np.pad(bits, ((0, 0), (0, missing)))
    return np.ascontiguousarray(bits.view(np.uint64).T)


def nearest_by_sketch(
    sketches: Array, query: Array, positions: Array, wanted: int, *, others: Array | None = None
) -> Array:
    """The positions of the vectors that are nearest by their sketches, at least ``wanted`` of them.

    ``others`` are all further positions, if these are few.
    """
    rough = max(ESTIMATED_PER_COMPARED * wanted, len(positions) // ESTIMATED_SHARE)
    if rough < len(positions):
        positions = nearest_sketches(sketches, sketch(query[None, :])[:, 0], positions, rough, others=others)
    if wanted >= len(positions):
        return positions
    estimates = estimated_cosines(_picked(sketches, positions), query)
    limit = np.partition(estimates, len(estimates) - wanted)[len(estimates) - wanted]
    nearest: Array = positions[estimates >= limit]
    return nearest


def estimated_cosines(sketches: Array, query: Array) -> Array:
    """For each sketch the sum of the query's numbers at its bits, which grows with the cosine.

    With a number as ``lowest + step * n``, the sum is ``lowest`` times the bits of the sketch, plus ``step`` times the
    sum of the n. Each bit of the n counts the bits that it shares with the sketch.
    """
    lowest = float(query.min())
    step = max(float(query.max()) - lowest, 1e-12) / ((1 << BITS) - 1)
    steps = np.rint((query - lowest) / step).astype(np.uint8)
    planes = sketch((steps >> np.arange(BITS, dtype=np.uint8)[:, None]) & 1)
    ones = _bits(sketches)
    shared = np.zeros(len(ones), np.uint32)
    common = np.empty_like(sketches)
    for bit in reversed(range(BITS)):
        shared <<= 1
        shared += _bits(np.bitwise_and(sketches, planes[:, bit : bit + 1], out=common))
    estimates: Array = ones * np.float32(lowest) + shared * np.float32(step)
    return estimates


def _picked(sketches: Array, positions: Array) -> Array:
    """The sketches at some positions, word by word: ``take`` of the whole would copy all sketches where they lie in a
    larger array.
    """
    columns = np.empty((len(sketches), len(positions)), np.uint64)
    for words, picked in zip(sketches, columns, strict=True):
        words.take(positions, out=picked, mode="clip")
    return columns


def _bits(sketches: Array) -> Array:
    """How many bits each sketch has."""
    counts = np.bitwise_count(sketches)
    total = np.zeros(sketches.shape[1], np.uint16)
    for word in range(0, len(counts), WORDS_PER_BYTE):
        some = counts[word]
        for other in counts[word + 1 : word + WORDS_PER_BYTE]:
            some += other
        total += some
    return total


def nearest_of_each(sketches: Array, query: Array, positions: Array, owners: Array, *, few: int) -> Array:
    """Of each owner's sketches at these positions, the few that differ least from the query's."""
    differing = _bits(_picked(sketches, positions) ^ sketch(query[None, :]))
    order = stable_order((owners.astype(np.int64) << 16) + differing)
    ordered = owners[order]
    starts = np.concatenate(([True], ordered[1:] != ordered[:-1])).nonzero()[0]
    place = np.arange(len(ordered)) - starts.repeat(np.diff(np.append(starts, len(ordered))))
    nearest: Array = positions[np.sort(order[place < few])]
    return nearest


def nearest_sketches(
    sketches: Array, query: Array, positions: Array, wanted: int, *, others: Array | None = None
) -> Array:
    """The positions whose sketches differ least from the query's, at least ``wanted`` of them."""
    if PICKED_BELOW_ONE_IN * len(positions) < sketches.shape[1]:
        picked = _picked(sketches, positions)
        return positions[nearest_sketches(picked, query, np.arange(len(positions)), wanted, others=positions[:0])]
    distances = _distances(sketches, query)
    if others is None:
        distances = distances[positions]
    else:
        distances[others] = 64 * len(sketches) + 1  # farther than any
    near = least_places(distances, min(wanted, len(positions)))
    nearest: Array = near if others is not None else positions[near]
    return nearest


def least_places(distances: Array, wanted: int) -> Array:
    """The places of the ``wanted`` least distances, and of those that are as small as the last of them.

    How often each distance occurs is counted, which is faster than ``np.partition``. Of many, a sample tells first
    which can be among them.

    >>> least_places(np.array([5, 1, 3, 1, 3], np.uint16), 3).tolist()
    [1, 2, 3, 4]
    """
    if len(distances) >= SAMPLED_FROM:
        sample = np.sort(distances[:: len(distances) // SAMPLE])
        likely = distances <= sample[min(len(sample) - 1, 3 * len(sample) * wanted // (2 * len(distances)) + 20)]
        few: Array = likely.nonzero()[0]
        if wanted <= len(few) < len(distances) // 2:
            return few[least_places(distances[few], wanted)]
    limit = np.searchsorted(np.bincount(distances).cumsum(), wanted)
    places: Array = (distances <= limit).nonzero()[0]
    return places


def _distances(sketches: Array, query: Array) -> Array:
    """In how many bits each sketch differs from the query's; of very many, a second thread compares half."""
    total = sketches.shape[1]
    distances = np.empty(total, np.uint16)
    if total < SHARED_FROM:
        _compare(sketches, query, distances)
        return distances
    middle = total // 2
    other = threading.Thread(target=_compare, args=(sketches[:, middle:], query, distances[middle:]))
    other.start()
    _compare(sketches[:, :middle], query, distances[:middle])
    other.join()
    return distances


def _compare(sketches: Array, query: Array, distances: Array) -> None:
    """Write the distances, block by block, so that what is counted stays in the processor's cache."""
    total = len(distances)
    differing = np.empty(min(SCAN_BLOCK, total), np.uint64)
    counts = np.empty((2, len(differing)), np.uint8)
    for start in range(0, total, SCAN_BLOCK):
        block = distances[start : start + SCAN_BLOCK]
        words, (some, count) = differing[: len(block)], counts[:, : len(block)]
        block[:] = 0
        for first in range(0, len(sketches), WORDS_PER_BYTE):
            for word in range(first, min(first + WORDS_PER_BYTE, len(sketches))):
                np.bitwise_xor(sketches[word, start : start + len(block)], query[word], out=words)
                np.bitwise_count(words, out=some if word == first else count)
                if word > first:
                    some += count
            block += some
