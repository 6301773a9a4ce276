"""Sixteen things that a person wants to do on the page, and six that are rarer, done in a browser with keys and clicks.

``python -m tests.plugins.page.tasks`` prints what each takes, and how long; a test does the same tasks. A text that
is typed counts as one entry, not as keys, because its letters depend on the words and not on the page; so does a file
that is chosen. Seconds go from the page on which a task begins until its last answer is there: nobody has to think.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.server.http_sites import Listening, listen

from ricordo import Ricordo
from ricordo.speaking import speaking
from ricordo.values.log import Proposal
from ricordo.values.provenance import Provenance

from .browsers import browser

AGENT = Provenance("agent", "claude-code", session="s-7", via="mcp")
LONG = "\n\n".join(f"## Part {n}\n\n" + "Plain words about nothing in particular. " * 40 for n in range(60))
RULES = tuple(
    f"Always {words}."
    for words in (
        "run make lint before a commit", "name the file that was changed", "write dates as year, month and day",
        "ask before a table is dropped", "keep money in whole cents", "review the plan of a migration",
        "close the door of the server room", "send invoices on Friday", "test on a phone", "answer in British English",
    )
)  # fmt: skip


@dataclass
class Hand:
    """A person's hand: counts the keys, clicks and entries that go to a page."""

    page: Any
    site: Listening
    presses: int = 0
    entries: int = 0
    since: float = 0.0

    def go(self, path: str) -> None:
        """Begin somewhere; that counts as nothing."""
        self.page.goto(self.site.address + path)
        self.page.wait_for_load_state("load")
        self.since = time.perf_counter()

    def key(self, *names: str) -> None:
        for name in names:
            self.presses += 1
            self.page.keyboard.press(name)

    def click(self, what: str) -> None:
        self.presses += 1
        self.page.locator(what).first.click()

    def choose(self, what: str, value: str) -> None:
        """Open a list and pick one line of it."""
        self.presses += 2
        self.page.locator(what).first.select_option(value)

    def enter(self, text: str) -> None:
        self.entries += 1
        self.page.keyboard.type(text)

    def back(self) -> None:
        """The browser's own key."""
        self.presses += 1
        self.page.go_back()

    def wait(self, what: str) -> None:
        self.page.locator(what).first.wait_for()

    def arrive(self, address: str) -> None:
        self.page.wait_for_url(address)
        self.page.wait_for_load_state("load")


def fill(site: Listening) -> None:
    """The store that the tasks are done in."""
    engine = site.engine
    engine.save("note:/manual", f"# Manual\n\n{LONG}\n\n## Valves\n\nThe blue valve opens anticlockwise.\n\n{LONG}")
    engine.save("note:/keys", "Rotate the signing keys every quarter.", fields={"title": "Keys"})
    engine.save("note:/doors", "The keys of the doors hang in the hall. See [[locks]].", fields={"title": "Doors"})
    engine.save("note:/locks", "Old locks need old keys.", fields={"title": "Locks"})
    engine.save("note:/printer", "The printer is on the second floor.", fields={"title": "The printer"})
    engine.remember("Deploys are on Monday.", title="Deploys")
    engine.save("note:/mine", "My rule.", fields={"title": "The rule", "loading": "always"})
    with speaking(AGENT):
        engine.edit("note:/mine", "Another rule.")
        engine.save("note:/crane", "The crane lifts nine tons.", fields={"title": "The crane"})
        engine.search("signing keys")
        engine.get("note:/keys")
        engine.search("zzqq frobnication")
    now = datetime.now(UTC)
    engine.store.proposals.add(
        [Proposal(text, "rule", "project", text, "s-7", at, now) for at, text in enumerate(RULES, 1)]
    )


def search(hand: Hand) -> None:
    """Find a passage in a long text"""
    hand.go("/")
    hand.enter("blue valve")
    hand.wait(".hit >> text=anticlockwise")


def open_hit(hand: Hand) -> None:
    """Open a hit at its passage"""
    hand.go("/?q=blue+valve")
    hand.wait("#reader .peek")
    hand.key("Enter")
    hand.arrive("**/item?**")
    hand.wait(".in-passage >> text=anticlockwise")
    assert hand.page.evaluate("scrollY") > 10_000


def come_back(hand: Hand) -> None:
    """Come back to the hit that was opened"""
    hand.go("/?q=keys")
    hand.wait("#reader .peek")
    hand.key("j", "j", "Enter")
    hand.arrive("**/item?**")
    opened = hand.page.locator("article.item").get_attribute("data-item")
    hand.back()
    hand.wait(f".hit[data-ref='{opened}'] .open:focus")


def narrow(hand: Hand) -> None:
    """Narrow hits down to one kind, and widen them again"""
    hand.go("/?q=deploys+keys")
    hand.click("#facets .chip:has-text('Memories')")
    hand.wait("#facets .chip[aria-current]:has-text('Memories')")
    hand.wait(".found >> text=without filters")
    assert hand.page.locator(".hit .meta").all_inner_texts()[0].startswith("Memory")
    hand.click("#facets >> text=Clear")
    hand.arrive("**/?q=deploys+keys")


