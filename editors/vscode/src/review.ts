/** What waits for the user's decision: a tree of proposals and of versions that others wrote, and its number below. */
import * as vscode from "vscode";
import { Failure, Server } from "./server";
import { guarded } from "./words";

/** A proposal (with a quote), or a version that somebody else wrote (with a diff). */
export interface Waiting {
    ref: string;
    text?: string;
    kind?: string;
    scope?: string;
    quote?: string;
    corrects?: string;
    title?: string;
    provenance?: { author: string; name?: string };
    diff?: string;
}

type Node = Waiting | string;
const EVERY = 120_000;

export class Review implements vscode.TreeDataProvider<Node>, vscode.Disposable {
    private readonly changed = new vscode.EventEmitter<void>();
    readonly onDidChangeTreeData = this.changed.event;
    readonly bar = vscode.window.createStatusBarItem("ricordo.waiting", vscode.StatusBarAlignment.Right, 90);
    waiting: Waiting[] = [];
    private readonly undoable: (() => Promise<unknown>)[] = [];
    private readonly timer: NodeJS.Timeout;

    constructor(private readonly server: Server) {
        this.bar.name = "Ricordo";
        this.bar.command = "ricordo.review";
        this.timer = setInterval(() => void this.look(), EVERY);
        void this.look();
    }

    /** Look without starting a server or asking for a token. */
    async look(): Promise<void> {
        await this.refresh(true).catch((problem: unknown) => {
            this.waiting = [];
            this.show("Ricordo", problem instanceof Failure ? problem.message : String(problem));
        });
    }

    async refresh(quiet = false): Promise<void> {
        const report = await this.server.ask<{ proposals: Waiting[]; waiting: Waiting[] }>("/review", { quiet });
        this.waiting = [...report.proposals, ...report.waiting];
        const count = this.waiting.length;
        this.show(`${count}`, count === 1 ? "One thing waits for your decision" : `${count} things wait for your decision`);
    }

    async decide(one: Waiting, decision: "accept" | "refuse"): Promise<void> {
        const before = await this.newestStep();
        const { decided = "" } = await this.server.ask<{ decided?: string }>("/review", { body: { ref: one.ref, decision } });
        const step = await this.newestStep();
        if (step !== undefined && step !== before) this.undoable.push(() => this.server.ask("/undo", { body: { step } }));
        else this.undoable.push(() => this.server.ask("/review", { body: { ref: one.ref, decision: "ask" } }));
        await this.refresh();
        void vscode.window.showInformationMessage(decided, "Undo")
            .then((chosen) => guarded(async () => chosen && (await this.undo())));
    }

    /** Take back the last decision of this window. */
    async undo(): Promise<void> {
        const undo = this.undoable.pop();
        if (undo === undefined) throw new Failure("No decision is left to take back", "'ricordo undo --list' has earlier ones.");
        await undo();
        await this.refresh();
    }

    getChildren(node?: Node): Node[] {
        if (node === undefined) return this.waiting;
        if (typeof node === "string") return [];
        if (node.diff !== undefined) return node.diff.split("\n").filter((line) => /^[-+](?![-+]{2} )/.test(line));
        return [`“${node.quote ?? ""}”`, ...(node.corrects ? [`takes the place of ${node.corrects}`] : [])];
    }

    getTreeItem(node: Node): vscode.TreeItem {
        if (typeof node === "string") return new vscode.TreeItem(node);
        const row = new vscode.TreeItem(node.text ?? node.title ?? node.ref, vscode.TreeItemCollapsibleState.Expanded);
        row.id = node.ref;
        row.contextValue = "waiting";
        row.tooltip = [row.label, ...this.getChildren(node)].join("\n");
        const { provenance: by } = node;
        row.description = by ? `by ${by.name ?? by.author}` : `${node.kind}, ${node.scope}`;
        if (node.title !== undefined) row.command = { command: "ricordo.open", title: "Open", arguments: [node.ref] };
        return row;
    }

    dispose(): void {
        clearInterval(this.timer);
        this.bar.dispose();
    }

    private async newestStep(): Promise<string | undefined> {
        return (await this.server.ask<{ steps: { id: string }[] }>("/undo")).steps[0]?.id;
    }

    private show(text: string, tooltip: string): void {
        this.bar.text = `$(book) ${text}`;
        this.bar.tooltip = tooltip;
        this.bar.show();
        this.changed.fire();
    }
}
