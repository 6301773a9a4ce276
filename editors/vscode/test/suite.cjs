// What the extension does inside VS Code, with a real server and a real store. Run by run.mjs; the tests run in this order.
const assert = require("node:assert/strict");
const { execFile, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { promisify } = require("node:util");
const vscode = require("vscode");

const { RICORDO, RICORDO_TEST_RESULTS: RESULTS, RICORDO_TEST_FOLDER: FOLDER } = process.env;
const ran = async (...words) => (await promisify(execFile)(RICORDO, words, { cwd: FOLDER })).stdout;
const run = (name, ...given) => vscode.commands.executeCommand(`ricordo.${name}`, ...given);
const filler = (about) => Array.from({ length: 40 }, (_, at) => `Sentence ${at} of ${about} says nothing that anybody looks for.`).join("\n");
const KEYS = path.join(FOLDER, "keys.md");
const TEXT = `# Handbook\n\n${filler("the start")}\n\n## Signing\n\nThe signing keys rotate every quarter.\n\n## End\n\n${filler("the end")}\n`;
const LINE = TEXT.split("\n").indexOf("The signing keys rotate every quarter.");
const SAID = ["Always run make lint before you commit.", "We use pnpm, not npm."];

let api;
const settings = (name, value) => vscode.workspace.getConfiguration("ricordo").update(name, value, vscode.ConfigurationTarget.Global);

async function until(condition, what) {
    for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((go) => setTimeout(go, 250))) {
        const found = await condition();
        if (found) return found;
    }
    throw new Error(`not within a minute: ${what}`);
}

async function failing(work) {
    const problem = await work().then(() => undefined, (thrown) => thrown);
    assert.ok(problem, "it should have failed");
    return `${problem.message} | ${problem.hint}`;
}

/** What the extension shows while `work` runs, with the button that the user presses. */
async function shown(kind, button, work) {
    const before = vscode.window[kind];
    const said = [];
    vscode.window[kind] = (message, ...buttons) => {
        said.push(message);
        return Promise.resolve(buttons.includes(button) ? button : undefined);
    };
    try {
        await work();
        await until(() => said.length > 0, `a message of ${kind}`);
    } finally {
        vscode.window[kind] = before;
    }
    return said[0];
}

/** Search as a user does: the box with the query in it, then Enter until something opens. */
async function picked(query) {
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await run("search", { query });
    return await until(async () => {
        await vscode.commands.executeCommand("workbench.action.acceptSelectedQuickOpenItem");
        return vscode.window.activeTextEditor;
    }, `a hit of '${query}' is open`);
}

function transcript() {
    const lines = [];
    const say = (role, content) => lines.push({
        type: role, uuid: `turn-${lines.length}`, parentUuid: lines.length ? `turn-${lines.length - 1}` : null, sessionId: "s1", cwd: FOLDER,
        timestamp: new Date(Date.UTC(2026, 0, 5, 9, lines.length)).toISOString(), version: "2.0.0", userType: "external",
        message: { role, content: role === "user" ? content : [{ type: "text", text: content }] },
    });
    for (const text of ["Fix the login.", ...SAID]) { say("user", text); say("assistant", "Done."); }
    return lines.map((line) => JSON.stringify(line)).join("\n");
}

