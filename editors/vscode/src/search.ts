/** The box that answers while one types. */
import * as vscode from "vscode";
import { openItem } from "./open";
import { Server } from "./server";
import { breadcrumb, guarded, Hit, Limits, limitsOf } from "./words";

const PAUSE = 150;
const MOST = 20;

type Row = vscode.QuickPickItem & { hit?: Hit };

async function rowsFor(server: Server, query: string, limits: Limits, signal: AbortSignal): Promise<Row[]> {
    type Answer = { hits: Hit[]; meta: { notes: string[] } };
    const asked = { q: query, limit: MOST, track: false }; // each letter asks anew; what is opened counts
    const answer = await server.ask<Answer>("/search", { query: asked, signal });
    const said = answer.hits.length > 0 ? answer.meta.notes : ["nothing stored answers this", ...answer.meta.notes];
    const notes = said.map((note): Row => ({ label: `$(info) ${note}`, alwaysShow: true }));
    const hits = answer.hits.map((hit): Row => ({
        label: hit.title || hit.ref,
        description: breadcrumb(hit, limits),
        detail: hit.snippet,
        alwaysShow: true, // the box would hide what does not contain the letters of the query
        hit,
    }));
    return [...hits, ...notes];
}

export function search(server: Server, query = ""): void {
    const box = vscode.window.createQuickPick<Row>();
    box.placeholder = "What to look for; an empty box lists the newest";
    let timer: NodeJS.Timeout | undefined;
    let running: AbortController | undefined;
    let limits: Limits | undefined;
    const answer = async (): Promise<void> => {
        running?.abort();
        const mine = (running = new AbortController());
        box.busy = true;
        try {
            limits ??= await limitsOf(server);
            const rows = await rowsFor(server, box.value, limits, mine.signal);
            if (!mine.signal.aborted) box.items = rows;
        } catch (problem) {
            if (mine.signal.aborted) return;
            box.hide();
            await guarded(async () => { throw problem; });
        } finally {
            if (running === mine) box.busy = false;
        }
    };
    box.onDidChangeValue(() => {
        clearTimeout(timer);
        timer = setTimeout(() => void answer(), PAUSE);
    });
    box.onDidAccept(() => {
        const hit = box.selectedItems[0]?.hit;
        if (hit === undefined) return;
        box.hide();
        void guarded(() => openItem(server, hit.ref, hit.evidence[0]?.lines ?? hit.lines));
    });
    box.onDidHide(() => {
        clearTimeout(timer);
        running?.abort();
        box.dispose();
    });
    box.value = query;
    box.show();
    void answer();
}
