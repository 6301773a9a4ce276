"""The page as it is sent: what it contains, without a browser."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.figures import figures
from tests.server.http_sites import Site

from ricordo import NotFound, Ricordo


def test_questions_that_found_nothing_fitting_are_named_to_be_written_down(new_site: Callable[..., Site]) -> None:
    for least, is_named in ((1.0, True), (0.0, False)):
        site = new_site(**{"search.min_fit": least})
        site.engine.save("note:/keys", "Rotate the signing keys every quarter.", on_conflict="overwrite")
        site.engine.search("how often are the signing keys rotated")
        site.engine.search("zzzzqqqq")
        assert ">zzzzqqqq</a>" in site.client.get("/log?view=summary").text  # it found nothing at all
        unanswered = site.client.get("/log?view=unanswered").text
        assert ("Write the answer down: how often are the signing keys rotated" in unanswered) == is_named


def test_nonsense_is_named_as_unanswered_and_lists_are_not(new_site: Callable[..., Site]) -> None:
    site = new_site(**{"embedding.provider": "local"})
    site.engine.save("note:/keys", "Rotate the signing keys every quarter.")
    site.engine.save("note:/doors", "The doors are locked at ten.")
    for query in ("zzxqv blorptang", "kind:note", "how often are the signing keys rotated"):
        site.engine.search(query)
    site.engine.similar("note:/keys")
    page = site.client.get("/log?view=unanswered").text
    assert re.findall(r"Write the answer down: ([^\"<]+)", page) == ["zzxqv blorptang"]
    site.engine.save("note:/nonsense", "zzxqv blorptang is what testers type.")
    assert "Write the answer down" not in site.client.get("/log?view=unanswered").text  # it is answered by now


def test_the_log_goes_by_how_well_a_question_fitted_when_it_was_asked(new_site: Callable[..., Site]) -> None:
    site = new_site(**{"embedding.provider": "local"})
    site.engine.save("note:/keys", "Rotate the signing keys every quarter.")
    site.engine.save("note:/doors", "The doors are locked at ten.")
    site.engine.search("how often are the signing keys rotated")
    site.engine.search("zzxqv blorptang")
    site.engine.rm("note:/keys")  # asked now, nothing would fit
    again = site.engine.search("how often are the signing keys rotated", track=False).meta.fit
    assert again is not None
    assert again < site.engine.config.search.min_fit
    assert re.findall(r"Write the answer down: ([^\"<]+)", site.client.get("/log?view=unanswered").text) == [
        "zzxqv blorptang"
    ]


def test_notes_are_rendered_as_markdown_and_plain_files_are_not(site: Site) -> None:
    site.engine.save("note:/keys", "# Keys\n\nRotate **all** of them.")
    site.engine.save("agent:/keys.txt", "Rotate **all** of them.", fields={"mime_type": "text/plain"})
    assert "<strong>all</strong>" in site.client.get("/item", params={"ref": "note:/keys"}).text
    assert "**all**" in site.client.get("/item", params={"ref": "agent:/keys.txt"}).text


def test_the_timeline_calls_a_note_without_a_title_by_its_first_line(site: Site) -> None:
    site.engine.save("note:/plan", "# The plan\n\n- one\n- two")
    page = site.client.get("/timeline").text  # its old address leads to the log
    assert ">The plan</a>" in page


def test_a_link_with_percent_codes_leads_to_the_item_that_it_names(site: Site) -> None:
    site.engine.save("note:/trips/index", "See [the plan](my%20plan%20%C3%BC.md#cost).")
    site.engine.save("note:/trips/my plan ü.md", "Take the ferry.")
    page = site.client.get("/item", params={"ref": "note:/trips/index"}).text
    address = re.search(r'href="([^"]+)"[^>]*>the plan<', page)
    assert address is not None
    assert "Take the ferry." in site.client.get(html.unescape(address[1])).text


@pytest.mark.parametrize(
    ("button", "state", "said"), [("Archive", "archived", "Archived"), ("Remove", None, "Removed")]
)
def test_each_button_to_put_an_item_away_does_what_it_says(
    site: Site, button: str, state: str | None, said: str
) -> None:
    site.engine.save("note:/keys", "Rotate the keys.")
    page = site.client.get("/item", params={"ref": "note:/keys"}).text
    how = re.search(rf'name="how" value="(\w+)">{button}', page)
    assert how is not None
    answer = site.client.post("/put-away", data={"ref": "note:/keys", "how": how[1]})
    assert f"<h1>{said}</h1>" in answer.text
    if state is None:
        with pytest.raises(NotFound):
            site.engine.get("note:/keys")
    else:
        assert site.engine.get("note:/keys").state == state
    site.engine.restore("note:/keys")
    assert site.engine.get("note:/keys").state == "live"


def test_a_hit_says_that_another_tier_has_another_text_of_it(new_site: Callable[..., Site], tmp_path: Path) -> None:
    team = tmp_path / "team.db"
    with Ricordo.open(team) as memory:
        memory.save("note:/harbour", "The harbour is large.")
    site = new_site(**{"tiers.team": str(team)})
    site.engine.save("note:/harbour", "The harbour is small.")
    page = site.client.get("/", params={"q": "harbour"}).text
    assert "team has an older text of it (version 1)" in page
    assert "+The harbour is large." in html.unescape(page)


def test_what_is_counted_for_the_facets_is_no_search_of_the_user(site: Site) -> None:
    site.engine.save("note:/tide", "The tide turns at noon.")
    for path in ("/facets", "/hits"):
        assert site.client.get(path, params={"q": "tide"}).status_code == 200
        assert figures(site.engine).rows == ()
    site.client.get("/", params={"q": "tide"})
    assert [row.name for row in figures(site.engine).rows] == ["tide"]
