"""Twelve things that a person wants to do on the page, done in a browser, with the keys and clicks that each takes.

``python -m tests.plugins.page.twelve_tasks`` prints them as a table; a test does the same tasks. A text
that is typed counts as one entry, not as keys, because its letters depend on the words and not on the page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.http_sites import Listening, listen

from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance

from .browsers import browser

AGENT = Provenance("agent", "claude-code", session="s-7", via="mcp")
LONG = "\n\n".join(f"## Part {n}\n\n" + "Plain words about nothing in particular. " * 40 for n in range(60))


@dataclass
class Hand:
    """A person's hand: counts the keys, clicks and entries that go to a page."""

    page: Any
    site: Listening
    presses: int = 0
    entries: int = 0

    def go(self, path: str) -> None:
        """Begin somewhere; that counts as nothing."""
        self.page.goto(self.site.address + path)
        self.page.wait_for_load_state("load")

    def key(self, *names: str) -> None:
        for name in names:
            self.presses += 1
            self.page.keyboard.press(name)

    def click(self, what: str) -> None:
        self.presses += 1
        self.page.locator(what).first.click()

    def enter(self, text: str) -> None:
        self.entries += 1
        self.page.keyboard.type(text)

    def wait(self, what: str) -> None:
        self.page.locator(what).first.wait_for()


def fill(site: Listening) -> None:
    """The store that the tasks are done in."""
    engine = site.engine
    engine.save("note:/manual", f"# Manual\n\n{LONG}\n\n## Valves\n\nThe blue valve opens anticlockwise.\n\n{LONG}")
    engine.save("note:/keys", "Rotate the signing keys every quarter.", fields={"title": "Keys"})
    engine.save("note:/doors", "The keys of the doors hang in the hall.", fields={"title": "Doors"})
    engine.save("note:/locks", "Old locks need old keys.", fields={"title": "Locks"})
    engine.remember("Deploys are on Monday.", title="Deploys")
    engine.save("note:/mine", "My rule.", fields={"title": "The rule", "loading": "always"})
    engine.save("note:/gone", "The old office is in Bern.", fields={"title": "The old office"})
    engine.rm("note:/gone")
    with speaking(AGENT):
        engine.edit("note:/mine", "Another rule.")
        engine.search("signing keys")
        engine.get("note:/keys")
        engine.search("zzqq frobnication")


def find(hand: Hand) -> None:
    """Find a passage in a long text and read it."""
    hand.go("/")
    hand.enter("blue valve")
    hand.wait(".hit >> text=anticlockwise")


def correct(hand: Hand) -> None:
    """Correct a wrong memory."""
    hand.go("/?q=deploys")
    hand.key("j", "Enter")
    hand.page.wait_for_url("**/item?**")
    hand.click(".tools >> text=Correct")
    hand.wait("textarea")
    hand.key("Control+a")
    hand.enter("Deploys are on Tuesday.")
    hand.click("text=Correct it")
    hand.page.wait_for_url("**said=corrected")
    assert hand.site.engine.search("deploys", track=False).hits[0].snippet == "Deploys are on Tuesday."


def tag(hand: Hand) -> None:
    """Tag three hits at once."""
    hand.go("/?q=keys")
    hand.wait(".pick")
    hand.key("j", "x", "j", "x", "j", "x", "t")
    hand.enter("security")
    hand.key("Enter")
    hand.wait("#done >> text=3 items tagged")
    assert [one.count for one in hand.site.engine.tags() if one.tag == "security"] == [3]


def export(hand: Hand) -> None:
    """Export all that a search finds."""
    hand.go("/?q=keys")
    with hand.page.expect_download() as download:
        hand.click("[aria-label='More about these results']")
        hand.click("text=Export as Markdown")
    assert "# Keys" in Path(download.value.path()).read_text(encoding="utf-8")


def asked(hand: Hand) -> None:
    """See what an agent asked, and what it opened."""
    hand.go("/")
    hand.click("nav >> text=Log")
    hand.wait(".log li:has-text('signing keys'):has-text('claude-code') >> text=opened")


