"""How the model's runtime is imported beside other threads."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            numpy = sys.modules.get("numpy")
            print(numpy is not None and not getattr(numpy.__spec__, "_initializing", False))

sys.meta_path.insert(0, Finder())
from ricordo.models.onnx import runtime
runtime()
"""


def test_numpy_is_whole_before_the_runtime_is_imported() -> None:
    """Else a command fails if one thread loads the model while another one imports NumPy."""
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, check=True, text=True)
    assert done.stdout == "True\n"
