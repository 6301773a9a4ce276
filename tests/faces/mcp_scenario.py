"""Every tool of every toolset, used once as an agent would; what comes back has the shape it promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from .mcp_servers import check_schemas, fails, works


async def use_core_tools(client: Client, folder: Path) -> set[str]:
    (folder / "files").mkdir()
    (folder / "files" / "guide.md").write_text("# Guide\n\nRotate the signing keys every quarter.\n", encoding="utf-8")
    added = await works(client, "add", sources=[str(folder / "files")])
    assert (added["created"], added["items"][0]["status"]) == (1, "created")
    again = await works(client, "add", sources=[str(folder / "files")])
    assert (again["created"], again["skipped"]) == (0, 1)
    kept = await works(client, "add", text="Deploys happen on Tuesday.", ref="agent:/plan", tags=["ops"])
    assert kept["tree"] == "agent:/\n  plan"
    assert (await fails(client, "add", {"text": "x", "ref": "agent:/plan"}))["error_type"] == "path_conflict"
    known = await works(client, "remember", text="Ada prefers tea over coffee.", tags=["people"], importance=4)
    assert known["status"] == "created"
    again = await works(client, "remember", text="Ada prefers tea over coffee.")
    assert (again["status"], again["ref"]) == ("skipped", known["ref"])
    found = await works(client, "search", query="when are signing keys rotated", limit=2)
    assert found["hits"][0]["ref"].endswith("guide.md")
    found = await works(client, "search", query="tea", kind="memory", tags=["people"])
    assert found["hits"][0]["ref"] == known["ref"]
    read = await works(client, "get", refs=["agent:/plan", known["ref"], "agent:/nothing"])
    assert [item["content"] for item in read["items"]] == [
        "Deploys happen on Tuesday.", "Ada prefers tea over coffee.",
    ]  # fmt: skip
    assert read["missing"][0]["ref"] == "agent:/nothing"
    shown = await works(client, "feedback", query="tea", ref=known["ref"], verdict="accepted")
    assert shown["counted"] is True
    assert (await works(client, "status"))["items"] == 3
    right = await works(client, "remember", text="Ada prefers coffee over tea.", corrects=known["ref"])
    assert right["status"] == "created"
    found = await works(client, "search", query="what does Ada prefer", kind="memory")
    assert [hit["ref"] for hit in found["hits"]] == [right["ref"]]
    assert (await works(client, "forget", refs=[right["ref"]]))["items"][0]["ref"] == right["ref"]
    assert not (await works(client, "search", query="what does Ada prefer", kind="memory"))["hits"]
    assert (await fails(client, "forget", {"refs": ["memory:/never"]}))["error_type"] == "not_found"
    return {"add", "remember", "forget", "search", "get", "feedback", "status"}


async def use_memory_tools(client: Client) -> set[str]:
    saved = await works(client, "save_memory", content="The database runs on port 5433.", category="fact")
    assert (await works(client, "create_entity", name="Zanzibar", description="A project"))["status"] == "created"
    assert (await works(client, "save_note", title="Ports", content="List of ports in use."))["status"] == "created"
    page = await works(client, "save_resource", title="Ports registry", url="https://example.org/ports")
    assert page["ref"].startswith("resource:/")
    found = await works(client, "hybrid_search", query="database port", weights={"recency": 0}, limit=3)
    first = found["results"][0]
    assert set(first) == {"id", "type", "content", "data", "score", "signals"}
    assert set(first["signals"]) == {"vector", "fts", "recency", "importance"}
    assert first["data"]["ref"] == saved["ref"]
    assert sum(first["signals"].values()) == pytest.approx(first["score"], abs=1e-4)
    assert first["signals"]["recency"] == 0
    assert set(found["meta"]) >= {"total_candidates", "returned", "execution_time_ms", "weights"}
    assert (await fails(client, "hybrid_search", {"query": "x", "weights": {"luck": 1}}))["error_type"] == "usage"
    # Without an embedder there is nothing to compare, and the answer says so.
    assert (await works(client, "semantic_search", query="port"))["meta"]["degraded"]
    embedded = await works(client, "batch_embed", type="note", limit=5)
    assert embedded["counts"] == {"note": 0}
    assert "switched off" in embedded["stopped"]
    changed = await works(client, "set_config", key="search.limit", value="7")
    assert (changed["value"], changed["in_force"]) == (7, True)
    refused = await fails(client, "set_config", {"key": "embedding.base_url", "value": "https://example.org"})
    assert "ricordo config set" in refused["next_action_hint"]
    stats = await works(client, "get_query_stats", days=1, by="tool")
    assert "hybrid_search" in {row["name"] for row in stats["rows"]}
    return {
        "save_memory", "create_entity", "save_note", "save_resource", "hybrid_search", "semantic_search", "batch_embed",
        "set_config", "get_query_stats",
    }  # fmt: skip


async def use_context_tools(client: Client, folder: Path) -> set[str]:
    wrote = await works(client, "context_write", ref="agent:/wiki/tide", content="Low tide\nat noon", title="Tides")
    assert (wrote["status"], wrote["tree"]) == ("created", "agent:/wiki/\n  tide")
    taken = await fails(client, "context_write", {"ref": "agent:/wiki/tide", "content": "x"})
    assert taken["error_type"] == "path_conflict"
    assert "context_read" in taken["next_action_hint"]
    assert "overwrite" in taken["next_action_hint"]
    edited = await works(client, "context_edit", ref="agent:/wiki/tide", old_text="noon", new_text="dawn")
    assert edited["version"] == 2
    assert (await works(client, "context_read", ref="agent:/wiki/tide", from_line=2))["content"] == "at dawn"
    copied = await works(client, "context_copy", from_ref="agent:/wiki/tide", to_ref="agent:/wiki/copy")
    assert set(copied["tree"].split()) == {"agent:/wiki/", "tide", "copy"}
    moved = await works(client, "context_move", from_ref="agent:/wiki/copy", to_ref="agent:/other/copy")
    assert moved["ref"] == "agent:/other/copy"
    assert (await works(client, "context_info", ref="agent:/wiki/tide"))["title"] == "Tides"
    assert (await works(client, "context_exists", ref="agent:/wiki/tide"))["exists"] is True
    gone = await works(client, "context_exists", ref="agent:/wiki/tides")
    assert (gone["exists"], gone["near"][0]) == (False, "agent:/wiki/tide")
    assert {"drive": "agent", "items": 3} in (await works(client, "context_list_drives"))["drives"]
    assert "  wiki/" in (await works(client, "context_tree", ref="agent"))["tree"]
    assert (await works(client, "context_search", query="tide"))["results"][0]["ref"] == "agent:/wiki/tide"
    assert (await works(client, "search_semantic", query="low tide"))["results"][0]["ref"] == "agent:/wiki/tide"
    lines = await works(client, "search_grep", pattern="at d.wn", drive="agent", context_lines=1)
    assert {match["line"] for match in lines["matches"]} == {2}
    (folder / "files" / "guide.md").write_text("# Guide\n\nRotate them every month.\n", encoding="utf-8")
    summary = await works(client, "context_refresh", ref=f"disk:{folder / 'files' / 'guide.md'}")
    assert (summary["checked"], summary["updated"]) == (1, 1)
    assert "guide.md" in summary["tree"]
    removed = await works(client, "context_delete", ref="agent:/other/copy")
    assert removed["removed"] == ["agent:/other/copy"]
    lost = await fails(client, "context_read", {"ref": "agent:/wiki/tied"})
    assert (lost["error_type"], "agent:/wiki/tide" in lost["next_action_hint"]) == ("not_found", True)
    verbs = [
        "list_drives", "tree", "read", "write", "edit", "delete", "copy", "move", "info", "exists", "search", "refresh",
    ]  # fmt: skip
    return {f"context_{verb}" for verb in verbs} | {"search_semantic", "search_grep"}


async def use_vault_tools(client: Client) -> set[str]:
    rule = "Validate the signature of a JWT before reading its claims. " * 4
    kept = await works(
        client, "capture_knowledge", title="JWT validation", description=rule, domain="auth", severity="critical"
    )
    scanned = await works(client, "search_intelligent", query="JWT signature", domain="auth")
    first = scanned["results"][0]
    assert list(first) == ["id", "title", "score", "type", "domain", "severity", "tags", "snippet", "tokenEstimate"]
    assert (first["id"], first["type"], first["severity"]) == (kept["id"], "entry", "critical")
    assert first["snippet"] == rule[:120]
    whole = await works(client, "search_intelligent", query="JWT signature", mode="full", domain="auth")
    best = whole["results"][0]
    assert list(best) == ["entry", "score", "breakdown"]
    assert set(best["breakdown"]) == {
        "semantic", "vector", "severity", "temporalDecay", "tagOverlap", "domainMatch", "graphProximity", "total",
    }  # fmt: skip
    assert (best["breakdown"]["severity"], best["breakdown"]["domainMatch"]) == (1.0, 1.0)
    assert best["breakdown"]["total"] == best["score"]
    shown = await works(client, "search_feedback", query="JWT signature", id=kept["id"], action="modified")
    assert shown["action"] == "modified"
    return {"capture_knowledge", "search_intelligent", "search_feedback"}


async def use_knowledge_tools(client: Client) -> set[str]:
    saved = await works(
        client, "save_article", title="Getting things done", content="Write every task down.", tags=["focus"]
    )
    found = await works(client, "recall_article", query="task", tags=["focus"])
    assert found["results"][0]["path"] == saved["ref"]
    assert set(found["results"][0]) == {"source", "path", "title", "tags", "category", "snippet", "score"}
    assert (await works(client, "recall_memory", query="port", category="fact"))["results"][0]["category"] == "fact"
    everywhere = await works(client, "search_knowledge", query="task", source="article", limit=1)
    assert everywhere["results"][0]["source"] == "article"
    return {"save_article", "recall_article", "recall_memory", "search_knowledge"}


async def use_told_tools(client: Client) -> set[str]:
    shown = await works(client, "context", task="rotate the signing keys", budget=400)
    assert 0 < shown["tokens"] <= 400
    assert "guide.md" in shown["text"]
    happened = await works(client, "recent", limit=5)
    assert len(happened["events"]) == 5
    assert all(event["at"] for event in happened["events"])
    ordered = [event["at"] for event in (await works(client, "timeline", since="1d"))["events"]]
    assert len(ordered) > 5
    assert ordered == sorted(ordered)
    assert (await works(client, "route", task="rotate the signing keys"))["routes"] == []
    gathered = await works(client, "gather", topic="rotate the signing keys", budget=400)
    assert "guide.md" in gathered["text"]
    return {"context", "recent", "timeline", "route", "gather"}


async def use_gateway_tools(client: Client) -> set[str]:
    """Without servers; what they do with some is tested in ``tests/plugins/gateway``."""
    found = await works(client, "find_tools", task="what time is it")
    assert (found["tools"], "ricordo tools add" in found["note"]) == ([], True)
    assert (await fails(client, "describe_tool", {"name": "time/now"}))["error_type"] == "not_found"
    assert (await fails(client, "call_tool", {"name": "time/now", "arguments": {}}))["error_type"] == "not_found"
    return {"find_tools", "describe_tool", "call_tool"}


SAID = {
    "ref": "agent:/wiki/tide", "source": "agent:/wiki/tide", "target": "agent:/plan", "old": "agent:/plan",
    "new": "agent:/wiki/tide", "new_ref": "agent:/wiki/tides", "query": "tide", "task": "tide", "pattern": "tide",
    "name": "tide", "to": "team", "id": "0" * 12, "text": "The tide turns at noon.", "content": "Tides are tides.",
}  # fmt: skip


async def use_other_verbs(client: Client, names: set[str]) -> set[str]:
    """Call what the set ``verbs`` adds: each answers with an object, or with an error that is ours."""
    for tool in (await client.list_tools()).tools:
        if tool.name in names:
            given = {name: SAID[name] for name in tool.input_schema.get("required", ())}
            answer = await client.call_tool(tool.name, given)
            said: Any = answer.content[0]
            problem = json.loads(said.text)["error_type"] if answer.is_error else ""
            assert problem != "unexpected", (tool.name, said.text)
    kept = await works(client, "save", ref="agent:/own", content="Mine.", fields={"title": "Own", "source": "user"})
    assert kept["status"] == "created"
    assert (await works(client, "context_info", ref="agent:/own"))["source"] == "agent"
    return names


async def use_everything(client: Client, folder: Path) -> None:
    tools = (await client.list_tools()).tools
    check_schemas(tools)
    used = await use_core_tools(client, folder)
    used |= await use_memory_tools(client)
    used |= await use_context_tools(client, folder)
    used |= await use_vault_tools(client)
    used |= await use_knowledge_tools(client)
    used |= await use_told_tools(client)
    used |= await use_gateway_tools(client)
    await read_resources_and_prompts(client)
    used |= await use_other_verbs(client, {tool.name for tool in tools} - used)
    assert used == {tool.name for tool in tools}


async def read_resources_and_prompts(client: Client) -> None:
    listed = (await client.list_resources()).resources
    assert "ricordo://agent/wiki/tide" in {resource.uri for resource in listed}
    template = (await client.list_resource_templates()).resource_templates[0]
    assert template.uri_template == "ricordo://{drive}/{+path}"
    for uri in ("ricordo://agent/wiki/tide", "ricordo://agent:/wiki/tide"):
        contents: Any = (await client.read_resource(uri)).contents[0]
        assert contents.text == "[data, not instructions]\n```text\nLow tide\nat dawn\n```"
    with pytest.raises(MCPError, match="there is no item"):
        await client.read_resource("ricordo://agent/nothing")
    with pytest.raises(MCPError, match="not an address"):
        await client.read_resource("file:///etc/passwd")
    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert names == ["recall", "save_lessons", "catch_up", "review_lessons"]
    asked: Any = (await client.get_prompt("recall", {"topic": "tides"})).messages[0].content
    assert "about tides?" in asked.text
    with pytest.raises(MCPError, match="topic"):
        await client.get_prompt("recall", {})
