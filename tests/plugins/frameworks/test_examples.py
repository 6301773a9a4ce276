"""Every example of a framework runs with the real framework, and says what its documentation says."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples" / "integrations"
SAID = {
    "langchain": ("langchain_mcp_adapters", "note:/keys"),
    "langgraph": ("langgraph", "Ada prefers tea over coffee."),
    "llama_index": ("llama_index", "Ada prefers tea"),
    "pydantic_ai": ("pydantic_ai", "Ada prefers tea"),
    "openai_agents": ("agents", "Ada prefers tea"),
    "smolagents": ("smolagents", "Ada prefers tea"),
    "anthropic_memory": ("anthropic", "File created successfully at: /memories/ada.md"),
}


@pytest.mark.parametrize("name", SAID)
def test_the_example_of_a_framework_runs(name: str, tmp_path: Path) -> None:
    library, said = SAID[name]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed (dependency group 'integrations')")
    script = EXAMPLES / f"{name}_example.py"
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert said in done.stdout, done.stdout


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {f"{name}_example.py" for name in SAID}


@pytest.mark.parametrize("name", ["langgraph", "anthropic_memory"])
def test_an_adapter_without_its_framework_says_what_to_install(name: str) -> None:
    library = SAID[name][0]
    probe = (
        f"import sys\nsys.modules['{library}'] = None\n"
        f"try:\n    import ricordo.plugins.frameworks.{name}\n"
        "except Exception as error:\n    print(type(error).__name__, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtra pip install 'ricordo[")
