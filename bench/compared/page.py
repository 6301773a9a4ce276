"""Writes the figures of a comparison into a page of the documentation: tables, and one plot per size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

BEGIN, END = "<!-- compare: begin -->", "<!-- compare: end -->"
OURS = "Ricordo"
KINDS = ("keyword", "vector", "hybrid", "filtered")


def write_page(results: Mapping[str, Any], page: Path) -> None:
    """Put the tables between the two marks of the page, which must be there."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} has no place for the tables: it needs the lines {BEGIN} and {END}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    parts = [_about(results)]
    for size, engines in results["sizes"].items():
        plot = page.parent / "images" / f"compare-{size}.svg"
        _plot(engines, plot, f"Hybrid search of {int(size):,} passages, median ms")
        parts.append(_size_section(int(size), engines, f"images/{plot.name}"))
    if growth := _growth_section(results["sizes"]):
        parts.append(growth)
    if results["judged"]:
        parts.append(_judged_section(results["judged"]))
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}", encoding="utf-8")


def _about(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    lines = [
        f"Made by `{results['command']}` on {machine['cores']} cores ({machine['cpu']}), {results['threads']} threads.",
        "",
        "| engine | what is measured |",
        "|---|---|",
        *(f"| {name} | {about} |" for name, about in results["engines"].items() if name not in results["missing"]),
    ]
    if results["missing"]:
        left = "; ".join(f"{name} ({reason})" for name, reason in results["missing"].items())
        lines += ["", f"Not measured in this run: {left}."]
    return "\n".join(lines)


def _size_section(size: int, engines: Mapping[str, Any], plot: str) -> str:
    measured = {name: one for name, one in engines.items() if name != "limits" and "left out" not in one}
    head = ["engine", "load s", "MB on disk", "MB in memory", "cold ms", *(f"{kind} ms" for kind in KINDS)]
    head += ["hybrid p95", "hybrid p99", "beside 2 busy", "beside a writer", "recall@50", "filtered recall@50"]
    rows = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for name, one in measured.items():
        hybrid = one.get("hybrid", {})
        cells = [name, _number(one.get("seconds"), 1), _mega(one.get("bytes")), _mega(one.get("memory"))]
        cells += [_number(one.get("cold", {}).get("p50"), 0)]
        cells += [_number(one.get(kind, {}).get("p50"), 2) for kind in KINDS]
        cells += [_number(hybrid.get("p95"), 2), _number(hybrid.get("p99"), 2)]
        cells += [_number(one.get(kind, {}).get("p50"), 2) for kind in ("busy", "writing")]
        cells += [_number(one.get(kind), 3) for kind in ("recall@50", "filtered recall@50")]
        rows.append(f"| {' | '.join(cells)} |")
    lines = [f"### {size:,} passages", "", *rows, "", f"![Median time of a hybrid search]({plot})", ""]
    lines += [f"{name} was left out: {one['left out']}." for name, one in engines.items() if "left out" in one]
    lines.append(_limit_line(engines))
    return "\n".join(lines).rstrip()


def _limit_line(engines: Mapping[str, Any]) -> str:
    """What a search of ours must read, how long that takes at least, and how near we are."""
    limits, ours = engines["limits"], engines.get(OURS, {})
    if "hybrid" not in ours:
        return ""
    read = ", ".join(f"{limits[f'{name} MB']:.1f} MB of {name}" for name in ("postings", "sketches", "vectors"))
    near = "; ".join(
        f"{kind} at least {limits[f'{kind} least ms']:.2f} ms, measured {ours[kind]['p50']:.2f} ms"
        f" ({ours[kind]['p50'] / limits[f'{kind} least ms']:.0f} times)"
        for kind in ("keyword", "vector", "hybrid")
    )
    return (
        f"The limit: a median question makes Ricordo read {read}. One core reads {limits['memory GB/s']:.0f} GB/s here."
        f" So: {near}."
    )


def _growth_section(sizes: Mapping[str, Any]) -> str:
    """How the cost of a search and of adding grows with the size of the store."""
    ours = {one[OURS]["chunks"]: one[OURS] for one in sizes.values() if "hybrid" in one.get(OURS, {})}
    if len(ours) < 2:
        return ""
    rows = ["| passages | hybrid ms | keyword ms | added per second | longest write lock ms | bytes per passage |"]
    rows.append("|" + "---:|" * 6)
    for count, one in ours.items():
        cells = [f"{count:,}", f"{one['hybrid']['p50']:.2f}", f"{one['keyword']['p50']:.2f}"]
        cells += [f"{one['texts per second']:,}", f"{one['longest lock ms']:.0f}", f"{one['bytes'] / count:,.0f}"]
        rows.append(f"| {' | '.join(cells)} |")
    counts = np.array(list(ours), float)
    times = np.array([one["hybrid"]["p50"] for one in ours.values()])
    # Of the relative errors, so that the small stores count as much as the large one.
    each, fixed = np.polyfit(counts, times, 1, w=1 / times)
    line = (
        f"A straight line through these (least relative error): {fixed:.1f} ms, and {each * 1e5:.2f} ms for every"
        " 100,000 passages."
    )
    return "\n".join(["### Growth", "", *rows, "", line])


def _judged_section(judged: Mapping[str, Any]) -> str:
    names = [name for name in next(iter(judged.values())) if any("ndcg@10" in one[name] for one in judged.values())]
    head = ["engine", *judged, "mean"]
    rows = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for name in names:
        figures = [one[name].get("ndcg@10") for one in judged.values()]
        known = [figure for figure in figures if figure is not None]
        rows.append(f"| {name} | {' | '.join(_number(figure, 3) for figure in [*figures, sum(known) / len(known)])} |")
    return "\n".join(["### Quality: nDCG@10 of the same hybrid searches on judged sets", "", *rows])


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _mega(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.0f}"


def _plot(engines: Mapping[str, Any], file: Path, title: str) -> None:
    """A bar per engine."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "ricordo"
    from matplotlib import pyplot

    bars = {name: one["hybrid"]["p50"] for name, one in engines.items() if "hybrid" in one}
    names = sorted(bars, key=lambda name: -bars[name])
    figure, axes = pyplot.subplots(figsize=(7, 0.5 + 0.35 * len(names)))
    colours = ["#2f6f4f" if name.startswith(OURS) else "#9aa5a0" for name in names]
    axes.barh(names, [bars[name] for name in names], color=colours)
    for place, name in enumerate(names):
        axes.text(bars[name], place, f" {bars[name]:.1f}", va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
