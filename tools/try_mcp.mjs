// Calls every tool of the MCP server with the TypeScript SDK's client, which checks each answer against its schema: once
// so that it works, and once with a wrong argument, which must come back as our error and not as one of the SDK.
//
//   npm install @modelcontextprotocol/sdk
//   node tools/try_mcp.mjs ricordo mcp --toolset memory --toolset context --toolset vault --toolset knowledge \
//     --toolset sessions
//   node tools/try_mcp.mjs http://127.0.0.1:8610/mcp TOKEN
//
// It writes a few items: point it at a store made for this (RICORDO_STORE=/tmp/try.db).
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.cwd()}/`));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const text = (words) => `${words}, tried at ${Date.now()} by ${process.pid}`;
const place = `agent:/try/${Date.now()}`;
const CALLS = [
  ["add", { text: text("A plan to sail round the island"), ref: place, tags: ["try"] }],
  ["add", { text: text("A plan that was given up"), ref: `${place}-forgotten` }],
  ["remember", { text: text("The harbour master likes liquorice"), on_duplicate: "save" }],
  ["search", { query: "sail round the island", limit: 3 }],
  ["get", { refs: [place] }],
  ["context", { task: "sail round the island", budget: 300 }],
  ["gather", { topic: "sail round the island", budget: 300 }],
  ["recent", { limit: "3" }],
  ["timeline", { since: "1d" }],
  ["route", { task: "sail round the island" }],
  ["feedback", { query: "island", ref: place, verdict: "accepted" }],
  ["forget", { refs: [`${place}-forgotten`] }],
  ["status", {}],
  ["save_memory", { content: text("The lighthouse is red"), on_duplicate: "save" }],
  ["create_entity", { name: text("Lighthouse"), on_duplicate: "save" }],
  ["save_note", { title: "Tides", content: text("High water at noon"), on_duplicate: "save" }],
  ["save_resource", { title: text("Tide tables"), url: "https://example.org/tides", on_duplicate: "save" }],
  ["hybrid_search", { query: "lighthouse", limit: 3 }],
  ["semantic_search", { query: "lighthouse", limit: 3 }],
  ["batch_embed", { type: "note", limit: 5 }],
  ["set_config", { key: "search.limit", value: "8" }],
  ["get_query_stats", { days: 1 }],
  ["context_list_drives", {}],
  ["context_tree", { ref: "agent", depth: 2 }],
  ["context_write", { ref: `${place}-b`, content: "Low water at dusk" }],
  ["context_read", { ref: `${place}-b` }],
  ["context_edit", { ref: `${place}-b`, old_text: "dusk", new_text: "dawn" }],
  ["context_copy", { from_ref: `${place}-b`, to_ref: `${place}-c` }],
  ["context_move", { from_ref: `${place}-c`, to_ref: `${place}-d` }],
  ["context_info", { ref: `${place}-d` }],
  ["context_exists", { ref: `${place}-d` }],
  ["context_search", { query: "low water" }],
  ["context_refresh", { ref: `${place}-d` }],
  ["context_delete", { ref: `${place}-d` }],
  ["search_grep", { pattern: "low w.ter", ignore_case: true }],
  ["search_semantic", { query: "low water" }],
  ["capture_knowledge", { title: text("Anchor first"), description: text("Drop anchor before lunch"), on_duplicate: "save" }],
  ["search_intelligent", { query: "anchor", mode: "full" }],
  ["search_feedback", { query: "anchor", id: place, action: "dismissed" }],
  ["save_article", { title: text("Knots"), content: text("The bowline holds"), on_duplicate: "save" }],
  ["recall_memory", { query: "lighthouse" }],
  ["recall_article", { query: "bowline" }],
  ["search_knowledge", { query: "bowline", limit: 2 }],
  ["find_tools", { task: "tell the time" }],
  ["describe_tool", { name: "no-server/no-tool" }, "not_found"],
  ["call_tool", { name: "no-server/no-tool", arguments: {} }, "not_found"],
];
// A third element is the error that the call must come to: no other server is set up here.

const [first, ...rest] = process.argv.slice(2);
const transport = /^https?:/.test(first ?? "")
  ? new StreamableHTTPClientTransport(new URL(first), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } })
  : new StdioClientTransport({ command: first ?? "ricordo", args: first ? rest : ["mcp"], env: process.env });
const client = new Client({ name: "try-mcp", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const offered = new Set(tools.map((tool) => tool.name));
let failed = 0;
const known = new Set(tools.map((tool) => tool.name));
for (const [name, args, wanted] of CALLS.filter(([name]) => known.has(name))) {
  offered.delete(name);
  try {
    const result = await client.callTool({ name, arguments: args });
    const error = result.isError ? JSON.parse(result.content[0].text).error_type : undefined;
    failed += error === wanted ? 0 : 1;
    console.log(error === wanted ? "ok   " : "ERROR", name, error ? result.content[0].text : "");
  } catch (error) {
    failed += 1;
    console.log("ERROR", name, error.message);
  }
}
for (const { name } of tools) {
  try {
    const result = await client.callTool({ name, arguments: { no_such_argument: 1 } });
    const error = JSON.parse(result.content[0].text);
    if (result.isError && error.error_type === "usage" && error.next_action_hint) continue;
    console.log("ERROR", name, "answered a wrong argument with", result.content[0].text);
  } catch (error) {
    console.log("ERROR", name, "turned a wrong argument into:", error.message);
  }
  failed += 1;
}
for (const name of offered) console.log("not called:", name);
const { resources } = await client.listResources();
for (const { uri } of resources) await client.readResource({ uri: new URL(uri).href });
await client.getPrompt({ name: "recall", arguments: { topic: "tides" } });
console.log(`${tools.length} tools, ${failed} failed, ${offered.size} not called, ${resources.length} resources`);
await client.close();
process.exit(failed + offered.size ? 1 : 0);
