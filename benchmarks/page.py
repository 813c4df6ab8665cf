"""docs/performance.md, made of the results that the benchmarks have left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.common import ROOT, machine_line, read, show
from benchmarks.promises import PROMISES, Promise

PAGE = ROOT / "docs" / "performance.md"
NOT_MEASURED = "not measured"

Result = Mapping[str, Any]
Figure = Mapping[str, Any]


def write_page(folder: Path, path: Path = PAGE) -> str:
    """Write the page from the results in this folder; returns its text."""
    found = [result for file in sorted(folder.glob("*.json")) if (result := read(file)) is not None]
    soaks = [result for result in found if "verdicts" in result]
    text = page([result for result in found if "figures" in result], soaks[0] if soaks else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text


def page(results: Sequence[Result], soak: Result | None = None) -> str:
    """The whole page; `soak` is what scripts/soak.py has found. What no result holds is shown as not measured."""
    figures = {(r["script"], f["name"]): f for r in results for f in r["figures"]}
    parts = [
        "# Speed and scale, measured",
        _wrapped(
            "This page is written by `make bench`; a figure stands here only if that run measured it. Each is the "
            "median of n measurements, with the smallest and the largest in brackets. Targets are for one core of a "
            "small cloud machine."
        ),
        _machines(results),
        *_table(figures),
        *_missed(figures),
        *_growth(figures),
        *_soak(soak),
        *_further(results),
        *_commands(results),
    ]
    return "\n\n".join(parts) + "\n"


def _machines(results: Sequence[Result]) -> str:
    lines = dict.fromkeys(machine_line({**r["machine"], "load": 0}).rpartition(", load")[0] for r in results)
    loads = [r["machine"]["load"] for r in results]
    dates = sorted(r["at"] for r in results)
    if not results:
        return "Nothing has been measured yet."
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    where = "; ".join(lines)
    busy = max(loads) > max(r["machine"]["cores"] for r in results) + 0.5
    warning = " The machine was busy with other work: what is measured by the clock is too slow." if busy else ""
    loaded = f"Load average before the scripts: {min(loads):g} to {max(loads):g}.{warning}"
    return _wrapped(f"{when}, on {where}. {loaded}")


def _table(figures: Mapping[tuple[str, str], Figure]) -> Iterable[str]:
    yield "## The design's table"
    for group, promises in groupby(PROMISES, key=lambda p: p.group):
        lines = ["| | target | measured | |", "|---|---|---|---|"]
        lines += [_row(p, figures) for p in promises]
        yield f"**{group}**\n\n" + "\n".join(lines)


def _row(promise: Promise, figures: Mapping[tuple[str, str], Figure]) -> str:
    figure = figures.get((promise.script, promise.name))
    side = "at least" if promise.more_is_better else "under"
    target = "" if promise.target is None else f"{side} {_amount(promise.target, promise.unit)}"
    if figure is None:
        return f"| {promise.what} | {target} | {NOT_MEASURED} | |"
    beside = [
        (words, figures[promise.script, name]) for name, words in promise.peers if (promise.script, name) in figures
    ]
    peers = "".join(f"; {words}: {show(peer['value'])}" for words, peer in beside)
    verdict = {None: "", True: "met", False: "**MISSED**"}[figure["met"]]
    return f"| {promise.what} | {target} | {_measured(figure)}{peers} | {verdict} |"


def _amount(value: float, unit: str) -> str:
    """A value with its unit; without one it is a share."""
    return f"{value:.0%}" if not unit else f"{show(value)} {unit}".removesuffix(" number")


def _measured(figure: Figure) -> str:
    unit = figure["unit"]
    text = _amount(figure["value"], unit)
    if figure["n"] > 1:
        low, high = (f"{v:.0%}" if not unit else show(v) for v in (figure["low"], figure["high"]))
        text += f" [{low}, {high}], n={figure['n']}"
    if figure["peer"] is not None:
        text += f"; {figure['peer']['name']}: {_amount(figure['peer']['value'], unit)}"
    return text


def _missed(figures: Mapping[tuple[str, str], Figure]) -> Iterable[str]:
    missed = [(p, figures[p.script, p.name]) for p in PROMISES if (p.script, p.name) in figures]
    missed = [(p, f) for p, f in missed if f["met"] is False]
    yield "## What is missed, and why"
    if not missed:
        yield "No figure that this run measured misses its target."
    for promise, figure in missed:
        yield f"### {promise.group}: {promise.what}"
        aim = _amount(promise.target or 0, promise.unit)
        why = figure["note"] or promise.why
        yield _wrapped(f"{_measured(figure)}, where {aim} is promised. {why}")
        if figure["profile"]:
            yield _profile(figure["profile"])
        elif not why:
            yield "No profile was taken of it."


def _profile(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        _wrapped(
            "Where the time goes, in one run under the profiler, which itself slows Python down; functions by their "
            "own time:"
        ),
        "",
        "| share | own s | with callees s | calls | function |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['share']:.0%} | {row['own_s']:.3f} | {row['total_s']:.3f} | {row['calls']:,} | `{row['where']}` |"
        for row in rows
    ]
    return "\n".join(lines)


def _growth(figures: Mapping[tuple[str, str], Figure]) -> Iterable[str]:
    curves = [figure for (script, _), figure in figures.items() if script == "growth"]
    yield "## How cost grows"
    if not curves:
        yield f"The growth of cost was {NOT_MEASURED} in this run."
        return
    yield _wrapped(
        "Processor time against size on logarithmic scales: an exponent of 1 means that twice the size costs twice as "
        "much. The line is fitted by least squares to the medians; the interval is the 95 % one of its slope. Where a "
        "fixed cost weighs on the small sizes, the exponent between the two largest sizes says more (`at last`)."
    )
    for image in dict.fromkeys(figure["image"] for figure in curves):
        yield f'<img src="{image}" width="820" alt="Cost against size on logarithmic scales">'
    lines = ["| cost | against | exponent | 95 % interval | at last | sizes: cost |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {f['cost']} | {f['against']} | {f['value']:.2f} | [{f['interval'][0]:.2f}, {f['interval'][1]:.2f}] | "
        f"{f['last']:.2f} | {', '.join(f'{x}: {show(y)}' for x, y in zip(f['sizes'], f['points'], strict=True))} |"
        for f in curves
    ]
    yield "\n".join(lines)


def _soak(found: Result | None) -> Iterable[str]:
    yield "## Soak"
    yield _wrapped(
        "`python scripts/soak.py --json benchmarks/results/soak.json` plays rounds of nine mixed episodes into one "
        "log, in a worker process under limits on memory and open files, once undisturbed and, for its first rounds, "
        "once killed at random moments, and compares. Nothing is emptied or begun anew for the measurement. While "
        "bounded caches fill, in the first half, memory grows; growth is judged in the second half, by the upper end "
        "of the slope's 95% interval (Theil-Sen, of the medians of ten groups of rounds)."
    )
    if found is None:
        yield f"{NOT_MEASURED.capitalize()} here."
        return
    limits = found["limits"]
    yield _wrapped(
        f"{found['at']}: {found['minutes']:,.0f} simulated minutes, {found['episodes']:,} episodes in "
        f"{found['rounds']:,} rounds, {found['events']:,} events; {found['kills']} kills in the first "
        f"{found['killed_rounds']} rounds; at most {limits['memory_mb']:,} MB of address space and {limits['files']} "
        "open files."
    )
    lines = [f"| {v['what']} | {v['found']} | {'yes' if v['good'] else '**no**'} |" for v in found["verdicts"]]
    yield "\n".join(["| | found | |", "|---|---|---|", *lines])


def _further(results: Sequence[Result]) -> Iterable[str]:
    promised = {(p.script, p.name) for p in PROMISES}
    lines = []
    for result in results:
        for f in result["figures"]:
            if (result["script"], f["name"]) in promised or result["script"] == "growth":
                continue
            target = "" if f["target"] is None else f" (target {show(f['target'])}{'' if f['met'] else ', MISSED'})"
            lines.append(f"| {result['script']} | {f['what']} | {_measured(f)}{target} |")
    if lines:
        yield "## Further figures"
        yield "\n".join(["| script | what | measured |", "|---|---|---|", *lines])


def _commands(results: Sequence[Result]) -> Iterable[str]:
    yield "## Commands"
    commands = "\n".join(r["command"] for r in results)
    yield "All of it: `make bench`. One by one, with `--json FILE` for a copy of the figures:"
    yield f"```\n{commands}\n```"


def _wrapped(text: str) -> str:
    return fill(text.strip(), 120, break_long_words=False, break_on_hyphens=False)
