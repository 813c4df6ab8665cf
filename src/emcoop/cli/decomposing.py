"""`emcoop decompose`: which faculty of which seat costs the team, and who does not listen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from emcoop.analysis.cells import read_record
from emcoop.analysis.compare import cells_of
from emcoop.analysis.decomposition import Effect, culprit, decompose, fewest_seeds, mainstay, outcomes, single_effects
from emcoop.analysis.listening import FEWEST, Conduct, Listening, conduct, deaf_seats, listening
from emcoop.analysis.listening import KINDS as LISTENING_KINDS
from emcoop.analysis.words import printable, task_and_team
from emcoop.cli.explaining import known_metric, told
from emcoop.cli.meter import Meter
from emcoop.cli.output import console, print_json, say
from emcoop.core.config import load, nearest
from emcoop.core.errors import ConfigError, EmcoopError
from emcoop.episode.setup import Setup
from emcoop.experiment.caps import NO_CAPS, Caps
from emcoop.experiment.factorial import MOST_FACTORS, Design, by_faculty, by_intervention, by_listening, by_seat, screen
from emcoop.experiment.study import Study, log_path, parse_seeds, play
from emcoop.log.events import EpisodeRow
from emcoop.log.reader import LogReader
from emcoop.metrics import load_metric
from emcoop.metrics.base import Direction

LISTENING = "listening"
NULL = "null"
ORACLE = "oracle"

VERDICTS = {
    ORACLE: ("where this team loses most: {}", None, "no factor helps beyond chance"),
    NULL: ("the team does better without {}", "what the team misses most: {}", "no factor is missed beyond chance"),
}
OTHERWISE = ("what helps most: {}", "what costs most: {}", "no factor helps or costs beyond chance")
"""What is said of the factor whose being taken over helps most, of the one whose costs most, and without any."""
SHOWN_CELLS = 6


def design_of(setup: Setup, by: str, seat: int | None, source: str) -> Design:
    """The cells for a decomposition by ``faculties``, ``seats``, or a ``screen`` of every faculty of every seat.

    Or by interventions, with commas between them: ``assist:request,assist:fulfil``.
    """
    if _interventions(by):
        return by_intervention(setup, [name.strip() for name in by.split(",")])
    kinds = ("faculties", "seats", "screen", LISTENING)
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
    cache: Path | None = None,
    caps: Caps = NO_CAPS,
) -> None:
    """Play what a decomposition of this cell needs into the same run, and print what each factor is worth.

    `cache` keeps the answers of models, `caps` bound what these episodes use, those of them that were played before
    included. Raises ConfigError, and CapReached.
    """
    known_metric(metric)
    setup, played = _cell_of(run, cell)
    chosen = parse_seeds(seeds) if seeds is not None else played
    if by == LISTENING:
        if seat is not None:
            raise ConfigError(f"--seat goes with --by faculties, not with --by {LISTENING}")
        _listeners(run, setup, chosen, jobs, cache, caps, json=json)
        return
    lower = load_metric(metric).direction is Direction.LOWER
    design = design_of(setup, by, seat, source)
    fewest = fewest_seeds(len(design.factors))
    if len(chosen) < fewest:
        say(
            f"warning: {len(chosen)} seeds cannot name one of {len(design.factors)} factors, whatever its effect; "
            f"play at least {fewest} (--seeds)"
        )
    rows = _played(run, design, chosen, jobs, cache, caps)
    with LogReader.open(log_path(run)) as reader:
        records = [read_record(reader, row) for row in rows]
    cells = {coalition: own.cell for coalition, own in design.cells.items()}
    values = outcomes(records, cells, metric, lower_is_better=lower)
    singles = single_effects(values)
    swaps = not _interventions(by)
    helping, costing = culprit(singles), mainstay(singles)
    every = decompose(design.factors, values) if by != "screen" else None
    if json:
        document: dict[str, Any] = {"cell": setup.cell, "metric": metric, "source": source if swaps else None}
        document |= {"seeds": len(chosen), "fewest_seeds": fewest, "single": [e.to_json() for e in singles]}
        document |= {"culprit": helping.to_json() if helping else None}
        document |= {"mainstay": costing.to_json() if costing else None}
        print_json({"run": str(run), **document, **(every.to_json() if every else {})})
        return
    out = console()
    out.print(_effects_table(f"{source} instead, alone" if swaps else "with it alone", singles))
    if every:
        for title, effects in (("main effect", every.main), ("interaction", every.interactions)):
            if effects:
                out.print(_effects_table(title, effects))
        out.print(_effects_table("Shapley value", every.shapley))
    n = _seeds([*singles, *(every.shapley if every else ())], len(chosen), metric)
    about = f"Effects on {metric}{' (turned: more is better)' if lower else ''}, {n}."
    words = VERDICTS.get(source, OTHERWISE) if swaps else OTHERWISE
    most = _alike(singles, helping), _alike(singles, costing)
    verdict = _verdict(words, most, metric, list(values[frozenset()].values()))
    out.print(f"{verdict}. {about}", markup=False)


def _interventions(by: str) -> bool:
    """Whether the factors are interventions, and not what another agent takes over."""
    return ":" in by or "," in by


def _alike(effects: Sequence[Effect], effect: Effect | None) -> str:
    """The factor of this effect, and those whose effect is the same; nothing for None."""
    if effect is None:
        return ""
    same = [other.factors[0] for other in effects if other.estimate.mean == effect.estimate.mean]
    return " and ".join(same)


def _verdict(words: tuple[str, str | None, str], most: tuple[str, str], metric: str, untouched: Sequence[float]) -> str:
    (helps, costs, nothing), (helping, costing) = words, most
    found = [helps.format(helping)] if helping else []
    if costing and costs:
        found.append(costs.format(costing))
    if found:
        return "; ".join(found)
    ends = sum(value in (0, 1) for value in untouched)
    if metric != "progress" or 4 * ends < len(untouched):
        return nothing
    return (
        f"{nothing}; progress is 0 or 1 in {ends} seeds of the team, where --metric steps is "
        "finer; look at it on other seeds (--seeds), since a second look at these would double the false alarms"
    )


def _seeds(effects: Sequence[Effect], played: int, metric: str) -> str:
    """On how many seeds the effects are: those on which the metric is defined with the factor and without."""
    counts = sorted({effect.estimate.n for effect in effects})
    if counts == [played]:
        return f"n = {played} seeds"
    n = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"n = {n} of {played} seeds: those with a value of {metric} with the factor and without"


def _played(
    run: Path, design: Design, seeds: Sequence[int], jobs: int, cache: Path | None, caps: Caps
) -> list[EpisodeRow]:
    """The finished episodes of the design's cells on these seeds, played where they are not yet. Raises EmcoopError."""
    study = Study(cells=design.setups(), seeds=tuple(seeds))
    with Meter(caps) as meter:
        errors = asyncio.run(play(study, run, jobs=jobs, listener=meter, cache=cache, caps=caps))
    if errors:
        raise EmcoopError(f"{len(errors)} episodes failed; the first: {errors[0]}")
    wanted = {own.cell for own in design.cells.values()}
    with LogReader.open(log_path(run)) as reader:
        return [row for row in reader.episodes() if row.cell in wanted and row.seed in seeds]


