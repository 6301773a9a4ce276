/** The commands, the view and the number below; each command is one call of another module. */
import * as vscode from "vscode";
import { openItem, showStoredTexts } from "./open";
import { remember } from "./remember";
import { Review, Waiting } from "./review";
import { search } from "./search";
import { Server } from "./server";
import { guarded } from "./words";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): { server: Server; review: Review } {
    const here = (server = new Server(context.secrets));
    const review = new Review(here);
    const command = (name: string, work: (...given: never[]) => Promise<unknown>): vscode.Disposable =>
        vscode.commands.registerCommand(`ricordo.${name}`, (...given: never[]) => guarded(() => work(...given)));
    context.subscriptions.push(
        review,
        showStoredTexts(here),
        vscode.window.registerTreeDataProvider("ricordo.waiting", review),
        command("search", async (given?: { query?: string }) => search(here, given?.query)),
        command("remember", () => remember(here)),
        command("rememberAs", () => remember(here, true)),
        command("open", (ref: string, lines?: [number, number]) => openItem(here, ref, lines)),
        command("review", () => Promise.all([vscode.commands.executeCommand("ricordo.waiting.focus"), review.refresh()])),
        command("refresh", () => review.refresh()),
        command("accept", (one: Waiting) => review.decide(one, "accept")),
        command("refuse", (one: Waiting) => review.decide(one, "refuse")),
        command("undo", () => review.undo()),
        command("signIn", () => here.signIn().then(() => review.refresh())),
        vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("ricordo") && void review.look()),
    );
    return { server: here, review };
}

export async function deactivate(): Promise<void> {
    await server?.dispose();
}
