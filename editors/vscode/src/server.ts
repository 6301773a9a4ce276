/** Finds or starts a Ricordo server, signs in to it, and asks it. It knows nothing of what is shown. */
import { ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";

const PATIENCE = 20_000;
const START_PATIENCE = 60_000;

/** What went wrong and what to do next, in words for the user. */
export class Failure extends Error {
    constructor(message: string, readonly hint = "", readonly code = "", readonly status = 0) {
        super(message);
    }
}

export interface Ask {
    query?: Record<string, string | number | boolean>;
    body?: Record<string, unknown>;
    /** Fail where no server answers or it wants a token; otherwise one is started, and the user is asked. */
    quiet?: boolean;
    signal?: AbortSignal;
}

interface Connection {
    url: string;
    isNamed?: boolean; // in the settings
    token?: string; // in the file of a running server: with it this editor signs itself in
    session?: string; // at a server that this window started; it is not kept
}

export class Server implements vscode.Disposable {
    private connection?: Connection;
    private connecting?: Promise<Connection>;
    private child?: ChildProcess;

    constructor(private readonly secrets: vscode.SecretStorage) {}

    /** The JSON of `/api/v1` + where. A body makes it a POST. */
    async ask<Answer>(where: string, how: Ask = {}): Promise<Answer> {
        for (let attempt = 0; ; attempt++) {
            const connection = await this.connect(how.quiet);
            const response = await this.send(connection, where, how).catch((problem: unknown) => {
                if (how.signal?.aborted) throw problem;
                if (problem instanceof Error && problem.name === "TimeoutError") {
                    throw new Failure(`${connection.url} takes more than ${PATIENCE / 1000} seconds`, "Try again in a moment.");
                }
                this.forget();
                if (attempt === 0 && !connection.isNamed) return undefined; // it has ended; another may run by now
                throw new Failure(`No Ricordo server answers at ${connection.url}`,
                    "Start it there, or clear the setting ricordo.url to use the one of this machine.", "unreachable");
            });
            if (response?.status === 401 && attempt === 0) await this.signIn(connection, how.quiet);
            else if (response !== undefined) return await answerOf<Answer>(response);
        }
    }

    /** Sign in: alone where the file of the server has a token, otherwise with what the user is asked for. */
    async signIn(connection?: Connection, quiet = false): Promise<void> {
        const { url, token } = connection ?? (await this.connect());
        if (connection !== undefined && token !== undefined) {
            return await this.secrets.store(url, await newSession(url, token));
        }
        const prompt = "A token ('ricordo serve tokens add vscode --scope admin'), or the link of 'ricordo serve link'";
        const box = { title: `Sign in to ${url}`, prompt, password: true, ignoreFocusOut: true };
        const given = quiet ? "" : ((await vscode.window.showInputBox(box)) ?? "").trim();
        if (given === "") throw new Failure(`${url} wants a token`, "Run the command 'Ricordo: Sign In'.", "no_token", 401);
        await this.secrets.store(url, /^https?:/.test(given) ? await redeem(url, given) : `Bearer ${given}`);
    }

    async dispose(): Promise<void> {
        const { url, session } = this.connection ?? {};
        if (url !== undefined && session !== undefined) {
            await fetch(`${url}/sign-out`, { method: "POST", headers: credential(url, session) }).catch(() => undefined);
        }
        this.forget();
    }

    /** Look for a server anew; one that this window started ends. */
    private forget(): void {
        this.connection = undefined;
        this.child?.kill();
        this.child = undefined;
    }

    private async send(connection: Connection, where: string, how: Ask): Promise<Response> {
        const kept = connection.session ?? (await this.secrets.get(connection.url));
        const address = new URL(`${connection.url}/api/v1${where}`);
        for (const [name, value] of Object.entries(how.query ?? {})) address.searchParams.set(name, String(value));
        return await fetch(address, {
            method: how.body === undefined ? "GET" : "POST",
            headers: { ...credential(connection.url, kept), ...(how.body && { "Content-Type": "application/json" }) },
            body: how.body && JSON.stringify(how.body),
            signal: AbortSignal.any([AbortSignal.timeout(PATIENCE), ...(how.signal ? [how.signal] : [])]),
        });
    }

    private async connect(quiet = false): Promise<Connection> {
        const wanted = vscode.workspace.getConfiguration("ricordo").get<string>("url", "").trim().replace(/\/+$/, "");
        if (wanted !== "") return { url: wanted, isNamed: true };
        if (this.connection !== undefined) return this.connection;
        if ((this.connection = await running()) !== undefined) return this.connection;
        if (quiet) throw new Failure("No Ricordo server runs", "Search once, or run 'ricordo serve start'.", "not_running");
        this.connecting ??= this.start().finally(() => this.connecting = undefined);
        return this.connection = await this.connecting;
    }

    /** Start a server that ends with this window. It prints a link that signs in once. */
    private async start(): Promise<Connection> {
        const command = vscode.workspace.getConfiguration("ricordo").get<string>("command", "ricordo");
        const child = spawn(command, ["serve", "--port", "0"], { cwd: folder(), stdio: ["ignore", "pipe", "pipe"] });
        const timer = setTimeout(() => child.kill(), START_PATIENCE);
        let said = "";
        const fail = (message: string, hint: string): never => { throw new Failure(message, hint, "not_started"); };
        const link = new Promise<string>((resolve, reject) => {
            const hear = (data: Buffer): void => {
                said += data.toString();
                const found = /https?:\/\/\S+\/sign-in\?code=\S+/.exec(said);
                if (found !== null) resolve(found[0]);
            };
            for (const output of [child.stdout, child.stderr]) output.on("data", hear);
            child.on("error", reject).on("exit", () => {
                if (this.child === child) this.forget();
                reject();
            });
        });
        const found = await link.catch((problem?: Error) => problem === undefined
            ? fail(`'${command} serve' did not start`, said.trim().split("\n").at(-1) ?? "")
            : fail(`No Ricordo server runs, and '${command}' cannot be started`,
                "Install Ricordo (pip install 'ricordo[server]'), or set ricordo.command.")).finally(() => clearTimeout(timer));
        this.child = child;
        return { url: new URL(found).origin, session: await redeem(new URL(found).origin, found) };
    }
}

/** The folder that a server is started in: its store is the one that commands use there. */
function folder(): string {
    return vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === "file")?.uri.fsPath ?? os.homedir();
}

