"""A mailbox (mbox): each mail is an item of its own, with its date, under a ref that stays while others come and go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from ricordo import Ricordo


def mail(number: int, text: str, *, identity: bool = True) -> str:
    named = f"Message-ID: <{number}.x@mail.example.org>\n" if identity else ""
    return (
        f"From someone@example.org Tue Mar  {number} 10:00:00 2020\n{named}From: someone@example.org\n"
        f"Subject: Letter {number}\nDate: Tue, {number} Mar 2020 10:00:00 +0000\n\n{text}\n\n"
    )


def box(folder: Path, *mails: str, name: str = "letters.mbox") -> Path:
    path = folder / name
    path.write_text("".join(mails))
    return path


def refs(engine: Ricordo) -> list[str]:
    return sorted(str(item.ref).rpartition("/")[2] for item in engine.list(limit=100))


FIRST, SECOND, THIRD = mail(1, "Tea at noon."), mail(2, "Bread at dusk.\n>From now on, too."), mail(3, "Salt.")


def test_each_mail_of_a_mailbox_is_an_item_with_its_subject_and_its_date(engine: Ricordo, tmp_path: Path) -> None:
    path = box(tmp_path, FIRST, SECOND)
    engine.add(path)
    assert refs(engine) == ["1.x@mail.example.org.eml", "2.x@mail.example.org.eml"]
    item = engine.get(f"disk:{path}/2.x@mail.example.org.eml")
    assert item.title == "Letter 2"
    assert "\nFrom now on, too." in item.content, "what the mailbox escaped reads as it was written"
    assert item.updated_at == datetime(2020, 3, 2, 10, tzinfo=UTC)
    hit = engine.search("bread before:2020-03-03").hits[0]
    assert hit.ref == str(item.ref)


def test_a_mail_that_is_deleted_or_new_is_noticed_and_the_others_keep_their_refs(
    engine: Ricordo, tmp_path: Path
) -> None:
    path = box(tmp_path, FIRST, SECOND)
    engine.add(tmp_path)
    before = engine.get(f"disk:{path}/2.x@mail.example.org.eml").id
    box(tmp_path, SECOND, THIRD)
    report = engine.refresh(all=True)
    told = {item.ref.rpartition("/")[2][0]: item.status for item in report.items}
    assert told == {"1": "missing", "2": "unchanged", "3": "created"}
    engine.refresh(all=True, prune=True)
    assert refs(engine) == ["2.x@mail.example.org.eml", "3.x@mail.example.org.eml"]
    assert engine.get(f"disk:{path}/2.x@mail.example.org.eml").id == before
    again = engine.add(path)
    assert [item.status for item in again.items] == ["skipped", "skipped"]


def test_mails_without_an_id_or_with_the_same_one_are_told_apart(engine: Ricordo, tmp_path: Path) -> None:
    nameless = mail(4, "No name.", identity=False)
    engine.add(box(tmp_path, FIRST, FIRST.replace("Tea", "Milk"), nameless, name="Inbox"))
    first, second, third = refs(engine)
    assert (first, second) == ("1.x@mail.example.org-2.eml", "1.x@mail.example.org.eml")
    assert len(third.removesuffix(".eml")) == 16
    box(tmp_path, nameless, name="Inbox")
    engine.refresh(all=True, prune=True)
    assert refs(engine) == [third], "it is called by what it says, so it keeps its ref"


def test_a_text_that_only_begins_like_a_mailbox_stays_one_item(engine: Ricordo, tmp_path: Path) -> None:
    engine.add(box(tmp_path, "From here on, at 10:30 in 2020\nnothing is a mail.\n", name="README"))
    assert refs(engine) == ["README"]


def test_mails_are_as_old_as_they_say_however_new_the_mailbox_is(engine: Ricordo, tmp_path: Path) -> None:
    engine.add(box(tmp_path, FIRST))
    assert datetime.now(UTC) - engine.list()[0].updated_at > timedelta(days=2000)
