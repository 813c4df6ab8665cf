"""`emcoop compare` and `emcoop power`: contrasts between arms of a run, and how many seeds they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from emcoop.analysis.cells import EpisodeRecord, read_records
from emcoop.analysis.compare import AXES, MEASURES, Comparison, compare, pairwise
from emcoop.analysis.decomposition import fewest_seeds
from emcoop.analysis.power import Pilot, pilot
from emcoop.analysis.words import interval, number
from emcoop.cli.output import console, print_json, say
from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError, UnknownName
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader
from emcoop.metrics import metric_order


def show(run: Path, a: str | None, b: str | None, by: str | None, metrics: Sequence[str], *, json: bool) -> None:
    """Print the contrasts of two arms, or of all pairs of values of an axis. Raises ConfigError."""
    _known(metrics)
    with LogReader.open(log_path(run)) as reader:
        records = read_records(reader)
    found = _contrasts(records, a, b, by, tuple(metrics) or MEASURES)
    if json:
        print_json({"run": str(run), "contrasts": [item.to_json() for item in found]})
        return
    out = console()
    for where in dict.fromkeys(_where(item) for item in found):
        out.print(_table(where, [item for item in found if _where(item) == where]))
    out.print(
        "Means over the seeds both have (n of those that either has); the difference with its 95 % BCa interval; p by "
        "sign-flip permutation, Holm over all conditions of a metric; d: Cohen's d; seeds: how many a repeat needs for "
        "80 % power. An interval without width says that all these seeds agree, not that all would."
    )
    _warn_of_few(found)


def _warn_of_few(found: Sequence[Comparison]) -> None:
    """Say when no difference, however large, could be beyond chance."""
    most, conditions = max(item.contrast.difference.n for item in found), max(Counter(i.metric for i in found).values())
    fewest = fewest_seeds(conditions)
    if most < fewest:
        say(
            f"warning: {most} seeds cannot tell one of {conditions} differences of a metric from chance, whatever its "
            f"size; play at least {fewest}"
        )


def power(run: Path, a: str, b: str, metrics: Sequence[str], wanted: float, alpha: float, *, json: bool) -> None:
    """Print how many seeds a repeat needs to tell two arms apart. Raises ConfigError."""
    _known(metrics)
    with LogReader.open(log_path(run)) as reader:
        records = read_records(reader)
    found = [(c, pilot(c.differences, power_wanted=wanted, alpha=alpha)) for c in compare(records, a, b, metrics)]
    if json:
        pilots = [{"metric": c.metric, "where": dict(c.where), **p.to_json()} for c, p in found]
        print_json({"run": str(run), "power": wanted, "alpha": alpha, "pilots": pilots})
        return
    out = console()
    for where in dict.fromkeys(_where(c) for c, _ in found):
        out.print(_power_table(where, [(c, p) for c, p in found if _where(c) == where], wanted))
    out.print(
        "n: seeds that both arms have, of those that either has. "
        "effect: mean over standard deviation of the paired differences. power: that a repeat with the same n finds it "
        f"(two-sided, alpha {alpha:g}). seeds: how many a repeat needs for {wanted:.0%}, were the pilot's effect the "
        "true one. smallest: the effect that n seeds find with that power."
    )
    _warn_of_few([c for c, _ in found])


def _power_table(where: str, found: Sequence[tuple[Comparison, Pilot]], wanted: float) -> Table:
    table = Table(
        "metric", title=Text(where, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=0, pad_edge=False
    )
    table.add_column("a - b", overflow="fold")
    for head in ("n", "difference", "effect", "power", f"seeds for {wanted:.0%}", "smallest"):
        table.add_column(head, justify="right", no_wrap=True)
    for c, p in found:
        difference = f"{number(c.contrast.difference.mean)} {interval(c.contrast.difference)}".strip()
        chance = "-" if p.power is None else f"{p.power:.2f}"
        needed = "no difference" if p.needed is None else str(p.needed)
        table.add_row(c.metric, _arms(c), _pairs(c), difference, number(p.effect), chance, needed, number(p.smallest))
    return table


def _known(metrics: Sequence[str]) -> None:
    for name in metrics:
        if name not in metric_order():
            raise UnknownName(f"unknown metric {name!r}; {nearest(name, metric_order())}")


def _contrasts(
    records: list[EpisodeRecord], a: str | None, b: str | None, by: str | None, metrics: tuple[str, ...]
) -> list[Comparison]:
    if by is not None:
        if a is not None:
            raise ConfigError("give two arms or --by AXIS, not both")
        return pairwise(records, by, metrics)
    if a is None or b is None:
        raise ConfigError(f"name two arms, or all pairs of an axis with --by; axes: {', '.join(AXES)}")
    return compare(records, a, b, metrics)


def _table(where: str, found: Sequence[Comparison]) -> Table:
    """The contrasts of one condition."""
    table = Table(
        "metric", title=Text(where, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=0, pad_edge=False
    )
    table.add_column("a - b", overflow="fold")
    for head in ("n", "a", "b", "difference", "p", "p Holm", "d", "seeds"):
        table.add_column(head, justify="right", no_wrap=True)
    for item in found:
        c = item.contrast
        difference = f"{number(c.difference.mean)} {interval(c.difference)}".strip()
        numbers = (number(c.a.mean), number(c.b.mean), difference, _p(c.p), _p(c.adjusted), number(c.d))
        table.add_row(item.metric, _arms(item), _pairs(item), *numbers, str(item.seeds or "-"))
    return table


def _pairs(item: Comparison) -> str:
    """How many seeds have a value in both arms, and where that is fewer, of how many that have one in either."""
    c = item.contrast
    return f"{c.difference.n} of {c.difference.n + c.unpaired}" if c.unpaired else str(c.difference.n)


def _where(item: Comparison) -> str:
    """What both arms have in common, in words: ``cube hard, 3 agents, scripted``."""
    told = dict(item.where)
    world = " ".join(filter(None, (told.pop("env", ""), told.pop("level", ""))))
    agents = f"{told.pop('agents')} agents" if "agents" in told else ""
    return ", ".join(filter(None, (world, agents, *told.values()))) or "different in everything"


def _arms(item: Comparison) -> str:
    arms = ((item.a, item.a_cell), (item.b, item.b_cell))
    return " - ".join(" ".join(arm.values()) or cell[:8] for arm, cell in arms)


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
