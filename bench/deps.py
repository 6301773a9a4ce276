"""What questions about installed packages are answered, and what knowing the packages costs.

``python bench/deps.py --judged SET`` takes in the documents of a judged set and packages of this environment that
nothing was tuned on, and asks: the first sentences of docstrings, reworded by rule; for signatures; and questions that
were written by hand (``judged/deps.tsv``). A question is answered if one of the first five hits is the name that was
meant, or one with the very same docstring. Then it asks all questions of the set, before and after.

``--versions DIR`` has a folder ``old`` and a folder ``new``, each with the same packages in other versions (``pip
install --target``, without dependencies). What is told of signatures that differ is compared with what Python says of
the version that is installed: that is the one place where packages are imported, and in a process of their own.

``--cost PROJECT`` measures seconds and megabytes for the first 40 packages that are installed for a project.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ricordo import Filters, Ricordo
from ricordo.plugins.deps.intake import environment_of, required_by
from ricordo.plugins.deps.python import installed_in
from ricordo.plugins.evaluate.datasets import read_dataset
from ricordo.plugins.evaluate.report import mean, ndcg
from timing import print_json

HELD_OUT = (
    "requests", "jinja2", "tomlkit", "keyring", "more-itertools", "rapidfuzz", "platformdirs", "watchfiles",
    "packaging", "filelock", "urllib3", "starlette", "uvicorn", "anyio", "jsonschema", "cryptography", "psycopg",
    "fsspec", "huggingface-hub", "babel", "tqdm", "werkzeug", "idna", "markdown-it-py", "pathspec", "attrs", "mcp",
)  # fmt: skip
BY_HAND = Path(__file__).with_name("judged") / "deps.tsv"
SENTENCES, SIGNATURES, VERSIONS, COSTED = 160, 100, 50, 40
AT = 5
OTHER_WORDS = {
    "return": "give back", "returns": "gives back", "create": "make", "creates": "makes", "get": "fetch",
    "set": "change", "check": "find out", "whether": "if", "remove": "take away", "delete": "get rid of",
    "add": "put in", "convert": "turn", "list": "enumerate", "raise": "throw", "raised": "thrown", "call": "invoke",
    "use": "employ", "used": "employed", "start": "begin", "stop": "end", "given": "passed", "specified": "named",
    "instance": "object", "build": "assemble", "find": "look for", "write": "put", "retrieve": "obtain",
    "generate": "produce", "the": "a", "all": "every", "current": "present", "an": "some",
}  # fmt: skip
INSPECT = """
import importlib, inspect, json, re, sys, typing
sys.path.insert(0, sys.argv[1])
told = {}
for name in json.load(sys.stdin):
    parts = name.split(".")
    for at in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:at]))
            for part in parts[at:]:
                value = getattr(value, part)
            value = (typing.get_overloads(value) or [value])[0]
            taken = inspect.signature(value).parameters.values()
            plain = [[re.sub(r"^_[A-Z]\\w*?__", "__", one.name), one.default is not one.empty] for one in taken]
            told[name] = plain[1:] if plain[:1] == [["cls", False]] else plain
            break
        except Exception:
            continue
