// Runs test/suite.cjs inside a real VS Code: the server of `code-server` from npm, with a headless Chromium as its window,
// and a real `ricordo` on a store of its own. Nothing but npm packages and the browser of the system is needed.
//
//   RICORDO=path/to/ricordo CHROME=path/to/chromium VSCODE_HOST=folder/for/the/host npm test
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HOST = "code-server@4.100.3"; // VS Code 1.100, for Node 20; only its VS Code is used, so that nothing is compiled
const PATIENCE = 300_000;
const here = dirname(fileURLToPath(import.meta.url));
const onPath = (...names) => names.flatMap((name) => (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)))
    .find(existsSync);
const missing = (what) => { console.error(`not run: ${what}`); process.exit(77); };

/** The folder of VS Code's server, installed once. */
function host() {
    const place = process.env.VSCODE_HOST ?? join(homedir(), ".cache", "ricordo-tests", "vscode", HOST);
    const server = join(place, "node_modules", "code-server", "lib", "vscode");
    const npm = (...words) => execFileSync("npm", [...words, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], { stdio: "inherit" });
    if (!existsSync(join(place, "installed"))) {
        mkdirSync(place, { recursive: true });
        try {
            npm("install", "--prefix", place, HOST);
            npm("install", "--prefix", server, "--omit=dev");
        } catch {
            missing(`npm cannot install ${HOST}`);
        }
        writeFileSync(join(place, "installed"), "");
    }
    return join(server, "out", "server-main.js");
}

const freePort = () => new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address();
        server.close(() => resolve(port));
    });
});

async function until(condition, what) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await new Promise((go) => setTimeout(go, 200))) {
        if (await condition()) return;
    }
    throw new Error(`${what} within ${PATIENCE / 1000} s`);
}

const ricordo = process.env.RICORDO ?? onPath("ricordo") ?? missing("there is no ricordo on the PATH");
const chrome = process.env.CHROME ?? onPath("chromium", "chromium-browser", "google-chrome") ?? missing("there is no Chromium");
const main = host();
const home = mkdtempSync(join(tmpdir(), "ricordo-vscode-"));
const [extension, folder, data, results] = ["extension", "project", "host", "results.json"].map((name) => join(home, name));
cpSync(join(here, ".."), extension, { recursive: true, filter: (path) => !path.includes("node_modules") });
for (const place of [folder, join(data, "data", "Machine")]) mkdirSync(place, { recursive: true });
const settings = { "ricordo.command": ricordo };
writeFileSync(join(data, "data", "Machine", "settings.json"), JSON.stringify(settings));
const env = { PATH: process.env.PATH, HOME: home, RICORDO: ricordo, RICORDO_TEST_RESULTS: results, RICORDO_TEST_FOLDER: folder };
const running = [];
const start = (command, ...words) => {
    const child = spawn(command, words, { env, detached: true, stdio: process.env.VERBOSE ? "inherit" : "ignore" });
    running.push(child);
};
let failed = 1;
try {
    const port = await freePort();
    start(process.execPath, main, "--host", "127.0.0.1", "--port", `${port}`, "--without-connection-token",
        "--accept-server-license-terms", "--telemetry-level", "off", "--server-data-dir", data);
    await until(() => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false), "VS Code's server did not start");
    const remote = `vscode-remote://127.0.0.1:${port}${extension}`;
    const payload = [["extensionDevelopmentPath", remote], ["extensionTestsPath", `${remote}/test/suite.cjs`]];
    start(chrome, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900",
        "--remote-debugging-port=0", `--user-data-dir=${join(home, "chrome")}`,
        `http://127.0.0.1:${port}/?folder=${folder}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
    await until(() => existsSync(results), "the tests did not end").catch((problem) => {
        console.error(existsSync(`${results}.part`) ? readFileSync(`${results}.part`, "utf8") : "no test has ended");
        throw problem;
    });
    const outcomes = JSON.parse(readFileSync(results, "utf8"));
    for (const { name, problem } of outcomes) console.log(problem ? `FAILED ${name}\n${problem}` : `passed ${name}`);
    failed = outcomes.filter(({ problem }) => problem).length;
    console.log(`${outcomes.length - failed} passed, ${failed} failed`);
} finally {
    for (const child of running) try { process.kill(-child.pid); } catch { /* it has ended */ }
    await new Promise((go) => setTimeout(go, 500));
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failed ? 1 : 0);
