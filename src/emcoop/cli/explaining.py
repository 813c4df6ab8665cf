"""`emcoop explain`, `emcoop gap` and `emcoop decompose`: why teams fail, and what would mend them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from emcoop.analysis.attribution import KINDS as ATTRIBUTION_KINDS
from emcoop.analysis.attribution import Attribution, attribute
from emcoop.analysis.cells import names_of, read_record, read_records, split_references, summarise
from emcoop.analysis.decomposition import Effect, culprit, decompose, fewest_seeds, outcomes, single_effects
from emcoop.analysis.gap import Gap, gaps
from emcoop.analysis.influence import KINDS as INFLUENCE_KINDS
from emcoop.analysis.influence import influence
from emcoop.analysis.prediction import Sample, predict, samples
from emcoop.analysis.stats import Estimate
from emcoop.analysis.words import interval, number, printable
from emcoop.cli.meter import Meter
from emcoop.cli.output import console, print_json, say
from emcoop.core.config import load, nearest
from emcoop.core.errors import ConfigError, EmcoopError, UnknownName
from emcoop.episode.setup import Setup
from emcoop.experiment.factorial import MOST_FACTORS, Design, by_faculty, by_intervention, by_seat, screen
from emcoop.experiment.study import Study, log_path, parse_seeds, play
from emcoop.log.events import EpisodeRow
from emcoop.log.reader import LogReader
from emcoop.metrics import Trace, load_metric
from emcoop.metrics.base import Direction
from emcoop.metrics.trace import KINDS as TRACE_KINDS


def explain(run: Path, cell: str | None, window: int, *, json: bool) -> None:
    """Per cell: a sentence for each failed episode, who was missing how often, who influenced whom, and whether the
    process tells failures beforehand."""
    with LogReader.open(log_path(run)) as reader:
        rows = [row for row in reader.episodes() if row.status == "finished" and row.cell.startswith(cell or "")]
        if not rows:
            raise ConfigError(f"{run}: no finished episode{f' of a cell {cell}' if cell else ''}")
        cells = summarise(read_record(reader, row) for row in rows)
        if cell is None:  # nobody asks why the floor fails
            cells, _ = split_references(cells)
        own = names_of(cells)
        names = {c.cell: f"{c.env} {c.level}, {c.agents} agents: {own[c.cell]}" for c in cells}
        by_cell: dict[str, list[EpisodeRow]] = {}
        for row in rows:
            if row.cell in names:
                by_cell.setdefault(row.cell, []).append(row)
        found = [_explain_cell(reader, names[name], name, mine, window) for name, mine in by_cell.items()]
    if json:
        print_json({"run": str(run), "cells": found})
        return
    for item in found:
        _print_cell(item)


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
    for failure in item["failures"]:
        out.print(f"  episode {failure['episode']}, seed {failure['seed']}: {failure['sentence']}", markup=False)
    if item["failed"]:
        counts = ", ".join(f"{agent.replace('_', ' ')} {n}" for agent, n in item["missing"].items())
        out.print(f"  missing at the stuck task, times: {counts}", markup=False)
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(item["constraints"].items(), key=lambda i: -i[1]))
        out.print(f"  constraint that fell short first, times: {kinds}", markup=False)
    shares = {agent: share for agent, share in item["influence"]["centrality"].items() if share}
    if shares:
        told = ", ".join(f"{agent.replace('_', ' ')} {share:.0%}" for agent, share in shares.items())
        out.print(f"  changed others' plans by messages, share: {told}", markup=False)
    p = item["prediction"]
    if "not_judged" not in p:
        gain = p["gain"]
        out.print(
            f"  the {p['n']} windows before steps: held-out log-loss {p['log_loss']:.3f}, base rate "
            f"{p['base_log_loss']:.3f}, gain {number(gain['mean'])} [{number(gain['low'])}, {number(gain['high'])}]",
            markup=False,
        )
        told = "; ".join(f"{name} {_told(_coefficient(c))}" for name, c in p["coefficients"].items())
        out.print(f"  log-odds of a shortfall per standard deviation: {told}", markup=False)


def _coefficient(found: dict[str, float]) -> Estimate:
    return Estimate(found["mean"], found["low"], found["high"], 0)


def gap(run: Path, metric: str, *, json: bool) -> None:
    """Every team between its floor and its ceiling, beside solo and silent arms."""
    _known_metric(metric)
    with LogReader.open(log_path(run)) as reader:
        found = gaps(read_records(reader), metric)
    if json:
        print_json({"run": str(run), "metric": metric, "gaps": [item.to_json() for item in found]})
        return
    out = console()
    for task in dict.fromkeys(_task(item) for item in found):
        out.print(_gap_table(task, [item for item in found if _task(item) == task]))
    say(
        f"{metric} on a scale from the floor (0) to the oracle (1). matched: solo with the team's agent-steps; "
        "gap: oracle minus team; talk: team minus the same team in silence; retention: team over the better solo."
    )


def _task(item: Gap) -> str:
    where = item.where
    return f"{where['env']} {where['level']}, {where['agents']} agents"


def _gap_table(task: str, found: Sequence[Gap]) -> Table:
    table = Table(title=Text(task, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.add_column("team", overflow="fold", min_width=14)
    for head in ("n", "reached", "solo", "matched", "silent", "gap", "talk", "retention"):
        table.add_column(head, justify="right", no_wrap=True)
    for item in found:
        where = item.where
        team = " ".join(filter(None, (where.get("topology"), where.get("agent"), where.get("model"))))
        cells = [_stacked(e) for e in (item.team, item.solo, item.matched, item.silent, item.gap, item.talk)]
        table.add_row(team, str(item.team.n), *cells, number(item.retention))
    return table


def _stacked(estimate: Estimate | None) -> str:
    return "-" if estimate is None else f"{number(estimate.mean)}\n{interval(estimate)}".strip()


def _told(estimate: Estimate | None) -> str:
    return "-" if estimate is None else f"{number(estimate.mean)} {interval(estimate)}".strip()


def design_of(setup: Setup, by: str, seat: int | None, source: str) -> Design:
    """The cells for a decomposition by ``faculties``, ``seats``, or a ``screen`` of every faculty of every seat.

    Or by interventions, with commas between them: ``assist:request,assist:fulfil``.
    """
    if ":" in by or "," in by:
        return by_intervention(setup, [name.strip() for name in by.split(",")])
    kinds = ("faculties", "seats", "screen")
    if by not in kinds:
        raise ConfigError(f"--by {by!r}: {nearest(by, kinds)}")
    if seat is not None and (by != "faculties" or seat >= setup.agents):
        raise ConfigError(f"--seat goes with --by faculties and is one of 0-{setup.agents - 1}")
    if by == "faculties":
        return by_faculty(setup, source, seat)
    if by == "seats":
        return by_seat(setup, source, "full" if setup.agents <= MOST_FACTORS else "single")
    return screen(setup, source)


def decomposition(
    run: Path,
    cell: str,
    by: str,
    seat: int | None,
    source: str,
    metric: str,
    seeds: str | None,
    jobs: int,
    *,
    json: bool,
) -> None:
    """Play what a decomposition of this cell needs into the same run, and print what each factor is worth."""
    _known_metric(metric)
    lower = load_metric(metric).direction is Direction.LOWER
    setup, played = _cell_of(run, cell)
    design = design_of(setup, by, seat, source)
    study = Study(cells=design.setups(), seeds=parse_seeds(seeds) if seeds is not None else played)
    fewest = fewest_seeds(len(design.factors))
    if len(study.seeds) < fewest:
        say(
            f"warning: {len(study.seeds)} seeds cannot name one of {len(design.factors)} factors, whatever its effect; "
            f"play at least {fewest} (--seeds)"
        )
    with Meter() as meter:
        errors = asyncio.run(play(study, run, jobs=jobs, listener=meter))
    if errors:
        raise EmcoopError(f"{len(errors)} episodes failed; the first: {errors[0]}")
    cells = {coalition: own.cell for coalition, own in design.cells.items()}
    wanted = set(cells.values())
    with LogReader.open(log_path(run)) as reader:
        rows = [row for row in reader.episodes() if row.cell in wanted and row.seed in study.seeds]
        records = [read_record(reader, row) for row in rows]
    values = outcomes(records, cells, metric, lower_is_better=lower)
    singles = single_effects(values)
    named = culprit(singles)
    document: dict[str, Any] = {"cell": setup.cell, "metric": metric, "source": source, "seeds": len(study.seeds)}
    document["fewest_seeds"] = fewest
    document |= {"single": [e.to_json() for e in singles], "culprit": named.to_json() if named else None}
    if by != "screen":
        document |= decompose(design.factors, values).to_json()
    if json:
        print_json({"run": str(run), **document})
        return
    out = console()
    taken = "with it alone" if ":" in by or "," in by else f"{source} instead, alone"
    out.print(_effects_table(taken, singles))
    if by != "screen":
        found = decompose(design.factors, values)
        out.print(_effects_table("Shapley value", found.shapley), _effects_table("interaction", found.interactions))
    name = f"{named.factors[0]} is where this team loses most" if named else "no factor helps beyond chance"
    out.print(
        f"{name}. Effects on {metric}{' (turned: more is better)' if lower else ''}, n = {len(study.seeds)} seeds."
    )


def _effects_table(title: str, effects: Sequence[Effect]) -> Table:
    table = Table(title, box=None, pad_edge=False)
    for head in ("effect", "p", "p Holm"):
        table.add_column(head, justify="right")
    for effect in effects:
        p = ["-" if v is None else f"{v:.4f}" for v in (effect.p, effect.adjusted)]
        table.add_row(" x ".join(effect.factors), _told(effect.estimate), *p)
    return table


def _cell_of(run: Path, cell: str) -> tuple[Setup, tuple[int, ...]]:
    """The set-up of the cell with this beginning, and its finished seeds. Raises ConfigError for none or several."""
    with LogReader.open(log_path(run)) as reader:
        rows = [row for row in reader.episodes() if row.cell.startswith(cell)]
    cells = dict.fromkeys(row.cell for row in rows)
    if len(cells) != 1:
        have = ", ".join(list(cells)[:6]) or "none"
        raise ConfigError(f"{run}: {len(cells)} cells begin with {printable(cell)!r} ({have}); see emcoop replay {run}")
    seeds = tuple(sorted({row.seed for row in rows if row.status == "finished"}))
    return load(Setup, dict(rows[0].setup), "the logged set-up"), seeds


def _known_metric(name: str) -> None:
    from emcoop.metrics import metric_order

    if name not in metric_order():
        raise UnknownName(f"unknown metric {name!r}; {nearest(name, metric_order())}")
