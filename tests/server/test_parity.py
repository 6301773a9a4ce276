"""Every verb is a route with all its parameters, or its declaration says why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricordo.http_api.api import path_of
from ricordo.verbs.index import all_verbs
from ricordo.verbs.rows import VerbRow

from .http_sites import Site

ROWS = all_verbs()


def names_on_http(document: Mapping[str, Any], row: VerbRow) -> set[str] | None:
    """The parameters of a verb's route, of its query and its body; None if there is no route."""
    methods = document["paths"].get(f"/api/v1{path_of(row)}", {})
    operation = methods.get("get" if row.scope == "read" or row.looking == {} else "post")
    if operation is None:
        return None
    names = {one["name"] for one in operation.get("parameters", [])}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"]["$ref"].rpartition("/")[2]
        names |= set(document["components"]["schemas"][name].get("properties", {}))
    return names


def test_every_verb_is_a_route_or_its_declaration_says_why_not(site: Site) -> None:
    document = site.get("/api/v1/openapi.json")
    without = [row.path for row in ROWS if names_on_http(document, row) is None]
    assert without == [row.path for row in ROWS if row.not_on.get("http")]


def test_every_parameter_is_on_the_route_or_its_declaration_says_why_not(site: Site) -> None:
    document = site.get("/api/v1/openapi.json")
    for row in ROWS:
        if not row.not_on.get("http"):
            declared = {param.http_name for param in row.params if not param.not_on.get("http")}
            waits = {"wait"} if row.is_long else set()
            assert names_on_http(document, row) == declared | waits, row.path


def test_what_a_verb_takes_over_http_is_bounded(site: Site) -> None:
    schemas = site.get("/api/v1/openapi.json")
    for path, methods in schemas["paths"].items():
        for operation in methods.values():
            for one in operation.get("parameters", []):
                assert one["in"] == "path" or is_bounded(one["schema"]), (path, one["name"])


def is_bounded(schema: Mapping[str, Any]) -> bool:
    """Whether texts, numbers and lists have an end."""
    kinds = schema.get("anyOf", [schema])
    ends = {"string": ("maxLength", "enum", "pattern", "const"), "integer": ("maximum",), "number": ("maximum",)}
    return all(
        "items" in kind and "maxItems" in kind and is_bounded(kind["items"])
        if kind.get("type") == "array"
        else kind.get("type") not in ends or any(end in kind for end in ends[kind["type"]])
        for kind in kinds
    )


def test_likeness_and_reasons_take_the_conditions_of_a_search(site: Site) -> None:
    for name, tag in (("keys", "a"), ("tokens", "b")):
        site.engine.save(f"note:/{name}", f"About signing {name}.", fields={"tags": [tag]})
    refused = site.get("/api/v1/explain", params={"q": "signing", "ref": "note:/keys", "tag": "b"})
    assert (refused["found"], refused["ref"]) == (False, "note:/keys")
    assert site.get("/api/v1/explain", params={"q": "signing", "ref": "note:/keys", "tag": "a"})["found"]
    assert site.get("/api/v1/list", params={"tag": ["a", "b"]})["total"] == 2
    error = site.get("/api/v1/search", 400, params={"q": "signing", "weights": "=1"})["error"]
    assert "not a weight" in error["message"]


def test_an_article_is_remembered_with_links_and_corrected_with_fields(site: Site) -> None:
    site.engine.save("note:/keys", "About keys.")
    article = {
        "text": "How keys are rotated.",
        "kind": "article",
        "links": [["mentions", "note:/keys"]],
        "title": "Keys",
    }
    saved = site.post("/api/v1/remember", article)
    around = site.get("/api/v1/links", params={"ref": "note:/keys"})["links"]
    assert [(one["source"], one["type"]) for one in around] == [(saved["ref"], "mentions")]
    corrected = site.post("/api/v1/correct", {"ref": saved["ref"], "text": "How keys are made.", "tags": ["new"]})
    assert site.get("/api/v1/get", params={"ref": corrected["ref"]})["tags"] == ["new"]


def test_lines_of_an_item_are_read_over_http(site: Site) -> None:
    site.engine.save("note:/long", "one\ntwo\nthree\n")
    assert site.get("/api/v1/get", params={"ref": "note:/long", "lines": "2-3"})["content"].split() == ["two", "three"]
    assert site.get("/api/v1/get", 422, params={"ref": "note:/long", "lines": "two"})["error"]["code"] == "usage"


def test_verbs_on_files_of_the_machine_need_an_administrator(site: Site) -> None:
    writer = site.as_scope("write")
    moved = {"old": "/nowhere/old", "new": "/nowhere/new"}
    assert writer.post("/api/v1/roots/move", json=moved).status_code == 403
    assert writer.post("/api/v1/remember", json={"text": "Hello.", "ref": "disk:/tmp/x"}).status_code == 403
    for ref in ("git:/tmp/repository/x", "GIT:/tmp/repository/x"):
        assert writer.post("/api/v1/save", json={"content": "Hello.", "ref": ref}).status_code == 403
    assert writer.post("/api/v1/save", json={"content": "Hello.", "ref": "note:/x"}).status_code == 200
    assert writer.post("/api/v1/mv", json={"ref": "note:/x", "new_ref": "git:/tmp/repository/x"}).status_code == 403
    sources = {"sources": ["https://example.org"], "as": "disk:/tmp/x"}
    task = writer.post("/api/v1/add?wait=20", json=sources).json()
    assert task["error"]["code"] == "forbidden"
    assert site.get("/api/v1/roots") == {"roots": []}


def test_a_hint_names_parameters_as_they_are_sent(site: Site) -> None:
    hint = site.post("/api/v1/rm", {}, status=400)["error"]["hint"]
    assert "older_than" in hint
    assert "--" not in hint


def test_a_parameter_that_only_python_can_give_is_a_callback_or_an_iterable() -> None:
    """Any other means that a name in a signature could not be read, and that faces lost the parameter."""
    python_only = {param.name for row in ROWS for param in row.params if param.kind == "python"}
    assert python_only == {"agree", "on_event", "progress", "stop", "transcript"}
    corrected = next(row for row in ROWS if row.path == "correct")
    assert {"title", "tags", "importance", "fields"} <= {param.name for param in corrected.params}
