"""Killed while embedding, again and again: nothing is lost, and no committed vector is computed twice."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from ricordo import ConfigProvider, Entry, Ricordo

KILLS = 8

_WORKER = """
import sys, time, hashlib
import numpy as np
from ricordo import Ricordo
import ricordo.ingest.embed as embed
embed.BATCH = 8

class Slow:
    fingerprint = "slow/1"
    is_remote = False
    dimensions = 16
    max_tokens = 256
    def embed_documents(self, texts):
        time.sleep(0.02)
        print("batch", flush=True)
        with open(sys.argv[2], "a") as log:
            log.writelines(hashlib.sha256(text.encode()).hexdigest() + "\\n" for text in texts)
        rows = np.array([list(hashlib.sha256(t.encode()).digest()[:16]) for t in texts], np.float32) - 127.5
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    def embed_query(self, text):
        return self.embed_documents([text])[0]

engine = Ricordo.open(sys.argv[1])
engine._context.models.embedder = lambda: Slow()
if len(sys.argv) > 3:
    print(engine.search("entry 7", track=False).meta.degraded, engine.embed().to_dict()["embedded"])
else:
    print("ready", flush=True)
    engine.embed()
"""


def test_kills_lose_nothing_and_repeat_no_committed_work(tmp_path: Path) -> None:
    path, log = tmp_path / "store.db", tmp_path / "log"
    log.touch()
    total = 400
    with Ricordo.open(path, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.save_many([Entry(f"note:/{n}", f"entry {n} of the log", "note") for n in range(total)])
    chance = random.Random(5)
    for _ in range(KILLS):
        worker = subprocess.Popen([sys.executable, "-c", _WORKER, str(path), str(log)], stdout=subprocess.PIPE)
        assert worker.stdout is not None
        for _ in range(1 + chance.randrange(4)):  # it is ready, and has begun so many batches
            worker.stdout.readline()
        worker.kill()
        worker.wait()
        worker.stdout.close()
    last = subprocess.run(
        [sys.executable, "-c", _WORKER, str(path), str(log), "finish"], capture_output=True, text=True, check=False
    )
    assert last.returncode == 0, last.stderr
    computed = log.read_text().split()
    assert len(set(computed)) >= total
    repeated = len(computed) - len(set(computed))
    assert repeated <= KILLS * 8 + 8, "at most one batch per killed worker is done again"
    with Ricordo.open(path, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        counts = engine.store.vectors.counts("slow/1/chunker-1")
        assert counts == {"chunks": total, "embedded": total, "pending": 0, "running": 0, "failed": 0}
        assert engine.doctor().ok
