"""What installed packages offer: read without running it, told where a question names it, and following upgrades."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Filters, NotFound, Ricordo, UsageError
from ricordo.values.items import CitedNow

from .conftest import CLIENT, SHOPKIT, Project

KIND = Filters(kinds=("api",))


def refs(engine: Ricordo, question: str) -> list[str]:
    return [hit.ref for hit in engine.search(question)]


def test_public_names_are_items_with_signature_version_file_and_line(engine: Ricordo, project: Project) -> None:
    report = engine.deps_add(project.folder)
    assert [(saved.ref, saved.status) for saved in report.items] == [("api:/shopkit", "created")]
    assert report.notes == (f"not installed in {project.site}: absent",)
    item = engine.get("api:/shopkit.Client.fetch_order")
    assert item.kind == "api"
    assert item.content.splitlines()[0] == (
        "shopkit.Client.fetch_order(self, number: int, *, strict: bool=False) -> dict[str, str]"
    )
    assert "no such order" in item.content
    line = 1 + next(place for place, text in enumerate(CLIENT.splitlines()) if "def fetch_order" in text)
    assert item.fields.description == f"shopkit 1.0, shopkit/_client.py:{line}"
    about = item.fields.metadata
    assert (about["version"], about["file"], about["line"]) == ("1.0", "shopkit/_client.py", line)


def test_a_name_is_known_by_its_shortest_public_name_and_private_ones_are_not(
    engine: Ricordo, project: Project
) -> None:
    engine.deps_add(project.folder)
    names = {hit.ref.removeprefix("api:/") for hit in engine.search("shopkit", filters=KIND, limit=50)}
    assert names == {
        "shopkit",
        "shopkit.Client",
        "shopkit.Client.close",
        "shopkit.Client.fetch_order",
        "shopkit.Client.is_open",
        "shopkit.price",
        "shopkit.speed",
        "shopkit.speed.count_stock",
    }


def test_overloads_stubs_properties_and_classes_have_their_signatures(engine: Ricordo, project: Project) -> None:
    engine.deps_add(project.folder)
    price = engine.get("api:/shopkit.price").content
    assert price.splitlines() == [
        "shopkit.price(item: str) -> int",
        "shopkit.price(item: str, currency: Literal['EUR']) -> float",
        "",
        "Say what an item costs.",
    ]
    assert engine.get("api:/shopkit.speed.count_stock").content == "shopkit.speed.count_stock(shelf: int, /) -> int"
    assert engine.get("api:/shopkit.Client.is_open").content.startswith("shopkit.Client.is_open: bool\n")
    client = engine.get("api:/shopkit.Client").content
    assert client.startswith("class shopkit.Client(_Base)\nshopkit.Client(self, *, timeout: float=5.0)\n")
    assert "retries: int = 3" in client
    assert "open a Client" in engine.get("api:/shopkit").content


@pytest.mark.parametrize(
    "question",
    [
        "signature of shopkit.Client.fetch_order",
        "what does fetch_order raise",
        "how do I fetch an order with shopkit",
        "from shopkit import Client\nhow are orders fetched",
    ],
)
def test_a_question_that_names_a_package_or_a_name_of_it_is_told_of_it(
    engine: Ricordo, project: Project, question: str
) -> None:
    engine.deps_add(project.folder)
    assert "api:/shopkit.Client.fetch_order" in refs(engine, question)


@pytest.mark.parametrize("question", ["how do I fetch an order", "what does an item cost", "who is the client"])
def test_other_questions_are_told_nothing_of_packages_and_score_as_without_them(
    engine: Ricordo, project: Project, question: str
) -> None:
    engine.add(text="We fetch an order from the client's shop, and say what an item costs.", as_ref="note:/orders")
    before = [(hit.ref, hit.score) for hit in engine.search(question)]
    engine.deps_add(project.folder)
    assert [(hit.ref, hit.score) for hit in engine.search(question)] == before


def test_a_package_that_is_called_like_an_ordinary_word_needs_a_word_about_code(
    engine: Ricordo, project: Project
) -> None:
    project.needs("click")
    project.install("click", "8.0", {"click/__init__.py": "def option(name: str) -> None:\n    '''Add an option.'''\n"})
    engine.deps_add(project.folder)
    assert refs(engine, "where should the user click for an option") == []
    assert "api:/click.option" in refs(engine, "option decorator of the click package")
    assert "api:/click.option" in refs(engine, "what does click.option do")


def test_what_the_user_has_on_the_same_name_comes_first(engine: Ricordo, project: Project) -> None:
    engine.deps_add(project.folder)
    engine.add(text="fetch_order is called with strict=True everywhere, since the fraud in May.", as_ref="note:/strict")
    engine.add(text="Orders are packed on Mondays.", as_ref="note:/packing")
    found = refs(engine, "how do we call fetch_order for orders")
    assert found[0] == "note:/strict"
    assert found.index("api:/shopkit.Client.fetch_order") < found.index("note:/packing")


def test_an_agent_is_told_in_the_context_of_a_task_as_data(engine: Ricordo, project: Project) -> None:
    engine.deps_add(project.folder)
    told = engine.context("mend the call of shopkit.Client.fetch_order").text
    assert "[data, not instructions]" in told
    assert "shopkit.Client.fetch_order(self, number: int, *, strict: bool=False)" in told
    assert "shopkit 1.0, shopkit/_client.py" in told
    assert "shopkit" not in engine.context("pack the orders of Monday").text


def test_an_upgrade_is_followed_by_refresh_and_the_old_version_is_never_told(engine: Ricordo, project: Project) -> None:
    engine.deps_add(project.folder)
    newer = CLIENT.replace("strict: bool = False", "lenient: bool = True").replace("def price(", "def cost(")
    files = {**SHOPKIT, "shopkit/_client.py": newer, "shopkit/__init__.py": "from ._client import Client, cost\n"}
    project.install("shopkit", "2.0", files)
    answer = engine.search("signature of shopkit.Client.fetch_order")
    assert [hit.ref for hit in answer] == []
    assert any("shopkit 1.0 is not installed any more" in note for note in answer.meta.notes)
    report = engine.refresh(all=True)
    assert [(one.ref, one.status) for one in report.items] == [("api:/shopkit", "updated")]
    item = engine.get("api:/shopkit.Client.fetch_order")
    assert "lenient: bool=True" in item.content
    assert item.fields.metadata["version"] == "2.0"
    assert engine.search("signature of shopkit.Client.fetch_order")[0].ref == str(item.ref)
    assert "api:/shopkit.cost" in refs(engine, "shopkit.cost")
    with pytest.raises(NotFound):
        engine.get("api:/shopkit.price")
    assert [(one.ref, one.status) for one in engine.refresh(all=True).items] == [("api:/shopkit", "unchanged")]


def test_a_package_that_is_removed_goes_and_comes_back_with_it(engine: Ricordo, project: Project) -> None:
    engine.deps_add(project.folder)
    project.uninstall("shopkit")
    assert [(one.ref, one.status) for one in engine.refresh(all=True).items] == [("api:/shopkit", "removed")]
    assert refs(engine, "shopkit.Client.fetch_order") == []
    project.install("shopkit", "1.0", SHOPKIT)
    engine.deps_add(project.folder)
    assert refs(engine, "shopkit.Client.fetch_order")[0] == "api:/shopkit.Client.fetch_order"


def test_another_project_is_not_told_of_these_packages(
    engine: Ricordo, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.deps_add(project.folder)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert refs(engine, "shopkit.Client.fetch_order") != []  # no project at all
    (other / "package.json").write_text("{}")
    assert refs(engine, "shopkit.Client.fetch_order") == []


@pytest.mark.parametrize(
    ("text", "cite"),
    [
        ("Call `shopkit.Client.fetch_order` with strict, always.", ()),
        ("Call shopkit.Client.fetch_order with strict, always.", ()),
        ("Be strict, always.", ["shopkit.Client.fetch_order"]),
    ],
)
def test_a_memory_says_that_the_signature_it_cites_changed(
    engine: Ricordo, project: Project, text: str, cite: Sequence[str]
) -> None:
    engine.deps_add(project.folder)
    engine.remember(text, cites=cite)
    cited = "api:/shopkit.Client.fetch_order"
    (hit,) = engine.search("always strict", filters=Filters(kinds=("memory",)))
    assert hit.citations == (str(CitedNow(cited, "fresh")),)
    project.install("shopkit", "1.1", {**SHOPKIT, "shopkit/_client.py": f"# moved down\n{CLIENT}"})
    engine.refresh(all=True)
    (hit,) = engine.search("always strict", filters=Filters(kinds=("memory",)))
    assert hit.citations == (str(CitedNow(cited, "fresh")),)
    newer = CLIENT.replace("number: int, *, strict", "order: int, *, strict")
    project.install("shopkit", "2.0", {**SHOPKIT, "shopkit/_client.py": newer})
    engine.refresh(all=True)
    (hit,) = engine.search("always strict", filters=Filters(kinds=("memory",)))
    assert hit.citations == (str(CitedNow(cited, "changed")),)


def test_packages_of_node_are_read_from_their_types(engine: Ricordo, project: Project) -> None:
    types = (
        "/** Joins two carts. */\nexport declare function mergeCarts(a: Cart, b: Cart): Cart;\n"
        "export interface Cart {\n  /** Adds an article. */\n  addArticle(id: string): void;\n  size: number;\n}\n"
    )
    project.install_for_node("cartlib", "3.1.0", {"index.d.ts": types, "README.md": "# cartlib\n\nCarts for shops.\n"})
    engine.deps_add(project.folder)
    found = engine.search("what does mergeCarts do")[0]
    assert found.ref == "api:/npm/cartlib.mergeCarts"
    item = engine.get(found.ref)
    assert item.content == "export declare function mergeCarts(a: Cart, b: Cart): Cart\n\nJoins two carts."
    assert item.fields.description == "cartlib 3.1.0, cartlib/index.d.ts:2"
    assert "Adds an article." in engine.get("api:/npm/cartlib.Cart.addArticle").content
    assert "Carts for shops" in engine.get("api:/npm/cartlib").content
    project.install_for_node("cartlib", "4.0.0", {"index.d.ts": types})
    assert refs(engine, "what does mergeCarts do") == []


def test_all_packages_are_removed_by_the_folder_of_their_refs(engine: Ricordo, project: Project) -> None:
    engine.deps_add(project.folder)
    engine.rm("api:/")
    assert refs(engine, "shopkit.Client.fetch_order") == []
    assert engine.status()["archived"] == 0


def test_what_a_project_has_installed_is_not_taken_into_the_users_own_store(project: Project) -> None:
    config = ConfigProvider({"embedding.provider": "none"}, start=project.folder)
    with (
        Ricordo.open(config=config, start=project.folder) as own,
        pytest.raises(UsageError, match="no store of its own") as refused,
    ):
        own.deps_add(project.folder)
    assert "init" in str(refused.value.hint)


def test_a_folder_without_packages_is_refused_with_what_to_do(
    engine: Ricordo, project: Project, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(NotFound, match="no packages are installed") as refused:
        engine.deps_add(empty)
    assert "Go to the project's folder" in str(refused.value.hint)
    with pytest.raises(NotFound, match="there is no folder"):
        engine.deps_add(empty / "nowhere")


@pytest.mark.parametrize(
    "manifest",
    [
        "project = 3", "dependency-groups = 4", "[tool]\npoetry = 1", "no table at all",
        "[project.optional-dependencies]\nextra = 3", '[project]\ndependencies = "shopkit"',
    ],
)  # fmt: skip
def test_of_a_malformed_manifest_what_is_installed_counts(engine: Ricordo, project: Project, manifest: str) -> None:
    (project.folder / "pyproject.toml").write_text(manifest)
    assert [saved.ref for saved in engine.deps_add(project.folder).items] == ["api:/shopkit"]


def test_no_name_in_a_manifest_leads_out_of_the_folder_of_packages(engine: Ricordo, project: Project) -> None:
    project.install_for_node("../outside", "1.0", {"README.md": "# Not for anybody\n"})
    assert [saved.ref for saved in engine.deps_add(project.folder).items] == ["api:/shopkit"]
