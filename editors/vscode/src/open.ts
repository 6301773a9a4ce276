/** Opens a hit at its passage: the file itself, or the stored text, read-only, where there is no such file. */
import * as fs from "node:fs";
import * as vscode from "vscode";
import { Server } from "./server";
import { fileOf } from "./words";

interface Item {
    ref: string;
    title: string;
    content: string | null;
    mime_type: string;
    first_line: number;
}

const SCHEME = "ricordo";
const TEXTS = /^text\/|[/+](json|xml|yaml|toml|javascript|x-sh|sql)$/;

/** Shows stored texts. The ref of an item is the query of its address. */
export function showStoredTexts(server: Server): vscode.Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: async (uri) =>
            (await server.ask<Item>("/get", { query: { ref: uri.query, track: false } })).content ?? "",
    });
}

function addressOf(item: Item): vscode.Uri {
    const name = item.title.replace(/[\\/:*?"<>|\s]+/g, " ").trim().slice(0, 60) || "item";
    const ending = item.mime_type === "text/markdown" ? ".md" : "";
    return vscode.Uri.from({ scheme: SCHEME, path: `/${name}${ending}`, query: item.ref });
}

export async function openItem(server: Server, ref: string, lines: [number, number] = [1, 1]): Promise<void> {
    const item = await server.ask<Item>("/get", { query: { ref } });
    const stored = (item.content ?? "").split("\n");
    const wanted = Math.max(0, lines[0] - item.first_line);
    const document = (await fileText(item)) ?? (await vscode.workspace.openTextDocument(addressOf(item)));
    const first = lineOf(document, stored[wanted] ?? "", wanted);
    const last = Math.min(document.lineCount - 1, first + lines[1] - lines[0]);
    const passage = new vscode.Range(first, 0, last, document.lineAt(last).text.length);
    const editor = await vscode.window.showTextDocument(document, { selection: new vscode.Range(first, 0, first, 0) });
    editor.revealRange(passage, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The file of an item, if it is on this disk and what Ricordo read of it is what the editor shows. */
async function fileText(item: Item): Promise<vscode.TextDocument | undefined> {
    const path = fileOf(item.ref);
    if (path === undefined || !TEXTS.test(item.mime_type) || !fs.existsSync(path)) return undefined;
    return await vscode.workspace.openTextDocument(vscode.Uri.file(path));
}

/** Where a line of the stored text is now: there, or in a file that was changed since, the nearest that reads so. */
function lineOf(document: vscode.TextDocument, text: string, wanted: number): number {
    const reads = (line: number): boolean => line >= 0 && line < document.lineCount && document.lineAt(line).text === text;
    for (let far = 0; text.trim() !== "" && far < document.lineCount; far++) {
        if (reads(wanted + far)) return wanted + far;
        if (reads(wanted - far)) return wanted - far;
    }
    return Math.min(wanted, document.lineCount - 1);
}