def edit(hand: Hand) -> None:
    """Edit a text, see what changes, and save it"""
    hand.go("/item?ref=note:/locks")
    hand.key("e")
    hand.wait("textarea:focus")
    hand.key("Control+End")
    hand.enter(" New ones do not.")
    hand.wait(".see ins >> text=New ones")
    hand.key("Control+Enter")
    hand.wait("text=Saved as a new version")
    assert hand.site.engine.get("note:/locks", track=False).content == "Old locks need old keys. New ones do not."


def undo(hand: Hand) -> None:
    """Take the edit back, on the page to which it led"""
    hand.since = time.perf_counter()
    hand.wait("#done [data-undo]")
    hand.key("u")
    hand.wait("#done >> text=Undone")
    assert hand.site.engine.get("note:/locks", track=False).content == "Old locks need old keys."


def tag(hand: Hand) -> None:
    """Tag three hits at once"""
    hand.go("/?q=keys")
    hand.wait(".pick")
    hand.key("j", "x", "j", "x", "j", "x", "t")
    hand.enter("security")
    hand.key("Enter")
    hand.wait("#done >> text=3 items tagged")
    assert [one.count for one in hand.site.engine.tags() if one.tag == "security"] == [3]


def restore(hand: Hand) -> None:
    """Remove an item, and bring it back from the bin"""
    hand.go("/?q=printer")
    hand.wait(".hit[data-ref='note:/printer']")
    hand.key("x", "d")
    hand.wait("#done >> text=in the bin")
    hand.key("g", "b")
    hand.arrive("**/browse")
    hand.click(".views >> text=Bin")
    hand.click("text=Bring it back")
    hand.arrive("**said=restored")
    assert hand.site.engine.get("note:/printer", track=False).state == "live"


def review(hand: Hand) -> None:
    """Decide on ten proposals, and on what an agent wrote over one's own words"""
    hand.go("/")
    hand.click("nav >> text=Review")
    hand.wait(".decide")
    for left in range(len(RULES), 0, -1):
        hand.key("y" if left % 2 else "n")
        hand.page.locator(f".place-of >> text=1 of {left}").wait_for(state="attached")
    hand.wait(".decide >> text=Go back to yours")
    hand.key("n")
    hand.wait("text=Nothing waits for you")
    assert hand.site.engine.get("note:/mine", track=False).content == "My rule."
    kept = hand.site.engine.search("always", limit=50, track=False).hits
    assert sum(hit.snippet in RULES for hit in kept) == len(RULES) // 2


def who_wrote(hand: Hand) -> None:
    """See who wrote what, and only what one agent wrote"""
    hand.go("/?q=crane")
    hand.wait(".hit .meta >> text=Claude Code")
    hand.choose("#facets [name=author]", "claude-code")
    hand.arrive("**author=claude-code**")
    hand.wait(".found >> text=without filters")


def graph(hand: Hand) -> None:
    """See what an item is linked with in the graph"""
    hand.go("/item?ref=note:/doors")
    hand.click("[aria-label='More to do with this item']")
    hand.click("main a[href^='/graph?ref=']")
    hand.arrive("**/graph?**")
    hand.wait("#graph-canvas[data-settled]")
    hand.wait("#graph-status >> text=2 items and 1 link")


def health(hand: Hand) -> None:
    """Look whether the store is well"""
    hand.go("/")
    hand.click(".foot >> text=Health")
    hand.click("text=Check the store")
    hand.wait(".task[data-state=done] .state >> text=well")


def limit(hand: Hand) -> int:
    """The setting as a program reads it that is started now."""
    with Ricordo.open(hand.site.engine.location) as engine:
        return engine.config.search.limit


def setting(hand: Hand) -> None:
    """Find a setting, change it and put it back"""
    hand.go("/")
    hand.key("Control+k")
    hand.wait("#palette[open]")
    hand.enter("search.limit")
    hand.key("Enter")
    hand.arrive("**/settings?q=search.limit#set-search.limit")
    hand.wait("[id='set-search.limit']:focus")
    hand.key("Control+a")
    hand.enter("7")
    hand.key("Enter")
    hand.wait("text=Saved.")
    assert limit(hand) == 7
    hand.click("text=Put back")
    hand.wait("[id='set-search.limit'][value='10']")
    assert limit(hand) == 10


def upload(hand: Hand) -> None:
    """Add a file, and open what was made of it"""
    hand.go("/")
    hand.click("nav >> text=Add")
    hand.arrive("**/add")
    with hand.page.expect_file_chooser() as chooser:
        hand.click("#files")
    hand.entries += 1
    chooser.value.set_files([{"name": "bridge.md", "mimeType": "text/markdown", "buffer": b"# Bridge\n\nSteel."}])
    hand.click("text=Add files")
    hand.wait(".task[data-state=done]")
    hand.click(".task summary")
    hand.click(".task a")
    hand.wait("h1 >> text=Bridge")


