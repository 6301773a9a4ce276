"""Counts for Prometheus: requests by route and status, how long they took, and what the store holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What was asked so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = {}
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        self.started = time.time()

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            key = (method, route, status)
            self._requests[key] = self._requests.get(key, 0) + 1
            buckets = self._buckets.setdefault(route, [0] * (len(BOUNDS) + 1))
            for at, bound in enumerate(BOUNDS):
                buckets[at] += seconds <= bound
            buckets[-1] += 1
            self._sums[route] = self._sums.get(route, 0.0) + seconds

    def text(self, status: Mapping[str, Any], jobs: Mapping[str, Any], tasks: Mapping[str, int]) -> str:
        """All counts in Prometheus' text format."""
        with self._lock:
            requests, buckets, sums = dict(self._requests), dict(self._buckets), dict(self._sums)
        lines = ["# TYPE ricordo_requests_total counter"]
        for (method, route, code), count in sorted(requests.items()):
            lines.append(f'ricordo_requests_total{{method="{method}",route="{route}",status="{code}"}} {count}')
        lines.append("# TYPE ricordo_request_seconds histogram")
        for route, counts in sorted(buckets.items()):
            for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
                lines.append(f'ricordo_request_seconds_bucket{{route="{route}",le="{bound}"}} {count}')
            lines.append(f'ricordo_request_seconds_sum{{route="{route}"}} {sums[route]:.6f}')
            lines.append(f'ricordo_request_seconds_count{{route="{route}"}} {counts[-1]}')
        for name in ("items", "chunks", "versions", "bytes"):
            lines += [f"# TYPE ricordo_store_{name} gauge", f"ricordo_store_{name} {status.get(name, 0)}"]
        lines.append("# TYPE ricordo_backlog_jobs gauge")
        for state in ("pending", "running", "failed"):
            lines.append(f'ricordo_backlog_jobs{{state="{state}"}} {jobs.get(state, 0)}')
        lines.append("# TYPE ricordo_tasks gauge")
        lines += [f'ricordo_tasks{{state="{state}"}} {count}' for state, count in sorted(tasks.items())]
        lines += ["# TYPE ricordo_uptime_seconds gauge", f"ricordo_uptime_seconds {time.time() - self.started:.0f}"]
        return "\n".join(lines) + "\n"


class Measured:
    """Counts every request of an application by the pattern of its route, so that refs make no new lines."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", None) or ("/mcp" if scope["path"] == "/mcp" else "other")
            self._metrics.note(scope["method"], route, status, time.perf_counter() - started)