def unanswered(hand: Hand) -> None:
    """Find a question that was never answered, and write the answer down."""
    hand.go("/")
    hand.click("[aria-label^='Answer:']")
    hand.wait("#write textarea:focus")
    hand.enter("Frobnication is done by hand.")
    hand.click("#write >> text=Save")
    hand.wait("#saved a")


def restore(hand: Hand) -> None:
    """Bring a removed item back."""
    hand.go("/")
    hand.click("text=in the bin")
    hand.click("text=Bring it back")
    hand.page.wait_for_url("**said=restored")
    assert hand.site.engine.get("note:/gone", track=False).state == "live"


def setting(hand: Hand) -> None:
    """Find a setting by its name."""
    hand.go("/")
    hand.key("Control+k")
    hand.wait("#palette[open]")
    hand.enter("search.limit")
    hand.key("Enter")
    hand.page.wait_for_url("**/settings?q=search.limit#set-search.limit")
    hand.wait("[id='set-search.limit']:focus")


def link(hand: Hand) -> None:
    """Link two items without knowing a ref."""
    hand.go("/item?ref=note:/doors")
    hand.click("text=Link to another item")
    hand.click("[name=target]")
    hand.enter("locks")
    hand.wait(".picks .choice >> text=Locks")
    hand.key("Enter")
    hand.click("form[action='/link']:has([data-picks]) button")
    hand.page.wait_for_url("**said=linked")
    assert "note:/locks" in {one.ref for one in hand.site.engine.links("note:/doors").links}


def why(hand: Hand) -> None:
    """Ask why something is not found."""
    hand.go("/?q=harbour")
    hand.click(".nothing >> text=Why is something missing?")
    hand.click("[name=ref]")
    hand.enter("signing")
    hand.wait(".picks .choice >> text=Keys")
    hand.key("Enter", "Enter")
    hand.wait(".banner >> text=It is")


def review(hand: Hand) -> None:
    """Decide on what an agent wrote over one's own words."""
    hand.go("/")
    hand.click("nav >> text=Review")
    hand.wait(".decide")
    hand.key("n")
    hand.wait("#done >> text=Refused")
    assert hand.site.engine.get("note:/mine", track=False).content == "My rule."


def around(hand: Hand) -> None:
    """See what an item is linked with in the graph."""
    hand.go("/item?ref=note:/doors")
    hand.click("[aria-label='More to do with this item']")
    hand.click("main a[href^='/graph?ref=']")
    hand.page.wait_for_url("**/graph?**")
    hand.wait("#graph-canvas[data-settled]")


TASKS: tuple[tuple[Callable[[Hand], None], str], ...] = (
    (find, "scrolling through a page of 31,000 pixels"),
    (correct, "could not be done"),
    (tag, "could not be done at once"),
    (export, "could not be done"),
    (asked, "could not be seen: counts alone, without asker"),
    (unanswered, "the list was wrong"),
    (restore, "a dead end"),
    (setting, "reading through the page of settings"),
    (link, "typing a ref from memory"),
    (why, "could not be done"),
    (review, "could not be done"),
    (around, "five items of 305 were drawn"),
)


def do_all(hand: Hand) -> list[tuple[str, str, int, int]]:
    """Each task with what it was before, and the keys or clicks and the texts that it takes now."""
    done = []
    for task, before in TASKS:
        hand.presses = hand.entries = 0
        task(hand)
        done.append(((task.__doc__ or "").rstrip("."), before, hand.presses, hand.entries))
    return done


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        served, end = listen(Path(folder))
        fill(served)
        page = running.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(60_000)
        page.goto(served.link())
        sys.stdout.write("| what | before | keys or clicks | texts typed |\n|---|---|---|---|\n")
        for words, before, presses, entries in do_all(Hand(page, served)):
            sys.stdout.write(f"| {words} | {before} | {presses} | {entries} |\n")
        page.context.close()
        end()


if __name__ == "__main__":
    main()
