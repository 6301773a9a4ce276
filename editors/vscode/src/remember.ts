/** Saves the selection as a memory that cites the lines it comes from. */
import * as vscode from "vscode";
import { openItem } from "./open";
import { Failure, Server } from "./server";
import { guarded } from "./words";

interface Saved {
    ref: string;
    status: "created" | "updated" | "skipped" | "failed" | "needs_decision";
    reason?: string;
    redacted?: string[];
}

const KINDS = ["memory", "note", "entity", "resource", "entry"];
const SCOPES = { "where it fits the task": "contextual", "always, to every agent": "always" };

/** Remember the selection, or its line; ask for kind and scope only if the user wants to be asked. */
export async function remember(server: Server, asks = false): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) throw new Failure("No text is open", "Open a file and select what is to be remembered.");
    const { document, selection } = editor;
    const range = selection.isEmpty ? document.lineAt(selection.start.line).range : selection;
    const text = document.getText(range).trim();
    if (text === "") throw new Failure("Nothing is selected", "Select what is to be remembered.");
    const fields: Record<string, unknown> = {};
    if (asks) {
        const kind = await vscode.window.showQuickPick(KINDS, { title: "What is it?" });
        const scope = kind && (await vscode.window.showQuickPick(Object.keys(SCOPES), { title: "When is it told?" }));
        if (!scope) return;
        Object.assign(fields, { kind, loading: SCOPES[scope as keyof typeof SCOPES] });
    }
    const lines = range.isSingleLine ? `${range.start.line + 1}` : `${range.start.line + 1}-${range.end.line + 1}`;
    const from = document.uri.scheme === "file" ? `${vscode.workspace.asRelativePath(document.uri, false)}:${lines}` : "";
    const given = { text, ...fields, ...(from !== "" && { context: `From ${from}` }) };
    const saved = await withCitation(server, given, from);
    if (saved.status !== "needs_decision") return await told(server, saved);
    const why = `Not saved yet: ${saved.reason ?? "nearly the same is stored"}.`;
    const chosen = await vscode.window.showWarningMessage(why, "Keep Both", "Replace It");
    if (chosen === undefined) return;
    const decision = chosen === "Replace It" ? "supersede" : "save";
    await told(server, await withCitation(server, { ...given, on_duplicate: decision }, from));
}

/** The server can cite files of the project it was started in; what lies elsewhere is named in the context alone. */
async function withCitation(server: Server, given: Record<string, unknown>, from: string): Promise<Saved> {
    if (from !== "") {
        try {
            return await server.ask<Saved>("/remember", { body: { ...given, cites: [from] } });
        } catch (problem) {
            if (!(problem instanceof Failure && problem.message.includes("cannot be cited"))) throw problem;
        }
    }
    return await server.ask<Saved>("/remember", { body: given });
}

async function told(server: Server, saved: Saved): Promise<void> {
    if (saved.status === "failed") throw new Failure("It was not saved", saved.reason);
    const { store } = await server.ask<{ store: string }>("/status");
    const hidden = saved.redacted?.length ? ` Left out: ${saved.redacted.join(", ")}.` : "";
    const isNew = saved.status !== "skipped";
    const words = isNew ? `Remembered as ${saved.ref} in ${store}.${hidden}` : `It is stored already, as ${saved.ref}.`;
    void vscode.window.showInformationMessage(words, "Open", ...(isNew ? ["Undo"] : [])).then((chosen) => guarded(async () => {
        if (chosen === "Open") await openItem(server, saved.ref);
        if (chosen === "Undo") await undoChangeOf(server, saved.ref);
    }));
}

/** Take back the newest step that changed an item. */
async function undoChangeOf(server: Server, ref: string): Promise<void> {
    const { steps } = await server.ask<{ steps: { id: string; refs: string[]; is_undone: boolean }[] }>("/undo");
    const step = steps.find((one) => !one.is_undone && one.refs.includes(ref));
    if (step === undefined) throw new Failure("There is nothing to take back", "It was changed since.");
    await server.ask("/undo", { body: { step: step.id } });
}
