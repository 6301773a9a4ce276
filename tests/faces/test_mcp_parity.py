"""Every verb is a tool with all its parameters, or its declaration says why not."""

from __future__ import annotations

from ricordo.mcp_server.service import TOOLSETS, chosen
from ricordo.mcp_server.tool import REFUSING_ITSELF, generated, why_not
from ricordo.values.kinds import KINDS
from ricordo.verbs.index import all_verbs

ROWS = all_verbs()
TOOLS = {tool.name: tool for tool in generated()}


def test_every_verb_is_a_tool_or_its_declaration_says_why_not() -> None:
    offered = {row.name.replace(".", "_") for row in ROWS if not why_not(row)}
    assert TOOLS.keys() == offered
    for row in ROWS:
        if row.scope in ("files", "admin") and row.name not in REFUSING_ITSELF:
            assert why_not(row)


def test_every_parameter_is_an_argument_or_its_declaration_says_why_not() -> None:
    for row in ROWS:
        tool = TOOLS.get(row.name.replace(".", "_"))
        if tool is not None:
            declared = {param.face_name: param for param in row.params if not param.not_on.get("mcp")}
            assert tool.arguments.keys() == declared.keys(), row.path
            assert set(tool.required) == {name for name, param in declared.items() if param.required}, row.path


def test_bounds_and_choices_are_those_of_the_verb() -> None:
    limit = TOOLS["similar"].arguments["limit"]
    assert (limit["type"], limit["minimum"], limit["maximum"]) == ("integer", 1, 1000)
    assert TOOLS["save"].arguments["on_conflict"]["enum"] == ["skip", "overwrite", "error"]
    assert TOOLS["list"].arguments["kind"]["items"]["enum"] == list(KINDS)


def test_tools_of_other_names_take_arguments_of_verbs() -> None:
    """A row that maps names cannot name a parameter that its verb does not have."""
    tools = chosen(TOOLSETS)
    assert tools["save_note"].arguments["content"]["type"] == "string"
    assert tools["search"].arguments["kind"]["known"] == list(KINDS)
