"""Make the pictures of the page that the README shows: docs/images/*.png.

It needs Chromium and the package playwright (the group dev has it). The store is thrown away afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "images"
QUESTIONS = (
    "how do I know that a token is genuine?",
    "notes about productivity",
    "retry with backoff",
    "what did we decide about search?",
)
SHOTS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("search", "/?q=what must be checked before a token is believed?", "light", (".why summary",)),
    ("ranking", "/profiles?name=brain", "light", ()),
    ("graph", "/graph", "dark", ()),
)
"""Name of the picture, address, colours, and what is clicked before it is taken."""


def main() -> int:
    """Fill a store, start a server on it, and take the pictures."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("there is no Chromium here", file=sys.stderr)
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ricordo-pictures-") as folder:
        names = ("RICORDO_CONFIG_HOME", "RICORDO_DATA_HOME", "RICORDO_STATE_HOME")
        os.environ.update(dict.fromkeys(names, folder))
        store = Path(folder) / "pictures.db"
        fill(store)
        link = json.loads(ricordo("serve", "--background", "--port", "0", "--store", str(store), "--json"))["data"][
            "link"
        ]
        try:
            with sync_playwright() as play:
                take(play.chromium.launch(executable_path=browser, args=["--no-sandbox"]), link)
        finally:
            ricordo("service", "stop")
    return 0


def fill(store: Path) -> None:
    """The examples and the documentation, under names that say nothing of this machine."""
    from ricordo import Ricordo

    with Ricordo.open(store) as memory:
        for base in ("examples", "docs"):
            for file in sorted((ROOT / base).rglob("*.md")):
                name = file.relative_to(ROOT / base).as_posix()
                place = "notes" if base == "examples" else "ricordo/docs"
                memory.add(file, as_ref=f"disk:/home/you/{place}/{name}", wait=False)
        memory.remember(
            "The signing keys are rotated in the first week of every quarter.", tags=["security"], importance=4
        )
        memory.embed()
        for question in QUESTIONS:
            memory.search(question)


def take(browser: Any, link: str) -> None:
    """The pictures, one after the other."""
    address = link.partition("/sign-in")[0]
    first = browser.new_context()
    first.new_page().goto(link)
    signed_in = first.storage_state()
    for name, path, colours, clicks in SHOTS:
        context = browser.new_context(
            storage_state=signed_in, viewport={"width": 1120, "height": 720}, color_scheme=colours
        )
        page = context.new_page()
        page.goto(address + path)
        for selector in clicks:
            page.locator(selector).first.click()
        file = TARGET / f"{name}.png"
        page.screenshot(path=file)
        print(f"wrote {file.relative_to(ROOT)} ({file.stat().st_size // 1000} KB)")
        context.close()
    browser.close()


def ricordo(*words: str) -> str:
    """What the command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "ricordo", *words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
