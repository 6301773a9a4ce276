"""For people who write plugins and stores: fakes of the models, and the contract that every store must keep.

It needs pytest, which is not installed with Ricordo. A store is tested by a class of three lines::

    class TestMyStore(StoreContract):
        def open_store(self, folder: Path, **options: object) -> Store:
            return MyStore(folder / "store", **options)
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(  # before they are imported, so that a failed assertion shows both sides
    "ricordo.testing.contract_items", "ricordo.testing.contract_records", "ricordo.testing.contract_search",
    "ricordo.testing.contract_languages",
)  # fmt: skip

from ricordo.testing.contract import StoreContract  # noqa: E402
from ricordo.testing.fakes import FakeEmbedder, FakeLLM, FakeReranker  # noqa: E402
from ricordo.testing.making import prepared  # noqa: E402

__all__ = ["FakeEmbedder", "FakeLLM", "FakeReranker", "StoreContract", "prepared"]
