"""The shape of the project: imports point one way, modules stay readable, documents name what exists."""

from __future__ import annotations

import ast
import functools
import gc
import re
import shutil
import subprocess
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from ricordo.plugin import installed

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "ricordo"

FACES = {"cli", "mcp_server", "http_api", "__main__"}
PARTS = {"ingest", "search", "memory", "context"}
ADAPTERS = {"store", "models", "sources"}
# Every other folder or module at the top of the package is a foundation: it imports nothing from above.
RANKS = (
    {"trust": 1}
    | dict.fromkeys(ADAPTERS, 2)
    | dict.fromkeys(PARTS, 3)
    | {"sync": 3}
    | {"registry": 4, "engine": 5, "": 6, "hosting": 7, "hooks": 8}
    | dict.fromkeys(FACES, 9)
)
PLUGINS = "plugins"
COMPOSITION_ROOTS = {
    "__main__.py": {"cli"},
    "cli/__init__.py": {"mcp_server"},
    "cli/cmd_serve.py": {"http_api", "mcp_server"},
}
"""The modules that start a server, and the faces they put it together from."""

LONGEST_MODULE = 900
LONGEST_FUNCTION = 60
MOST_BROAD_EXCEPTS = 10
SHARED_NAMES: dict[str, str] = {}
LONG_MODULES: dict[str, str] = {}
LONG_FUNCTIONS = {"engine/ingest.py:add": "its signature declares what every face takes; 51 lines come after that"}


@functools.cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Every module, parsed; once for all tests here."""
    paths = sorted(PACKAGE.rglob("*.py"))
    gc.disable()  # nothing of this is garbage, and looking for some takes longer than parsing
    try:
        return tuple((path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_bytes())) for path in paths)
    finally:
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """What was parsed takes much memory, so it does not stay for the tests that come after these."""
    yield
    modules.cache_clear()


def statements(part: ast.AST) -> Iterator[ast.AST]:
    """The statements inside one, and what catches errors; expressions, of which there are far more, hold none."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for node in getattr(part, name, ()):
            yield node
            yield from statements(node)


