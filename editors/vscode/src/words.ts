/** What the API answers, as far as this extension reads it, and how that reads. */
import * as vscode from "vscode";
import { Failure, Server } from "./server";

export interface Hit {
    ref: string;
    title: string;
    snippet: string;
    fit: number | null;
    lines: [number, number];
    evidence: { lines: [number, number]; heading: string; place: string }[];
}

/** From which fit on a hit is fair, and from which it is strong. */
export type Limits = Record<"fair" | "strong", number>;

export async function limitsOf(server: Server): Promise<Limits> {
    const { settings } = await server.ask<{ settings: { name: string; value: unknown }[] }>("/config");
    const value = (name: string): number => Number(settings.find((one) => one.name === name)?.value);
    return { fair: value("search.min_fit"), strong: value("hooks.min_fit") };
}

/** How a hit fits, and where it stands: its file or ref, then the headings of its best passage. */
export function breadcrumb(hit: Hit, limits: Limits): string {
    const fit = hit.fit ?? NaN;
    const words = fit >= limits.strong ? "strong fit" : fit >= limits.fair ? "fair fit" : fit >= 0 ? "weak fit" : "";
    const [best] = hit.evidence;
    const place = [vscode.workspace.asRelativePath(fileOf(hit.ref) ?? hit.ref), best?.heading, best?.place];
    return [words, place.filter(Boolean).join(" › ")].filter(Boolean).join(" · ");
}

/** The path of an item that is a file on a disk. */
export function fileOf(ref: string): string | undefined {
    return ref.startsWith("disk:") ? ref.slice("disk:".length) : undefined;
}

/** Run what a command does, and tell the user what went wrong. */
export async function guarded(work: () => Promise<unknown>): Promise<void> {
    try {
        await work();
    } catch (problem) {
        if (!(problem instanceof Failure)) throw problem;
        const isSetting = ["not_started", "unreachable"].includes(problem.code);
        const next = problem.status === 401 ? ["Sign In"] : isSetting ? ["Settings"] : [];
        const words = [problem.message, problem.hint].filter(Boolean).map((part) => part.replace(/\.?$/, ".")).join(" ");
        const chosen = await vscode.window.showErrorMessage(words, ...next);
        if (chosen === "Sign In") await vscode.commands.executeCommand("ricordo.signIn");
        if (chosen === "Settings") await vscode.commands.executeCommand("workbench.action.openSettings", "ricordo.");
    }
}
