"""Whether an agent's program sends its model our tools in its very first request, however busy the machine is.

``python bench/first_request.py --programs DIR`` starts Claude Code and Codex, as npm installs them into ``DIR``
(``npm install --prefix DIR @anthropic-ai/claude-code @openai/codex``), again and again with a prompt and a model of its
own, which keeps what it is sent and refuses. The home folder was set up by ``ricordo install``, and a server ran in the
project once before. The first request that has tools at all is looked at: does it name ours? ``--busy N`` keeps N
processes computing beside it, and ``--unknown`` forgets before each start what the server knows of first requests.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from timing import aligned, keep_byte_code, percentile, print_json

PROMPT = "When do we rotate the signing keys?"
OURS = "mcp__ricordo"
"""How both programs begin the names of our tools."""
AGENTS = {"claude-code": "claude", "codex": "codex"}
LONGEST_START = 240
HELLO = {"capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class RefusingModel:
    """A model's address: it keeps each request and when it came, and answers that the request is wrong."""

    def __init__(self) -> None:
        requests = self.requests = list[tuple[float, str]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                requests.append((time.monotonic(), self.rfile.read(length).decode("utf-8", "replace")))
                answer = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}'
                self.send_response(400)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST  # noqa: N815 - the name that http.server looks for

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def home_for(agent: str, folder: Path) -> dict[str, str]:
    """Set up a home folder as a user would; the variables of whoever lives there."""
    project = folder / "project"
    project.mkdir(parents=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RICORDO_", "XDG_", "CLAUDE"))}
    env = {**kept, "HOME": str(folder), "RICORDO_EMBEDDING_PROVIDER": "none"}
    ricordo = [sys.executable, "-m", "ricordo"]
    for words in (["init"], ["remember", "The signing keys rotate every quarter."], ["install", agent]):
        subprocess.run([*ricordo, *words], cwd=project, env=env, check=True, capture_output=True)
    command = [str(Path(sys.executable).with_name("ricordo")), "mcp"]
    subprocess.run([*command, "--prepare"], cwd=project, env=env, check=True)
    asked = [
        {"id": 0, "method": "initialize", "params": {**HELLO, "protocolVersion": "2025-11-25"}},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "resources/list"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)
    subprocess.run(command, cwd=project, env=env, check=True, input=lines.encode(), capture_output=True)
    return env


def command(agent: str, program: Path, url: str) -> list[str]:
    if agent == "claude-code":
        return [str(program), "-p", PROMPT]
    provider = {"name": "x", "base_url": f"{url}/v1", "wire_api": "responses"}
    settings = [f"model_providers.x.{name}={value}" for name, value in provider.items()]
    chosen = [word for one in [*settings, "model_provider=x", "model=x"] for word in ("-c", one)]
    return [str(program), "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", *chosen, PROMPT]


def start(agent: str, program: Path, folder: Path, env: dict[str, str], model: RefusingModel) -> tuple[bool, float]:
    """Whether the first request with tools has ours, and how long after the start it came."""
    model.requests.clear()
    keys = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-none", "OPENAI_API_KEY": "none"}
    began = time.monotonic()
    process = subprocess.Popen(
        command(agent, program, model.url),
        cwd=folder / "project",
        env={**env, **keys},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while True:
            is_over = process.poll() is not None or time.monotonic() > began + LONGEST_START
            for came, request in list(model.requests):
                if PROMPT in request and has_tools(request):
                    return OURS in json.dumps(json.loads(request)["tools"]), came - began
            if is_over:
                raise SystemExit(f"{agent} sent no request with tools")
            time.sleep(0.2)
    finally:  # what it does after its first request is of no interest, and takes long on a busy machine
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def has_tools(request: str) -> bool:
    try:
        return bool(json.loads(request).get("tools"))
    except ValueError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True, metavar="DIR", help="where npm installed the programs")
    parser.add_argument("--agent", choices=sorted(AGENTS), action="append", help="only this one (repeatable)")
    parser.add_argument("--starts", type=int, default=20, help="how often each program is started (20)")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="keep N processes computing meanwhile")
    parser.add_argument("--unknown", action="store_true", help="forget before each start what first requests are told")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    keep_byte_code()
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    found: dict[str, dict[str, float]] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="ricordo-bench-", ignore_cleanup_errors=True) as name:
            for agent in options.agent or AGENTS:
                found[agent] = measured(agent, Path(name) / agent, options)
    finally:
        for process in beside:
            process.kill()
    if options.json:
        print_json(found)
        return
    rows = [
        [agent, f"{one['with_tools']:.0f} of {one['starts']:.0f}", f"{one['seconds']:.1f}", f"{one['load']:.0f}"]
        for agent, one in found.items()
    ]
    print(aligned(("", "first requests with our tools", "median s to it", "load"), rows))


def measured(agent: str, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    program = options.programs / "node_modules" / ".bin" / AGENTS[agent]
    env = home_for(agent, folder)
    model = RefusingModel()
    starts = []
    for _ in range(options.starts):
        if options.unknown:
            shutil.rmtree(folder / ".local" / "state" / "ricordo" / "mcp", ignore_errors=True)
        starts.append(start(agent, program, folder, env, model))
    model.server.shutdown()
    seconds = percentile([taken for _, taken in starts], 0.5)
    return {
        "starts": len(starts),
        "with_tools": sum(ours for ours, _ in starts),
        "seconds": seconds,
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    main()
