"""What computes: the model inside the package, and the providers beside it. ``base`` has the protocols.

ONNX Runtime reports its use to its makers unless it is told not to before it is imported; this package is imported
before it, wherever a model is used.
"""

import os

for _name in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"):  # the name changed between versions
    os.environ.setdefault(_name, "1")
