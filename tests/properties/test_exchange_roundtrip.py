"""Whatever is done to a store, exporting it and taking the export in gives a store that exports the same."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import import_trusted

from ricordo import ConfigProvider, Error, Ricordo

REFS = ("note:/a", "note:/b", "memory:/c", "agent:/deep/d")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80) | st.sampled_from(
    ["see [[b]] and [[a]]", "# Head\n\n" + "word " * 400, "the same text", "line\r\nline\u2028line"]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["save", "edit", "title", "mv", "rm", "purge", "forget", "restore", "link", "get", "feedback"]),
        st.sampled_from(REFS),
        st.sampled_from(REFS),
        TEXTS,
    ),
    min_size=1,
    max_size=14,
)


def act(engine: Ricordo, step: tuple[str, str, str, str]) -> None:
    verb, ref, other, text = step
    if verb == "save":
        engine.save(ref, text, fields={"tags": [text[:5].strip() or "t"], "metadata": {"text": text}}, wait=False)
    elif verb == "edit":
        engine.edit(ref, text)
    elif verb == "title":
        engine.edit(ref, fields={"title": text})
    elif verb == "mv":
        engine.mv(ref, other)
    elif verb in ("rm", "purge"):
        engine.rm(ref, purge=verb == "purge")
    elif verb == "forget":
        engine.forget(ref)
    elif verb == "restore":
        engine.restore(ref)
    elif verb == "link":
        engine.link(ref, other, "extends")
    elif verb == "get":
        engine.get(ref)
    else:
        engine.feedback(text, ref, "accepted")


def exported(engine: Ricordo) -> bytes:
    out = io.BytesIO()
    engine.export(out)
    return out.getvalue()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_an_export_taken_in_is_exported_the_same(steps: list[tuple[str, str, str, str]]) -> None:
    config = ConfigProvider({"embedding.provider": "none", "store.keep_versions": 3})
    with tempfile.TemporaryDirectory() as folder:
        with Ricordo.open(Path(folder) / "one.db", config=config) as one:
            for step in steps:
                with contextlib.suppress(Error):
                    act(one, step)
            data = exported(one)
        with Ricordo.open(Path(folder) / "two.db", config=config) as two:
            import_trusted(two, io.BytesIO(data))
            assert exported(two) == data
            report = two.doctor()
            assert report.ok, report