def bad_input(hand: Hand) -> None:
    """Give a setting a value that it cannot take, read why, and mend it"""
    hand.go("/settings?q=search.limit#set-search.limit")
    hand.wait("[id='set-search.limit']:focus")
    hand.key("Control+a")
    hand.enter("many")
    hand.key("Enter")
    hand.wait(".answer .banner.bad")
    assert limit(hand) == 10
    hand.key("Control+a")
    hand.enter("9")
    hand.key("Enter")
    hand.wait(".answer >> text=Saved.")
    assert limit(hand) == 9
    assert hand.page.locator(".answer .banner.bad").count() == 0


def guest(hand: Hand) -> None:
    """Search and read as a guest, who is offered nothing that changes anything"""
    context = hand.page.context.browser.new_context(viewport={"width": 1280, "height": 900})
    own, hand.page = hand.page, context.new_page()
    try:
        hand.page.goto(f"{hand.site.address}/sign-in?code={hand.site.serving.codes.new('read')}")
        hand.go("/")
        hand.enter("signing keys")
        hand.wait("#reader .peek")
        hand.key("Escape", "Enter")
        hand.arrive("**/item?**")
        hand.wait("article.item >> text=signing keys")
        for path in ("/item?ref=note:/keys", "/?q=keys", "/", "/browse?prefix=note:/", "/bin", "/log", "/jobs"):
            assert hand.page.goto(hand.site.address + path).ok, path
            hand.page.wait_for_load_state("networkidle")
            assert hand.page.locator("form[method=post]:not([action='/sign-out'])").count() == 0, path
            assert hand.page.locator("a[href^='/add'], a[href^='/edit'], a[href^='/review']").count() == 0, path
        answer = hand.page.request.post(f"{hand.site.address}/put-away", form={"ref": "note:/keys", "how": "remove"},
                                        headers={"Origin": hand.site.address})  # fmt: skip
        assert answer.status == 403
        assert hand.site.engine.get("note:/keys", track=False).state == "live"
    finally:
        hand.page = own
        context.close()


def correct(hand: Hand) -> None:
    """Correct a wrong memory"""
    hand.go("/?q=deploys")
    hand.key("j", "Enter")
    hand.arrive("**/item?**")
    hand.key("c")
    hand.wait("textarea:focus")
    hand.key("Control+a")
    hand.enter("Deploys are on Tuesday.")
    hand.key("Control+Enter")
    hand.arrive("**said=corrected")
    assert hand.site.engine.search("deploys", track=False).hits[0].snippet == "Deploys are on Tuesday."


def export(hand: Hand) -> None:
    """Export all that a search finds"""
    hand.go("/?q=keys")
    with hand.page.expect_download() as download:
        hand.click("[aria-label='More about these results']")
        hand.click("text=Export as Markdown")
    assert "# Keys" in Path(download.value.path()).read_text(encoding="utf-8")


def asked(hand: Hand) -> None:
    """See what an agent asked, and what it opened"""
    hand.go("/")
    hand.click("nav >> text=Log")
    hand.wait(".log li:has-text('signing keys'):has-text('Claude Code') >> text=opened")


def unanswered(hand: Hand) -> None:
    """Find a question that was never answered, and write the answer down"""
    hand.go("/")
    hand.click("[aria-label^='Answer:']")
    hand.wait("#write textarea:focus")
    hand.enter("Frobnication is done by hand.")
    hand.click("#write >> text=Save")
    hand.wait("#saved a")


def link(hand: Hand) -> None:
    """Link two items without knowing a ref"""
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
    """Ask why something is not found"""
    hand.go("/?q=harbour")
    hand.click(".nothing >> text=Why is something missing?")
    hand.click("[name=ref]")
    hand.enter("signing")
    hand.wait(".picks .choice >> text=Keys")
    hand.key("Enter", "Enter")
    hand.wait(".banner >> text=It is")


TASKS: tuple[Callable[[Hand], None], ...] = (
    search, open_hit, come_back, narrow, edit, undo, tag, restore, review, who_wrote, graph, health, setting, upload,
    bad_input, guest,
    correct, export, asked, unanswered, link, why,
)  # fmt: skip
"""The sixteen, and the six that are rarer."""


def do_all(hand: Hand) -> list[tuple[str, int, int, float]]:
    """Each task with the keys and clicks, the texts typed and the seconds that it takes."""
    done = []
    for task in TASKS:
        hand.presses = hand.entries = 0
        task(hand)
        done.append((task.__doc__ or "", hand.presses, hand.entries, time.perf_counter() - hand.since))
    return done


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        os.environ.update(dict.fromkeys(("RICORDO_CONFIG_HOME", "RICORDO_DATA_HOME", "RICORDO_STATE_HOME"), folder))
        served, end = listen(Path(folder), env=os.environ)
        fill(served)
        page = running.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(60_000)
        page.goto(served.link())
        sys.stdout.write("| what | keys and clicks | texts typed | seconds |\n|---|---:|---:|---:|\n")
        for words, presses, entries, seconds in do_all(Hand(page, served)):
            sys.stdout.write(f"| {words} | {presses} | {entries} | {seconds:.1f} |\n")
        page.context.close()
        end()


if __name__ == "__main__":
    main()