/** Whether a store is the one of the open folder. A folder without a store of its own takes the one that is served. */
function isOfFolder(store: string): boolean {
    for (let place = folder(); ; place = path.dirname(place)) {
        const own = path.join(place, ".ricordo", "ricordo.db");
        if (fs.existsSync(own)) return fs.realpathSync(own) === (fs.existsSync(store) ? fs.realpathSync(store) : store);
        if (place === path.dirname(place)) return true;
    }
}

/** The server that the private file of this user names, if it answers and its store is the one of the open folder. */
async function running(): Promise<Connection | undefined> {
    try {
        const file = path.join(stateFolder(), "server.json");
        const { uid, mode } = fs.statSync(file);
        if (process.platform !== "win32" && (uid !== process.getuid?.() || (mode & 0o077) !== 0)) return undefined;
        const { host, port, token, store } = JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, string>;
        const url = `http://${host?.includes(":") ? `[${host}]` : host}:${port}`;
        const isUp = isOfFolder(store ?? "") && (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) })).ok;
        return isUp && token !== undefined ? { url, token } : undefined;
    } catch {
        return undefined; // no server ever ran, the file is not whole yet, or the server has ended
    }
}

/** The folder in which Ricordo says what runs. */
function stateFolder(): string {
    const { RICORDO_STATE_HOME: own = "", XDG_STATE_HOME: base = "", LOCALAPPDATA: local = "" } = process.env;
    if (own !== "") return own.replace(/^~(?=$|\/)/, os.homedir());
    if (process.platform === "win32") return path.join(local || path.join(os.homedir(), "AppData", "Local"), "ricordo");
    if (process.platform === "darwin") return path.join(os.homedir(), "Library", "Application Support", "ricordo");
    return path.join(base.trim() || path.join(os.homedir(), ".local", "state"), "ricordo");
}

/** A session of the user: what the editor writes are the user's words then, where a token's would be an agent's. */
async function newSession(url: string, token: string): Promise<string> {
    const asked = { method: "POST", headers: credential(url, `Bearer ${token}`) };
    const { link } = await answerOf<{ link: string }>(await fetch(`${url}/api/v1/sign-in-links`, asked));
    return link === "" ? `Bearer ${token}` : await redeem(url, link);
}

/** The session that a sign-in link gives; the link is asked of this server only, wherever it points. */
async function redeem(url: string, link: string): Promise<string> {
    const code = new URL(link).searchParams.get("code") ?? "";
    const response = await fetch(`${url}/sign-in?code=${encodeURIComponent(code)}`, { redirect: "manual" });
    const cookie = response.headers.getSetCookie()[0]?.split(";")[0];
    if (cookie !== undefined) return cookie;
    throw new Failure("This sign-in link does not hold any more", "'ricordo serve link' prints a new one.", "wrong_token", 401);
}

function credential(url: string, kept: string | undefined): Record<string, string> {
    if (kept === undefined || kept === "") return {};
    return kept.startsWith("Bearer ") ? { Authorization: kept } : { Cookie: kept, Origin: url };
}

async function answerOf<Answer>(response: Response): Promise<Answer> {
    type Answered = Answer & { error?: { code: string; message: string; hint: string } };
    const answer = (await response.json().catch(() => undefined)) as Answered | undefined;
    if (answer === undefined) {
        throw new Failure(`${new URL(response.url).origin} is not a Ricordo server`, "Correct ricordo.url.", "unreachable");
    }
    if (response.ok) return answer;
    const { code, message, hint } = answer.error ?? { code: "", message: response.statusText, hint: "" };
    throw new Failure(message.charAt(0).toUpperCase() + message.slice(1), hint, code, response.status);
}
