"""`emcoop explain` and `emcoop gap`: why teams fail, and what their cooperation is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from emcoop.analysis.attribution import KINDS as ATTRIBUTION_KINDS
from emcoop.analysis.attribution import Attribution, attribute
from emcoop.analysis.cells import names_of, read_record, read_records, split_references, summarise
from emcoop.analysis.compare import cells_of
from emcoop.analysis.gap import INFORMED, Gap, gaps
from emcoop.analysis.influence import KINDS as INFLUENCE_KINDS
from emcoop.analysis.influence import influence
from emcoop.analysis.prediction import Sample, predict, samples
from emcoop.analysis.stats import Estimate
from emcoop.analysis.words import interval, number, printable
from emcoop.cli.output import console, print_json, say
from emcoop.core.config import load, nearest
from emcoop.core.errors import ConfigError, UnknownName
from emcoop.episode.setup import Setup
from emcoop.experiment.study import log_path
from emcoop.interventions import why_not
from emcoop.log.events import EpisodeRow
from emcoop.log.reader import LogReader
from emcoop.metrics import Trace
from emcoop.metrics.trace import KINDS as TRACE_KINDS


def explain(run: Path, cell: str | None, window: int, *, json: bool) -> None:
    """Per cell: a sentence for each failed episode, who was missing how often, who influenced whom, and whether the
    process tells failures beforehand."""
    with LogReader.open(log_path(run)) as reader:
        rows = [row for row in reader.episodes() if row.status == "finished"]
        if not rows:
            raise ConfigError(f"{run}: no finished episode")
        chosen = set(cells_of(cell or "", {row.cell: row.setup for row in rows}))
        rows = [row for row in rows if row.cell in chosen]
        records = [read_record(reader, row) for row in rows]
        cells = summarise(records)
        own = names_of(cells)
        never = {record.cell: record.impossible for record in records}
        cells, _ = split_references(cells)  # nobody asks why the floor fails
        names = {c.cell: f"{_world(c.env, c.level, c.agents)}: {own[c.cell]}" for c in cells}
        by_cell: dict[str, list[EpisodeRow]] = {}
        for row in rows:
            if row.cell in names:
                by_cell.setdefault(row.cell, []).append(row)
        found = [
            {**_explain_cell(reader, names[name], name, mine, window), "impossible": never[name]}
            for name, mine in by_cell.items()
        ]
    if json:
        print_json({"run": str(run), "cells": found})
        return
    for item in found:
        _print_cell(item)
    if any(item["failed"] for item in found):
        say(f"Sentences tell what was short in the last {window} steps, which need not be why the episode failed.")


def _world(env: str, level: str, agents: int | str) -> str:
    return f"{env} {level}, {agents} agent{'' if int(agents) == 1 else 's'}"


def _explain_cell(reader: LogReader, name: str, cell: str, rows: list[EpisodeRow], window: int) -> dict[str, Any]:
    failures: list[tuple[EpisodeRow, Attribution]] = []
    steps: list[Sample] = []
    for row in rows:
        found = attribute(reader.events(row.id, kinds=ATTRIBUTION_KINDS), window)
        if found is not None:
            failures.append((row, found))
        steps += samples(Trace.build(reader.events(row.id, kinds=TRACE_KINDS)), row.seed)
    graph = influence(reader.events(row.id, kinds=INFLUENCE_KINDS) for row in rows)
    try:
        prediction: dict[str, Any] = predict(steps).to_json()
    except ConfigError as error:
        prediction = {"not_judged": str(error)}
    missing = Counter(agent for _, found in failures for agent in found.missing)
    return {
        "cell": cell,
        "name": name,
        "episodes": len(rows),
        "failed": len(failures),
        "failures": [{"episode": row.id, "seed": row.seed, **found.to_json()} for row, found in failures],
        "constraints": dict(Counter(f.constraint.value if f.constraint else "none" for _, f in failures)),
        "missing": {agent: missing[agent] for agent in graph.team},
        "influence": graph.to_json(),
        "prediction": prediction,
    }


def _print_cell(item: dict[str, Any]) -> None:
    out = console()
    out.print(f"{item['name']}: {item['failed']} of {item['episodes']} episodes failed", markup=False)
    if item["impossible"]:
        out.print(f"  nobody could win here: {printable(item['impossible'])}", markup=False)
    for failure in item["failures"]:
        out.print(f"  episode {failure['episode']}, seed {failure['seed']}: {failure['sentence']}", markup=False)
    if item["failed"]:
        counts = ", ".join(f"{agent.replace('_', ' ')} {n}" for agent, n in item["missing"].items())
        out.print(f"  missing at the stuck task, times: {counts}", markup=False)
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(item["constraints"].items(), key=lambda i: -i[1]))
        out.print(f"  constraint that fell short first, times: {kinds}", markup=False)
    shares = {agent: share for agent, share in item["influence"]["centrality"].items() if share}
    if shares:
        listed = ", ".join(f"{agent.replace('_', ' ')} {share:.0%}" for agent, share in shares.items())
        out.print(f"  changed others' plans by messages, share: {listed}", markup=False)
    p = item["prediction"]
    if "not_judged" not in p:
        gain = p["gain"]
        out.print(
            f"  the {p['n']} windows before steps: held-out log-loss {p['log_loss']:.3f}, base rate "
            f"{p['base_log_loss']:.3f}, gain {number(gain['mean'])} [{number(gain['low'])}, {number(gain['high'])}]",
            markup=False,
        )
        listed = "; ".join(f"{name} {told(_coefficient(c))}" for name, c in p["coefficients"].items())
        out.print(f"  log-odds of a shortfall per standard deviation: {listed}", markup=False)


def _coefficient(found: dict[str, float]) -> Estimate:
    return Estimate(found["mean"], found["low"], found["high"], 0)


def gap(run: Path, metric: str, *, json: bool) -> None:
    """Every team between its floor and its ceiling, beside solo and silent arms."""
    known_metric(metric)
    with LogReader.open(log_path(run)) as reader:
        found = gaps(read_records(reader), metric)
        setups = {row.cell: load(Setup, dict(row.setup), "the logged set-up") for row in reader.episodes()}
    reasons = {item.cell: why_not(setups[item.cell], INFORMED) for item in found if item.informed is None}
    if json:
        listed = [{**item.to_json(), "informed_not_applicable": reasons.get(item.cell)} for item in found]
        print_json({"run": str(run), "metric": metric, "gaps": listed})
        return
    out = console()
    names = _tasks(found, setups)
    for task in dict.fromkeys(names):
        out.print(_gap_table(task, [item for item, name in zip(found, names, strict=True) if name == task], reasons))
    say(
        f"{metric} on a scale from the floor (0) to the oracle (1). informed: one agent alone with full information; "
        "solo: alone in the team's world; matched: solo with the team's agent-steps; silent: the team without "
        "messages; gap: oracle minus team; talk: team minus silent; retention: team over the best solo. Below a mean: "
        "its 95 % interval over seeds, given floor and oracle; an n of its own where it has other seeds than the team."
    )
    for reason in dict.fromkeys(filter(None, reasons.values())):
        say(f"n/a: {reason}")
    above = [name for item, name in zip(found, names, strict=True) if (item.team.mean or 0.0) > 1]
    for task in dict.fromkeys(above):
        say(f"{task}: a team is above the oracle, so that is no ceiling here, and the gap says nothing")


def _tasks(found: Sequence[Gap], setups: Mapping[str, Setup]) -> list[str]:
    """The task of each, with the environment's options and the limits where the run has it with several."""
    tasks = [_world(item.where["env"], item.where["level"], item.where["agents"]) for item in found]
    worlds: dict[str, set[str]] = {}
    for task, item in zip(tasks, found, strict=True):
        worlds.setdefault(task, set()).add(item.world)
    return [
        f"{task}, {_settings(setups[item.cell])}" if len(worlds[task]) > 1 else task
        for task, item in zip(tasks, found, strict=True)
    ]


