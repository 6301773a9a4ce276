"""Nothing is reported to anybody: the library that runs the model keeps no list of events to send."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_loading_the_model_leaves_nothing_in_the_users_folder(tmp_path: Path) -> None:
    probe = "from ricordo.models.local_onnx import LocalEmbedder as E; print(E().embed_query('a').shape)"
    gone = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED", "XDG_CACHE_HOME", "CI")
    env = {name: value for name, value in os.environ.items() if name not in gone}
    env |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", probe], env=env, capture_output=True, check=True, text=True)
    assert "384" in done.stdout
    left = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert [name for name in left if "ricordo" not in name] == []
