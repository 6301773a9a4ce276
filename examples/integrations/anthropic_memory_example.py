"""Anthropic's memory tool: Claude keeps its own files, as notes of a memory.

With a key, ``client.beta.messages.tool_runner(model=..., messages=[...], tools=[tool]).until_done()`` does the talking.
Here the commands that Claude would send are written out.
"""

import tempfile
from pathlib import Path

from ricordo import Ricordo
from ricordo.plugins.frameworks.anthropic_memory import RicordoMemoryTool

with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    tool = RicordoMemoryTool(memory)
    print(tool.call({"command": "create", "path": "/memories/ada.md", "file_text": "Ada likes coffee.\nShe is kind."}))
    print(tool.call({"command": "str_replace", "path": "/memories/ada.md", "old_str": "coffee", "new_str": "tea"}))
    print(tool.call({"command": "view", "path": "/memories"}))
    print(memory.search("what does Ada drink?").hits[0].ref)