def imported(tree: ast.Module) -> Iterator[str]:
    """The dotted names inside the package that a module imports, anywhere in it, without ``ricordo.``."""
    for node in statements(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports inside the package are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name == "ricordo" or name.startswith("ricordo."):
                yield name.removeprefix("ricordo").removeprefix(".")


@functools.cache
def imports() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What each module imports; read once, because most tests here ask for it."""
    return tuple((file, tuple(imported(tree))) for file, tree in modules())


@functools.cache
def home(dotted: str) -> str:
    """The folder or module at the top of the package that a dotted name belongs to, or the plugin; "" for itself."""
    first, *rest = dotted.split(".")
    if first == PLUGINS and rest:
        return f"{PLUGINS}.{rest[0]}"
    return first if (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").is_file() else ""


def place_of(file: str) -> str:
    first, *rest = file.removesuffix(".py").split("/")
    if first == PLUGINS and len(rest) > 1:
        return f"{PLUGINS}.{rest[0]}"
    return "" if first == "__init__" else first


def rank(place: str) -> int:
    """Whatever is of a lower rank may be imported; plugins may import all of the core."""
    return 10 if place.startswith(f"{PLUGINS}.") else RANKS.get(place, 0)


def is_public_type(file: str, name: str) -> bool:
    """Whether the package tells type checkers a name that a plugin makes public; it is not imported."""
    plugin = installed().get(home(name).removeprefix(f"{PLUGINS}."))
    return file == "__init__.py" and plugin is not None and name.rpartition(".")[2] in plugin.public


def test_imports_point_from_faces_to_the_engine_to_the_parts_to_the_values() -> None:
    upwards = [
        f"{file} imports ricordo.{name}"
        for file, names in imports()
        for name in names
        if rank(home(name)) > rank(place_of(file)) and not is_public_type(file, name)
    ]
    assert upwards == []


def test_a_plugin_imports_no_other_plugin_except_those_that_it_says_it_needs() -> None:
    others = [
        f"{file} imports ricordo.{name}"
        for file, names in imports()
        for name in names
        if (plugin := home(name)).startswith(f"{PLUGINS}.")
        and place_of(file) not in ("", plugin)
        and plugin.partition(".")[2] not in installed()[place_of(file).partition(".")[2]].needs
        and not (plugin == f"{PLUGINS}.page" and is_module_of_pages(file))
    ]
    assert others == []


def is_module_of_pages(file: str) -> bool:
    """Whether only the web page imports a module of another plugin: the one with its pages (``Plugin.pages``)."""
    return any(file == f"{PLUGINS}/{name}/{plugin.pages}.py" for name, plugin in installed().items() if plugin.pages)


def test_faces_call_the_engine_and_never_what_is_behind_it() -> None:
    behind = [
        f"{file} imports ricordo.{name}"
        for file, names in imports()
        for name in names
        if place_of(file) in FACES | {"hosting", "hooks"} and home(name) in PARTS | ADAPTERS
    ]
    assert behind == []


def test_faces_do_not_import_each_other_except_to_start_a_server() -> None:
    between = [
        f"{file} imports ricordo.{name}"
        for file, names in imports()
        for name in names
        if place_of(file) in FACES and home(name) in FACES - {place_of(file)} - COMPOSITION_ROOTS.get(file, set())
    ]
    assert between == []


def test_only_a_registry_imports_a_concrete_store() -> None:
    others = [
        f"{file} imports ricordo.{name}"
        for file, tree in modules()
        for name in imported(_when_run(tree))
        if name.startswith("store.sqlite") and not file.startswith("store/sqlite/") and Path(file).name != "registry.py"
    ]
    assert others == []


def _when_run(tree: ast.Module) -> ast.Module:
    """A module without what only a type checker reads."""
    body = [one for one in tree.body if not (isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")]
    return ast.Module(body, [])


def test_the_two_databases_know_nothing_of_each_other() -> None:
    """What both need is in ``store/sql/`` and ``store/index/``, which know neither; the core imports no plugin."""
    found = [
        f"{file} imports ricordo.{name}"
        for file, names in imports()
        for name in names
        if file.startswith(("store/sql/", "store/index/", "plugins/postgres/")) and name.startswith("store.sqlite")
    ]
    assert found == []


def test_no_two_parts_import_each_other() -> None:
    between = {
        (place_of(file), home(name))
        for file, names in imports()
        for name in names
        if place_of(file) in PARTS and home(name) in PARTS - {place_of(file)}
    }
    assert {pair for pair in between if pair[::-1] in between} == set()


def test_there_is_no_circle_of_imports_inside_a_folder_or_between_folders() -> None:
    """Imports inside functions count, too. Those for type checkers alone do not: they never run."""
    graph = import_graph()
    graph["store.sqlite.connection"].discard("store.sqlite.segments")  # the one circle that is left
    TopologicalSorter(graph).prepare()  # raises an error that names the modules of a circle
    folders: dict[str, set[str]] = {}
    for name, others in graph.items():
        folders.setdefault(home(name), set()).update(map(home, others - {""}))
    folders["values"].discard("verbs")  # a field of a value says what it means, as the parameters of verbs do
    TopologicalSorter({name: others - {name} for name, others in folders.items()}).prepare()


def import_graph() -> dict[str, set[str]]:
    """Every module, and the modules of the package that it imports when it runs, at its start or later."""
    trees = {
        file.removesuffix("__init__.py").removesuffix(".py").strip("/").replace("/", "."): tree
        for file, tree in modules()
    }
    return {
        name: {one if one in trees else one.rpartition(".")[0] for one in imported(without_checkers(tree))}
        for name, tree in trees.items()
    }


def without_checkers(tree: ast.Module) -> ast.Module:
    """The imports of a module, except those for type checkers alone."""
    unused = {
        inside
        for node in statements(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inside in statements(ast.Module(node.body, []))
    }
    found = [node for node in statements(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return ast.Module([node for node in found if node not in unused], [])


def test_modules_stay_readable_or_say_why_not() -> None:
    long = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_MODULE
    }
    assert long == set(LONG_MODULES)


def test_functions_stay_readable_or_say_why_not() -> None:
    long = {
        f"{file}:{node.name}"
        for file, tree in modules()
        for node in statements(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    }
    assert long == set(LONG_FUNCTIONS)


def test_broad_excepts_are_few_and_each_says_why() -> None:
    found: list[str] = []
    without_reason: list[str] = []
    for file, tree in modules():
        lines = (PACKAGE / file).read_text(encoding="utf-8").splitlines()
        for node in statements(tree):
            if isinstance(node, ast.ExceptHandler) and catches_everything(node):
                found.append(f"{file}:{node.lineno}")
                comment = lines[node.lineno - 1].partition("  # ")[2]
                reason = re.sub(r"^noqa: [A-Z0-9, ]+(- )?", "", comment)
                if len(reason.split()) < 3:
                    without_reason.append(found[-1])
    assert without_reason == []
    assert len(found) <= MOST_BROAD_EXCEPTS, found


def catches_everything(handler: ast.ExceptHandler) -> bool:
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(one is None or ast.unparse(one) in ("Exception", "BaseException") for one in named)


def test_a_class_name_means_one_thing() -> None:
    """A part of the store may be called like the protocol it fulfils; other modules must not share a name."""
    homes: dict[str, set[str]] = {}
    for file, tree in modules():
        folder = "store" if file.startswith(("store/", "plugins/postgres/")) else file
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(folder)
    shared = {name: sorted(files) for name, files in homes.items() if len(files) > 1}
    assert set(shared) <= SHARED_NAMES.keys(), shared


def test_a_constant_of_a_module_has_one_value() -> None:
    """Of two modules that become one, the second's value would silently count for both."""
    twice = []
    for file, tree in modules():
        targets = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
        names = [one.id for some in targets for target in some for one in ast.walk(target) if isinstance(one, ast.Name)]
        twice += [f"{file}: {name}" for name in set(names) if names.count(name) > 1]
    assert twice == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [file for file, tree in modules() if not ast.get_docstring(tree)]
    assert silent == []


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "CHANGELOG.md"])
def test_links_in_the_documents_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = [
        target.partition("#")[0]
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if not target.startswith(("http://", "https://", "#", "mailto:"))
    ]
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_architecture_names_every_folder_of_the_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = [path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))]
    folders += [f"{PLUGINS}/{name}" for name in installed()]
    assert [name for name in folders if f"(src/ricordo/{name}/)" not in text] == []


def test_committed_files_name_no_place_outside_the_project() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    stray = re.compile(r"(?<![\w.~-])/work[/]|(?<![\w/.-])shared[/]")  # must not find itself
    found = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file() or path.stat().st_size > 1_000_000:  # models and tokenizers are not prose
            continue
        content = path.read_bytes()
        if b"/work" not in content and b"shared" not in content:  # the expression takes far longer to say so
            continue
        text = content.decode("utf-8", "replace")
        found += [f"{name}: {text[hit.start() : hit.start() + 60]!r}" for hit in stray.finditer(text)]
    assert found == []
