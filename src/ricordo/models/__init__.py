"""Models: embedders, rerankers and language models. ``base`` has the protocols that each of them follows.

ONNX Runtime sends usage reports to its makers unless these variables are set before it is imported. Whoever uses a
model imports this package first, so they are set here.
"""

import os

for _name in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"):  # the name changed between versions
    os.environ.setdefault(_name, "1")