def _listeners(
    run: Path, setup: Setup, seeds: Sequence[int], jobs: int, cache: Path | None, caps: Caps, *, json: bool
) -> None:
    """Make every seat deaf, alone, and print whose messages change what the team does."""
    if len(seeds) < FEWEST:
        say(f"warning: {len(seeds)} seeds cannot name a seat that does not listen; play at least {FEWEST} (--seeds)")
    design = by_listening(setup)
    rows = _played(run, design, seeds, jobs, cache, caps)
    deaf = {own.cell: next(iter(coalition), "") for coalition, own in design.cells.items()}
    by_seat: dict[str, dict[int, Conduct]] = {agent: {} for agent in deaf.values()}
    with LogReader.open(log_path(run)) as reader:
        for row in rows:
            by_seat[deaf[row.cell]][row.seed] = conduct(reader.events(row.id, kinds=LISTENING_KINDS))
    found = listening(by_seat.pop(""), by_seat)
    if json:
        seats = [seat.to_json() for seat in found]
        print_json({"run": str(run), "cell": setup.cell, "seeds": len(seeds), "listening": seats})
        return
    out = console()
    out.print(_listening_table(found))
    named = deaf_seats(found)
    open_ = [seat.agent for seat in found if seat.read and not seat.changed.mean and seat.agent not in named]
    told_so = []
    if named:
        told_so.append(f"{' and '.join(named)}: messages come, and change nothing that the team says, plans or does")
    if open_:
        told_so.append(f"{' and '.join(open_)}: nothing has changed yet, in too few seeds to say more")
    out.print(f"{'; '.join(told_so) or 'every seat that gets messages uses them'}; n = {len(seeds)}.", markup=False)


def _listening_table(found: Sequence[Listening]) -> Table:
    table = Table("seat", box=None, pad_edge=False)
    for head in ("messages read", "seeds in which they change anything"):
        table.add_column(head, justify="right")
    for seat in found:
        table.add_row(seat.agent, str(seat.read), told(seat.changed))
    return table


def _effects_table(title: str, effects: Sequence[Effect]) -> Table:
    table = Table(title, box=None, pad_edge=False)
    for head in ("effect", "p", "p Holm"):
        table.add_column(head, justify="right")
    for effect in effects:
        p = ["-" if v is None else f"{v:.4f}" for v in (effect.p, effect.adjusted)]
        table.add_row(" x ".join(effect.factors), told(effect.estimate), *p)
    return table


def _cell_of(run: Path, text: str) -> tuple[Setup, tuple[int, ...]]:
    """The set-up of the one cell that a selector fits (see `cells_of`), and its finished seeds. Raises ConfigError."""
    with LogReader.open(log_path(run)) as reader:
        rows = reader.episodes()
    setups = {row.cell: row.setup for row in rows}
    cells = cells_of(text, setups)
    if len(cells) != 1:
        more = f" and {len(cells) - SHOWN_CELLS} more" if len(cells) > SHOWN_CELLS else ""
        have = "; ".join(f"{cell[:8]} {' '.join(task_and_team(setups[cell]))}" for cell in cells[:SHOWN_CELLS])
        raise ConfigError(
            f"{len(cells)} cells of {run} fit {printable(text)!r}: {have}{more}; name one: axis=value,..."
        )
    seeds = tuple(sorted({row.seed for row in rows if row.cell == cells[0] and row.status == "finished"}))
    return load(Setup, dict(setups[cells[0]]), "the logged set-up"), seeds