print(json.dumps(told))
"""


def made_project(folder: Path, names: Sequence[str], site: Path) -> Path:
    """A project that needs some packages, and has them installed."""
    project = folder / "project"
    (project / ".venv/lib/python3.11").mkdir(parents=True)
    (project / ".venv/lib/python3.11/site-packages").symlink_to(site)
    (project / "pyproject.toml").write_text(f'[project]\nname = "project"\ndependencies = {json.dumps(list(names))}\n')
    return project


def first_sentence(docs: str) -> str:
    return re.split(r"(?<=[.:])\s|\n\n", " ".join(docs.strip().split("\n\n")[0].split()))[0].rstrip(".:")


def reworded(sentence: str, name: str) -> str:
    """A sentence in other words: by a table, without markup and without the name that is looked for."""
    plain = re.sub(r":\w+:`~?([^`]*)`|`+([^`]*)`+", lambda found: found[1] or found[2], sentence)
    words = [OTHER_WORDS.get(word.lower(), word.lower()) for word in re.findall(r"[\w'-]+", plain)]
    last = name.rpartition(".")[2].lower()
    return " ".join(word for word in words if word != last)


def mechanical(engine: Ricordo, seed: int) -> Iterator[tuple[str, str, str]]:
    """Questions of two kinds, each with the name that is meant."""
    chance = random.Random(seed)
    every = engine.list(filters=Filters(kinds=("api",), states=("archived",)), limit=1 << 30)
    items = sorted((item for item in every if "line" in item.fields.metadata), key=lambda item: str(item.ref))
    chance.shuffle(items)
    by_package: dict[str, list[Any]] = {}
    for item in items:
        by_package.setdefault(item.fields.category or "", []).append(item)
    turns = [some[at] for at in range(400) for some in by_package.values() if at < len(some)]
    sentences = signatures = 0
    for item in turns:
        name, about = str(item.ref).removeprefix("api:/"), item.fields.metadata
        if about["what"] == "module":
            continue
        parts = engine.get(str(item.ref)).content.split("\n\n")
        sentence = first_sentence(parts[1]) if len(parts) > 1 else ""
        asked = reworded(sentence, name)
        if signatures < SIGNATURES and sentences > signatures and about["what"] != "property":
            signatures += 1
            short = ".".join(name.split(".")[-2:])
            yield "signature", f"signature of {short} in {item.fields.category}", name
        elif sentences < SENTENCES and 5 <= len(asked.split()) <= 25:
            sentences += 1
            yield "reworded", f"{asked}, with the package {item.fields.category}", name


def answered(engine: Ricordo, question: str, names: Sequence[str], *, or_same: bool) -> bool:
    """Whether one of the first hits is meant, or (for what a docstring says) has the docstring of one that is."""
    refs = [hit.ref for hit in engine.search(question, limit=AT, track=False).hits]
    if any(ref == f"api:/{name}" for name in names for ref in refs):
        return True
    docs = [engine.get(f"api:/{name}").content.partition("\n\n")[2] for name in names] if or_same else []
    return any(engine.get(ref).content.partition("\n\n")[2] in docs for ref in refs if ref.startswith("api:/"))


def questions(judged: Path, folder: Path) -> dict[str, Any]:
    """How many questions about packages are answered, and what becomes of the questions of a judged set."""
    site = Path(next(path for path in sys.path if path.endswith("site-packages")))
    project, data = made_project(folder, HELD_OUT, site), read_dataset(judged)
    with Ricordo.open(folder / "store.db", create=True) as engine:
        for document in data.documents:
            engine.add(text=document.text, as_ref=f"agent:/{document.id}", fields={"title": document.title}, wait=False)
        engine.embed()
        os.chdir(project)
        before = asked_of(engine, data)
        engine.deps_add(project)
        after = asked_of(engine, data)
        found: dict[str, list[bool]] = {}
        missed = []
        asked = list(mechanical(engine, 1))
        asked += [("by hand", *line.split("\t")) for line in BY_HAND.read_text().splitlines()]  # type: ignore[misc]
        for kind, question, names in asked:
            is_answered = answered(engine, question, names.split("|"), or_same=kind == "reworded")
            found.setdefault(kind, []).append(is_answered)
            missed += [] if is_answered else [f"{question} → {names}"]
    every = [one for some in found.values() for one in some]
    return {
        "questions": {kind: len(some) for kind, some in found.items()},
        "hit at 5": {kind: round(mean(list(map(float, some))), 3) for kind, some in found.items()},
        "hit at 5 of all": round(mean(list(map(float, every))), 3),
        "judged set": judged.name,
        "nDCG at 10 before and after": [round(mean([score for score, _ in some]), 4) for some in (before, after)],
        "answers that changed": sum(old != new for (_, old), (_, new) in zip(before, after, strict=True)),
        "missed": missed,
    }


def asked_of(engine: Ricordo, data: Any) -> list[tuple[float, list[str]]]:
    """Of each question of a judged set: its nDCG and its hits."""
    answers = []
    for question in data.questions:
        hits = [hit.ref.removeprefix("agent:/") for hit in engine.search(question.text, limit=10, track=False).hits]
        answers.append((ndcg(hits, data.judgements[question.id]), hits))
    return answers


def told_parameters(text: str) -> list[tuple[str, bool]]:
    """The parameters of the first signature in a text, and whether they have defaults."""
    import ast

    line = text.partition("\n")[0].removeprefix("async ")
    arguments = ast.parse(f"def told{line[line.index('(') :]}: ...").body[0].args  # type: ignore[attr-defined]
    plain = [*arguments.posonlyargs, *arguments.args]
    without = len(plain) - len(arguments.defaults)
    told = [(one.arg, at >= without) for at, one in enumerate(plain)]
    told += [(arguments.vararg.arg, False)] if arguments.vararg else []
    told += [
        (one.arg, value is not None) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    told += [(arguments.kwarg.arg, False)] if arguments.kwarg else []
    return told[1:] if told[:1] == [("cls", False)] else told  # Python binds it


def versions(folder: Path, work: Path) -> dict[str, Any]:
    """Of signatures that differ between two versions: how many are told as the installed version has them."""
    site = work / "site"
    shutil.copytree(folder / "old", site)
    names = [file.read_text().split("\nName: ")[1].split("\n")[0] for file in site.glob("*.dist-info/METADATA")]
    project = made_project(work, names, site)
    os.chdir(project)
    with Ricordo.open(work / "store.db", create=True) as engine:
        engine.deps_add(project)
        old = texts_of(engine)
        shutil.rmtree(site)
        shutil.copytree(folder / "new", site)
        engine.refresh(all=True)
        new = texts_of(engine)
        both = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        installed, before = signatures_of(site, both), signatures_of(folder / "old", both)
        differ = [name for name in both if name in before and name in installed and before[name] != installed[name]]
        random.Random(1).shuffle(differ)
        right, wrong = 0, []
        for name in differ[:VERSIONS]:
            hits = engine.search(f"signature of {name}", limit=AT, track=False).hits
            text = next((engine.get(hit.ref).content for hit in hits if hit.ref == f"api:/{name}"), "")
            is_right = bool(text) and told_parameters(text) == installed[name]
            right += is_right
            wrong += [] if is_right else [name]
    return {
        "packages": sorted(names),
        "differ": len(differ),
        "asked": len(differ[:VERSIONS]),
        "told": right,
        "wrong": wrong,
    }


def signatures_of(site: Path, names: Sequence[str]) -> dict[str, list[tuple[str, bool]]]:
    """What Python itself says of functions: their parameters, and whether they have defaults."""
    command = [sys.executable, "-c", INSPECT, str(site)]
    answer = subprocess.run(command, input=json.dumps(names), capture_output=True, text=True, check=True).stdout
    return {name: [(one, has) for one, has in rows] for name, rows in json.loads(answer).items()}


def texts_of(engine: Ricordo) -> dict[str, str]:
    """The signatures of all functions and methods that a store knows."""
    items = engine.list(filters=Filters(kinds=("api",), states=("archived",)), limit=1 << 30)
    wanted = [item for item in items if item.fields.metadata.get("what") in ("function", "method")]
    return {str(item.ref)[5:]: engine.get(str(item.ref)).content.partition("\n")[0] for item in wanted}


def cost(owner: Path, folder: Path) -> dict[str, Any]:
    """Seconds and megabytes of taking in the first packages that a project needs and has."""
    site = environment_of(owner)
    assert site is not None, "the project has an environment"
    project = made_project(folder, sorted(required_by(owner) & installed_in(site).keys())[:COSTED], site)
    file = folder / "store.db"
    with Ricordo.open(file, create=True) as engine:
        empty, started, used = (
            file.stat().st_size,
            time.perf_counter(),
            resource.getrusage(resource.RUSAGE_SELF).ru_utime,
        )
        report = engine.deps_add(project)
        seconds = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - used
        names = engine.count(filters=Filters(kinds=("api",), states=("archived",)))
        again = time.perf_counter()
        engine.deps_add(project)
        again = time.perf_counter() - again
    return {
        "packages": report.count("created"), "names": names, "seconds": round(seconds, 1),
        "seconds of CPU": round(used, 1), "megabytes": round((file.stat().st_size - empty) / 1e6, 1),
        "seconds when nothing changed": round(again, 2), "notes": report.notes,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judged", type=Path, help="a judged set, for the questions")
    parser.add_argument("--versions", type=Path, help="a folder with packages in two versions")
    parser.add_argument("--cost", type=Path, help="a project with installed packages")
    options = parser.parse_args()
    given = {name: value.resolve() for name, value in vars(options).items() if value is not None}
    for name, measure in {"judged": questions, "versions": versions, "cost": cost}.items():
        if name in given:
            with tempfile.TemporaryDirectory() as folder:
                print_json({name: measure(given[name], Path(folder))})
                os.chdir("/")


if __name__ == "__main__":
    main()
