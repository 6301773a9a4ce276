"""What encryption costs: the same texts in a plain store and in an encrypted one, added and searched in turns.

``python bench/encryption.py --texts 4000`` makes texts from the words of the documentation, and prints the ratio of the
medians (target: at most 1.15 for search and add). "by words" has no vectors, so that nothing hides what the store
itself takes; "by meaning" embeds with the shipped model. "cold" opens the store first, in the same process.
It also says what making the key from a passphrase takes. All times are processor time, so that a busy machine can tell.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from ricordo import ConfigProvider, Entry, Ricordo, vault
from ricordo.plugins.encryption.conversion import make_encrypted

KINDS = ("plain", "encrypted")
BATCH = 200


def texts_of(count: int, chance: random.Random) -> list[str]:
    """Texts of about 120 words."""
    folder = Path(__file__).parents[1] / "docs"
    words = re.findall(r"[a-z]{3,}", " ".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))))
    return [" ".join(chance.choices(words, k=120)) for _ in range(count)]


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def measure(place: Path, texts: list[str], rounds: int, provider: str) -> dict[str, dict[str, float]]:
    """Medians in seconds, by what is done and by kind of store; the kinds take turns."""
    settings = ConfigProvider({"embedding.provider": provider, "knowledge.enabled": False})
    stores = {kind: place / f"{provider}-{kind}.db" for kind in KINDS}
    make_encrypted(stores["encrypted"], str(place / "store.key"))
    took: dict[str, dict[str, list[float]]] = {}

    def note(what: str, kind: str, seconds: float) -> None:
        took.setdefault(what, {}).setdefault(kind, []).append(seconds)

    engines = {kind: Ricordo.open(stores[kind], config=settings) for kind in KINDS}
    for at in range(0, len(texts), BATCH):
        entries = [Entry(f"note:/{at + n}", text) for n, text in enumerate(texts[at : at + BATCH])]
        for kind in KINDS if at // BATCH % 2 else KINDS[::-1]:
            note("add", kind, timed(lambda kind=kind, entries=entries: engines[kind].save_many(entries)))
    chance = random.Random(2)
    for number in range(rounds):
        query = " ".join(chance.sample(chance.choice(texts).split(), 4))
        for kind in KINDS if number % 2 else KINDS[::-1]:
            note("search", kind, timed(lambda kind=kind, query=query: engines[kind].search(query, track=False)))
    for engine in engines.values():
        engine.close()
    for number in range(max(5, rounds // 10)):
        query = " ".join(chance.sample(chance.choice(texts).split(), 4))
        for kind in KINDS if number % 2 else KINDS[::-1]:
            note("cold search", kind, timed(lambda kind=kind, query=query: _cold(stores[kind], settings, query)))
    return {what: {kind: median(all_of) for kind, all_of in kinds.items()} for what, kinds in took.items()}


def _cold(store: Path, settings: ConfigProvider, query: str) -> None:
    with Ricordo.open(store, config=settings) as engine:
        engine.search(query, track=False)


def passphrase_seconds(place: Path) -> float:
    """How long it takes to make the key from a passphrase, the median of five."""
    os.environ["RICORDO_PASSPHRASE"] = "a bench for passphrases"
    make_encrypted(place / "phrase.db", "passphrase")
    Ricordo.open(place / "phrase.db").close()
    took = []
    for _ in range(5):
        vault._installed_vault.cache_clear()
        took.append(timed(lambda: vault.find_key(place / "phrase.db")))
    return median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    texts = texts_of(given.texts, random.Random(1))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("DATA", "STATE", "CONFIG"):
            os.environ[f"RICORDO_{name}_HOME"] = str(place / name.lower())
        for provider, said in (("none", "by words"), ("local", "by meaning")):
            some = texts if provider == "none" else texts[: max(BATCH, len(texts) // 4)]
            for what, kinds in measure(place, some, given.rounds, provider).items():
                plain, encrypted = (1000 * kinds[kind] for kind in KINDS)
                print(
                    f"{what} {said}: {plain:.2f} ms plain, {encrypted:.2f} ms encrypted, {encrypted / plain:.2f} times"
                )
        print(f"the key from a passphrase: {passphrase_seconds(place):.2f} s")


if __name__ == "__main__":
    main()
