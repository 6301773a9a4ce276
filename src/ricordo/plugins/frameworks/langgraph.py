"""LangGraph: a store for long-term memory, with search by meaning.

A value is kept as an item ``agent:/langgraph/NAMESPACE…/KEY``: its texts are searched, and the value itself is kept as
metadata, so that it is returned as it was put, except for secrets: these are redacted before anything is stored. Items
that expire (``ttl``) are not supported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from ricordo.engine.context import embed_soon
from ricordo.errors import MissingExtra, NotFound
from ricordo.speaking import as_agent
from ricordo.values.hits import Filters
from ricordo.values.items import Item as Kept

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
except ImportError:
    raise MissingExtra("langgraph", "adapters for LangGraph") from None

__all__ = ["RicordoStore"]

ROOT = "/langgraph"
_MANY = 10_000
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda a, b: bool(a == b),
    "$ne": lambda a, b: bool(a != b),
    "$gt": lambda a, b: bool(a > b),
    "$gte": lambda a, b: bool(a >= b),
    "$lt": lambda a, b: bool(a < b),
    "$lte": lambda a, b: bool(a <= b),
}


class RicordoStore(BaseStore):
    """A LangGraph store over an open ``Ricordo``: ``graph.compile(store=RicordoStore(memory))``."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations in their order."""
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a thread, because the store blocks."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, PutOp):
            return self._put(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise TypeError(f"unknown operation {op!r}")

    def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        try:
            item = self.memory.get(_ref(namespace, key))
        except NotFound:
            return None
        return Item(
            value=_value(item), key=key, namespace=namespace, created_at=item.created_at, updated_at=item.updated_at
        )

    @as_agent("langgraph")
    def _put(self, op: PutOp) -> None:
        ref = _ref(op.namespace, str(op.key))
        if op.value is None:
            with suppress(NotFound):
                self.memory.rm(ref, purge=True)
            return
        parts = list(_texts(op.value)) if op.index is not False else []
        if isinstance(op.index, list):
            parts = [text for path in op.index for text in _texts(_at(op.value, path))]
        fields = {"title": op.key, "source": "agent", "metadata": {"value": op.value}}
        self.memory.save(ref, "\n".join(parts), fields=fields, on_conflict="overwrite", wait=False)
        embed_soon(self.memory)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        below = Filters(drives=("agent",), paths=(_path(op.namespace_prefix) + "/*",))
        wanted = op.offset + op.limit if not op.filter else _MANY
        if op.query:
            most = max(1, min(wanted, 1000))
            answer = self.memory.search(op.query, limit=most, filters=below, literal=True, mode="full")
            found = [(hit.item, hit.score) for hit in answer.hits]
        else:
            found = [(item, None) for item in self.memory.list(filters=below, limit=wanted)]
        items = []
        for item, score in found:
            (namespace, key), value = _place(item), _value(item)
            if all(_fits(value.get(name), condition) for name, condition in (op.filter or {}).items()):
                items.append(SearchItem(namespace, key, value, item.created_at, item.updated_at, score))
        return items[op.offset : op.offset + op.limit]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        every = self.memory.list(filters=Filters(drives=("agent",), paths=(ROOT + "/*",)), limit=_MANY)
        names = {_place(item)[0] for item in every}
        for condition in op.match_conditions or ():
            names = {name for name in names if _matches(name, condition.match_type, condition.path)}
        if op.max_depth is not None:
            names = {name[: op.max_depth] for name in names}
        return sorted(names)[op.offset : op.offset + op.limit]


def _path(namespace: Sequence[str]) -> str:
    return "/".join((ROOT, *(quote(part, safe="") for part in namespace)))


def _ref(namespace: Sequence[str], key: str) -> str:
    return f"agent:{_path(namespace)}/{quote(key, safe='')}"


def _place(item: Kept) -> tuple[tuple[str, ...], str]:
    """The namespace and the key of an item."""
    *namespace, key = (unquote(part) for part in item.ref.path.removeprefix(ROOT + "/").split("/"))
    return tuple(namespace), key


def _value(item: Kept) -> dict[str, Any]:
    value = item.fields.metadata.get("value")
    return dict(value) if isinstance(value, Mapping) else {}


def _texts(value: Any) -> Iterable[str]:
    """The texts in a value, in their order; numbers and booleans are given with their names, because alone they say
    little.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, str | int | float):
                yield f"{name}: {part}"
            else:
                yield from _texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _fits(value: Any, condition: Any) -> bool:
    if not (isinstance(condition, Mapping) and condition and all(str(name).startswith("$") for name in condition)):
        return bool(value == condition)
    try:
        return all(_COMPARE[name](value, other) for name, other in condition.items())
    except TypeError:  # a text and a number are not comparable
        return False


def _matches(name: tuple[str, ...], how: str, path: Sequence[str]) -> bool:
    part = name[: len(path)] if how == "prefix" else name[-len(path) :]
    return len(part) == len(path) and all(want in ("*", have) for want, have in zip(path, part, strict=True))