const tests = {
    async "without a server, the number says so and nothing is started"() {
        await until(() => api.review.bar.tooltip, "the bar was filled");
        assert.match(api.review.bar.tooltip, /No Ricordo server runs/);
        assert.match(await failing(() => api.server.ask("/status", { quiet: true })), /No Ricordo server runs \| .*ricordo serve start/);
    },
    async "a program that is not there is named, with what to install"() {
        await settings("command", "/nowhere/ricordo");
        assert.match(await failing(() => api.server.ask("/status")), /'\/nowhere\/ricordo' cannot be started \| Install Ricordo/);
        await settings("command", undefined);
        await settings("command", RICORDO);
    },
    async "a search starts a server, and Enter opens the file at the passage"() {
        const editor = await picked("how often do the signing keys rotate");
        assert.equal(editor.document.uri.fsPath, KEYS);
        const text = editor.document.lineAt(editor.selection.active.line).text;
        assert.ok(Math.abs(editor.selection.active.line - LINE) < 12, `line ${editor.selection.active.line} is '${text}', not near ${LINE}`);
        assert.ok(editor.visibleRanges.some((range) => range.start.line <= LINE && range.end.line >= LINE), "the passage is not in view");
        assert.equal((await api.server.ask("/status")).store, path.join(FOLDER, ".ricordo", "ricordo.db"));
    },
    async "in a file that was changed since, the passage is found where it is now"() {
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
        const { hits } = await api.server.ask("/search", { query: { q: "signing keys rotate", limit: 1 } });
        const first = TEXT.split("\n")[hits[0].evidence[0].lines[0] - 1];
        const editor = await vscode.workspace.openTextDocument(KEYS).then((document) => vscode.window.showTextDocument(document));
        await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "new\nlines\non top\n"));
        await run("open", hits[0].ref, hits[0].evidence[0].lines);
        const there = vscode.window.activeTextEditor;
        assert.equal(there.document.lineAt(there.selection.active.line).text, first);
        assert.equal(there.selection.active.line, hits[0].evidence[0].lines[0] + 2);
        await vscode.commands.executeCommand("workbench.action.files.revert");
    },
    async "the selection is remembered as the user's words, with the file and the lines it comes from"() {
        const editor = await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(KEYS));
        editor.selection = new vscode.Selection(LINE, 0, LINE, editor.document.lineAt(LINE).text.length);
        const said = await shown("showInformationMessage", "", () => run("remember"));
        const ref = /memory:\S+/.exec(said)[0];
        const item = await api.server.ask("/get", { query: { ref } });
        assert.equal(item.content, "The signing keys rotate every quarter.");
        assert.equal(item.context, `From keys.md:${LINE + 1}`);
        assert.deepEqual(item.cites.map((one) => one.what), ["keys.md"]);
        assert.equal(item.provenance.author, "person");
        assert.match(await shown("showInformationMessage", "", () => run("remember")), /stored already/);
    },
    async "a memory opens as a read-only text"() {
        const editor = await picked("kind:memory signing keys");
        assert.equal(editor.document.uri.scheme, "ricordo");
        assert.match(editor.document.getText(), /rotate every quarter/);
        const edited = new vscode.WorkspaceEdit();
        edited.insert(editor.document.uri, new vscode.Position(0, 0), "mine");
        await vscode.workspace.applyEdit(edited).then(() => editor.document.save(), () => false);
        assert.doesNotMatch((await api.server.ask("/get", { query: { ref: editor.document.uri.query } })).content, /mine/);
        await vscode.commands.executeCommand("workbench.action.files.revert");
    },
    async "what is remembered can be taken back from the message"() {
        const document = await vscode.workspace.openTextDocument({ content: "Backups of the moon base run at noon." });
        const editor = await vscode.window.showTextDocument(document);
        editor.selection = new vscode.Selection(0, 0, 0, 0); // nothing selected: the line
        const said = await shown("showInformationMessage", "Undo", () => run("remember"));
        const ref = /memory:\S+/.exec(said)[0];
        await until(() => api.server.ask("/get", { query: { ref } }).then((item) => item.state === "deleted", (problem) => problem.status === 404), "it is gone");
    },
    async "what contradicts a memory is asked about before it is saved"() {
        const document = await vscode.workspace.openTextDocument({ content: "The signing keys do not rotate every quarter." });
        await vscode.window.showTextDocument(document);
        assert.match(await shown("showWarningMessage", undefined, () => run("remember")), /Not saved yet: .*contradicts/);
        let said;
        await shown("showWarningMessage", "Replace It", async () => {
            said = await shown("showInformationMessage", "", () => run("remember"));
        });
        assert.match(said, /Remembered as/);
    },
    async "proposals wait with their quotation, are accepted, rejected, and both are taken back"() {
        await api.review.refresh();
        assert.deepEqual(api.review.waiting.map((one) => one.text), SAID);
        assert.equal(api.review.bar.text, "$(book) 2");
        const [lint, pnpm] = api.review.getChildren();
        assert.match(api.review.getChildren(lint)[0], /“.*make lint/);
        assert.match(await shown("showInformationMessage", "", () => run("accept", lint)), /is kept as memory:/);
        assert.equal((await api.server.ask("/search", { query: { q: "kind:memory make lint", limit: 1 } })).hits[0].title, SAID[0]);
        await shown("showInformationMessage", "", () => run("refuse", pnpm));
        assert.equal(api.review.bar.text, "$(book) 0");
        await run("undo");
        assert.deepEqual(api.review.waiting.map((one) => one.text), [SAID[1]]);
        await run("undo");
        assert.deepEqual(api.review.waiting.map((one) => one.text), SAID);
        assert.match(await shown("showErrorMessage", "", () => run("undo")), /No decision is left/);
    },
    async "the view opens"() {
        await run("review");
        assert.equal(api.review.getTreeItem(api.review.waiting[0]).label, SAID[0]);
    },
    async "a file that is gone opens as the text that is stored of it"() {
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
        const gone = path.join(FOLDER, "gone.md");
        fs.writeFileSync(gone, "# Gone\n\nThe lighthouse is painted red.\n");
        await ran("add", "gone.md");
        fs.rmSync(gone);
        await run("open", `disk:${gone}`, [3, 3]);
        const editor = vscode.window.activeTextEditor;
        assert.equal(editor.document.uri.scheme, "ricordo");
        assert.equal(editor.document.lineAt(editor.selection.active.line).text, "The lighthouse is painted red.");
    },
    async "what is not there is said in plain words"() {
        assert.match(await shown("showErrorMessage", "", () => run("open", "note:/nowhere")), /^There is no item note:\/nowhere\. .*\.$/);
    },
    async "a server that is named wants a token, which is asked for and kept as a secret"() {
        const child = spawn(RICORDO, ["serve", "--port", "0"], { cwd: FOLDER });
        let said = "";
        child.stdout.on("data", (data) => said += data);
        try {
            const [url] = await until(() => /http:\/\/[\d.:]+/.exec(said), "a server runs");
            await settings("url", url);
            assert.match(await failing(() => api.server.ask("/status", { quiet: true })), /wants a token \| .*Sign In/);
            const asked = vscode.window.showInputBox;
            vscode.window.showInputBox = async () => "wrong";
            assert.match(await failing(() => api.server.ask("/status")), /[Tt]oken/);
            const token = (await ran("serve", "tokens", "add", "vscode", "--scope", "admin")).match(/ricordo_\S+/)[0];
            vscode.window.showInputBox = async () => token;
            await run("signIn");
            vscode.window.showInputBox = asked;
            assert.equal((await api.server.ask("/status", { quiet: true })).store, path.join(FOLDER, ".ricordo", "ricordo.db"));
            await settings("url", "http://127.0.0.1:9");
            assert.match(await failing(() => api.server.ask("/status")), /No Ricordo server answers at http:\/\/127.0.0.1:9 \| .*ricordo.url/);
        } finally {
            child.kill();
            await settings("url", undefined);
        }
    },
    async "the server of the window ends with it, and one that runs is found and signed in to"() {
        const before = (await api.server.ask("/status")).store;
        await api.server.dispose();
        await until(() => ran("serve", "start").then(() => true, () => false), "the server of the window has ended, and another starts");
        try {
            await run("refresh");
            assert.equal(api.review.bar.text, "$(book) 2");
            assert.equal((await api.server.ask("/status", { quiet: true })).store, before);
        } finally {
            await ran("serve", "stop");
        }
        assert.match(await failing(() => api.server.ask("/status", { quiet: true })), /No Ricordo server runs/);
    },
    async "a server of another folder's store is not taken for this folder's"() {
        const other = path.join(FOLDER, "..", "other");
        fs.mkdirSync(other);
        await promisify(execFile)(RICORDO, ["init"], { cwd: other });
        await promisify(execFile)(RICORDO, ["serve", "start"], { cwd: other });
        try {
            assert.match(await failing(() => api.server.ask("/status", { quiet: true })), /No Ricordo server runs/);
            assert.equal((await api.server.ask("/status")).store, path.join(FOLDER, ".ricordo", "ricordo.db"));
        } finally {
            await api.server.dispose();
            await promisify(execFile)(RICORDO, ["serve", "stop"], { cwd: other });
        }
    },
};

exports.run = async () => {
    const outcomes = [];
    try {
        api = await vscode.extensions.getExtension("ricordo.ricordo").activate();
        fs.writeFileSync(KEYS, TEXT);
        fs.writeFileSync(path.join(FOLDER, "..", "session.jsonl"), transcript());
        await ran("init");
        await ran("add", "keys.md");
        await ran("sessions", "add", path.join(FOLDER, "..", "session.jsonl"));
        for (const [name, test] of Object.entries(tests)) {
            const problem = await test().then(() => "", (thrown) => thrown.stack ?? String(thrown));
            outcomes.push({ name, problem });
            fs.writeFileSync(`${RESULTS}.part`, JSON.stringify(outcomes));
        }
    } catch (problem) {
        outcomes.push({ name: "the preparations", problem: problem.stack });
    }
    fs.writeFileSync(`${RESULTS}.part`, JSON.stringify(outcomes));
    fs.renameSync(`${RESULTS}.part`, RESULTS);
};