def _settings(setup: Setup) -> str:
    given = {**setup.env_options, **setup.limits.model_dump(exclude_none=True)}
    return printable(", ".join(f"{name} {value}" for name, value in given.items())) or "no options"


def _gap_table(task: str, found: Sequence[Gap], reasons: Mapping[str, str | None]) -> Table:
    scale = f"{task}; floor {number(found[0].floor)}, oracle {number(found[0].ceiling)}"
    table = Table(title=Text(scale, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.add_column("team", overflow="fold", min_width=14)
    for head in ("n", "reached", "informed", "solo", "matched", "silent", "gap", "talk", "retention"):
        table.add_column(head, justify="right", no_wrap=True)
    for item in found:
        where = item.where
        team = " ".join(filter(None, (where.get("topology"), where.get("agent"), where.get("model"))))
        informed = "n/a" if reasons.get(item.cell) else _stacked(item.informed, item.team.n)
        cells = [_stacked(e, item.team.n) for e in (item.solo, item.matched, item.silent, item.gap, item.talk)]
        table.add_row(team, str(item.team.n), _stacked(item.team), informed, *cells, number(item.retention))
    return table


def _stacked(estimate: Estimate | None, n: int | None = None) -> str:
    """The mean above its interval: narrow, so that all anchors stand side by side in a terminal.

    Its own n is told where that is not this one.
    """
    if estimate is None:
        return "-"
    centre, low, high = (number(value) for value in (estimate.mean, estimate.low, estimate.high))
    own = "" if n in (None, estimate.n) else f"\nn={estimate.n}"
    return (centre if low == high == centre else f"{centre}\n{low} to\n{high}") + own


def told(estimate: Estimate | None) -> str:
    """The mean and its interval in one line."""
    return "-" if estimate is None else f"{number(estimate.mean)} {interval(estimate)}".strip()


def known_metric(name: str) -> None:
    """Raises UnknownName for a metric that there is not."""
    from emcoop.metrics import metric_order

    if name not in metric_order():
        raise UnknownName(f"unknown metric {name!r}; {nearest(name, metric_order())}")
