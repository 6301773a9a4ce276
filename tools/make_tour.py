"""Make the pictures of the page in the documentation and the recording in README: docs/images/tour/.

It needs Chromium and the packages playwright and pillow (the groups dev and docs have them). The store is made for it
(tour_store.py) and thrown away; folders of this machine are shown as those of nobody. ``--only NAME`` makes one.
``--states FOLDER`` makes others, to look at after a change: ten states of the page at two widths, light and dark,
four of each state in one file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tour_store import DEPLOYS, GUIDE, HOME, OPEN, QUESTION, fill

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "images" / "tour"
COLOURS = 64
FEW_COLOURS = 24
SIZE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 760}
RECORDED = {"width": 1000, "height": 570}
PLAIN = """([folder, plain]) => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(folder, plain);
    for (const one of document.querySelectorAll("input, textarea")) one.value = one.value.replaceAll(folder, plain);
}"""
"""Shows a folder of this machine as a plain one."""


def _home(page: Any) -> None:
    for words in ("Asking again…", "Looking…"):
        page.locator(f"text={words}").wait_for(state="detached")


def _edit(page: Any) -> None:
    page.locator("textarea").first.press("Control+End")
    page.keyboard.type(" The old keys are kept for a week.")
    page.locator(".see ins").first.wait_for()


Step = Callable[[Any], None]
STATES: dict[str, tuple[str, Step | None]] = {
    "home": ("/", _home),
    "search": (f"/?q={QUESTION}", None),
    "nothing": (f"/?q={OPEN[1]}", None),
    "memory": (f"/item?ref={DEPLOYS}", None),
    "document": (f"/item?ref={quote(GUIDE)}&q={QUESTION}", None),
    "edit": (f"/edit?ref={quote(DEPLOYS)}", _edit),
    "review": ("/review", None),
    "browse": ("/browse?prefix=note:/", None),
    "log": ("/log", None),
    "settings": ("/settings", None),
}
"""Of each state: the address, and what is done before the picture is taken."""
SHOTS = {"search": (SIZE, ("light", "dark")), "memory": (SIZE, ("light",)), "review": (SIZE, ("light",)),
         "phone": (PHONE, ("light",))}  # fmt: skip
"""Of each picture in the documentation: its size, and in which light; the phone shows a search."""


def main() -> int:
    """Fill a store, start a server on it, and take the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=(*SHOTS, "recording"))
    parser.add_argument("--states", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    only = options.only
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("there is no Chromium here", file=sys.stderr)
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    with served() as (link, folder), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        first = browser.new_context()
        first.new_page().goto(link)
        start = Start(browser, first.storage_state(), link.partition("/sign-in")[0], str(folder))
        if options.states:
            options.states.mkdir(parents=True, exist_ok=True)
            for name in STATES:
                state(start, name, options.states)
            browser.close()
            return 0
        for name in SHOTS if only is None else {only} & set(SHOTS):
            take(start, name)
        if only in (None, "recording"):
            record(start)
        browser.close()
    return 0


@contextmanager
def served() -> Iterator[tuple[str, Path]]:
    """A server on a store that was filled for it: the link that signs a browser in, and the folder of the store."""
    with tempfile.TemporaryDirectory(prefix="ricordo-tour-") as made:
        folder = Path(made)
        names = ("RICORDO_CONFIG_HOME", "RICORDO_DATA_HOME", "RICORDO_STATE_HOME")
        os.environ.update(dict.fromkeys(names, made) | dict.fromkeys(("LOGNAME", "USER"), "you"))
        os.chdir(folder)  # nothing of the repository that this is run in is recorded
        from ricordo import Ricordo

        store = folder / "shop-api" / "ricordo.db"
        store.parent.mkdir()
        with Ricordo.open(store) as memory:
            fill(memory, folder)
        said = ricordo("serve", "start", "--port", "0", "--store", str(store), "--json")
        try:
            yield json.loads(said)["data"]["link"], folder
        finally:
            ricordo("serve", "stop")


class Start:
    """Where each picture begins: a browser that signed in, on the server's address."""

    def __init__(self, browser: Any, signed_in: Any, address: str, folder: str) -> None:
        self.browser, self.signed_in, self.address, self.folder = browser, signed_in, address, folder

    def page(self, size: dict[str, int], scheme: str) -> Any:
        """A tab of its own."""
        context = self.browser.new_context(
            storage_state=self.signed_in, viewport=size, color_scheme=scheme, service_workers="block"
        )
        context.set_default_timeout(60_000)
        return context.new_page()

    def shot(self, page: Any) -> Any:
        """What a tab shows, without folders of this machine."""
        from PIL import Image

        page.evaluate(PLAIN, [self.folder, HOME])
        return Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")


def taken(start: Start, state: str, size: dict[str, int], scheme: str) -> Any:
    """What a state of the page looks like."""
    address, before = STATES[state]
    page = start.page(size, scheme)
    page.goto(start.address + address)
    if before is not None:
        before(page)
    page.wait_for_load_state("networkidle")
    picture = start.shot(page)
    page.context.close()
    return picture


def take(start: Start, name: str) -> None:
    """A picture for the documentation, in one light or two."""
    size, schemes = SHOTS[name]
    for scheme in schemes:
        file = TARGET / f"{name}-{scheme}.png"
        picture = taken(start, "search" if name == "phone" else name, size, scheme)
        picture.quantize(COLOURS, dither=0).save(file, optimize=True)
        wrote(file)


def state(start: Start, name: str, folder: Path) -> None:
    """Four pictures of a state side by side: wide and narrow, light and dark."""
    from PIL import Image

    pictures = [taken(start, name, size, scheme) for size in (SIZE, PHONE) for scheme in ("light", "dark")]
    sheet = Image.new("RGB", (sum(one.width for one in pictures), max(one.height for one in pictures)), "white")
    for at, picture in enumerate(pictures):
        sheet.paste(picture, (sum(one.width for one in pictures[:at]), 0))
    sheet.save(folder / f"{name}.png")
    wrote(folder / f"{name}.png")


def wrote(file: Path) -> None:
    """Say what was made."""
    print(f"wrote {file} ({file.stat().st_size // 1000} kB)")


def record(start: Start) -> None:
    """Some seconds of use as a moving picture: each frame with how long it stands."""
    from PIL import Image

    page = start.page(RECORDED, "light")
    frames: list[tuple[Any, int]] = []

    def keep(milliseconds: int) -> None:
        page.wait_for_timeout(150)
        frames.append((start.shot(page), milliseconds))

    for milliseconds in played(page, start.address):
        keep(milliseconds)
    page.context.close()
    width, height = frames[0][0].size
    together = Image.new("RGB", (width, height * len(frames)))
    for number, (picture, _) in enumerate(frames):
        together.paste(picture, (0, number * height))
    palette = together.quantize(FEW_COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=0)
    pictures = [picture.quantize(palette=palette, dither=0) for picture, _ in frames]
    file = TARGET / "recording.png"
    durations = [milliseconds for _, milliseconds in frames]
    pictures[0].save(file, save_all=True, append_images=pictures[1:], duration=durations, loop=0, optimize=True)
    print(f"{len(frames)} frames, {sum(durations) / 1000:.0f} s")
    wrote(file)


def played(page: Any, address: str) -> Iterator[int]:
    """A search, why its best hit is there, two hits tagged, a decision; after each, how long it is to be seen."""
    press = page.keyboard.press
    page.goto(address)
    _home(page)
    yield 1800
    page.keyboard.type(QUESTION)
    page.locator(".hit mark").first.wait_for()
    page.locator(".found >> text=1 hit").wait_for()
    page.wait_for_load_state("networkidle")
    yield 1800
    press("Escape")
    press("j")
    press("w")
    page.locator("#reader .peek").wait_for()
    yield 2500
    page.goto(f"{address}/?q=token")
    page.locator(".pick").first.wait_for()
    page.wait_for_load_state("networkidle")
    for key in ("j", "x", "j", "x", "t"):
        press(key)
    page.keyboard.type("security")
    yield 2000
    press("Enter")
    page.locator("[data-undo]").wait_for()
    yield 2500
    page.goto(f"{address}/review")
    page.wait_for_load_state("networkidle")
    yield 2500


def ricordo(*words: str) -> str:
    """What the command prints."""
    done = subprocess.run([sys.executable, "-m", "ricordo", *words], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
