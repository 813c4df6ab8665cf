"""`emcoop run`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from emcoop.cli.meter import Meter, duration
from emcoop.cli.output import print_json, say
from emcoop.cli.reporting import any_of, show
from emcoop.core.canonical import content_hash
from emcoop.core.config import load, read_yaml
from emcoop.core.errors import CapReached, ConfigError, EmcoopError, Interrupted
from emcoop.experiment.caps import NO_CAPS, Caps
from emcoop.experiment.estimate import REASONING_TOKENS, Forecast, forecast, unpriced
from emcoop.experiment.matrix import Matrix, read_matrix, read_settings, without_idle_rules
from emcoop.experiment.merge import MATRIX, merge, shards_of, unfinished
from emcoop.experiment.parts import Shard
from emcoop.experiment.study import Study, check, parse_seeds, play

RUNS = Path("runs")
ASK = 100_000
"""More episodes than this are only played with --yes."""


def matrix_of(
    what: str,
    axes: Mapping[str, str | None],
    seeds: str | None,
    settings: Sequence[str],
    options: Sequence[str],
    interventions: str | None,
    references: bool,
) -> Matrix:
    """The matrix of a file or of an environment's name; what is given on the command line wins over the file."""
    is_file = what.endswith((".yaml", ".yml"))
    base: dict[str, Any] = read_matrix(Path(what)).model_dump() if is_file else {"env": tuple(what.split(","))}
    given: dict[str, object] = {}
    for axis, text in axes.items():
        if text is not None:
            given[axis] = tuple(part.strip() for part in text.split(",") if part.strip())
    if seeds is not None:
        given["seeds"] = seeds
    if settings:
        given["set"] = {**base.get("set", {}), **read_settings(settings)}
    if options:
        given["options"] = {**base.get("options", {}), **read_settings(options)}
    if interventions is not None:
        given["interventions"] = tuple(interventions.split(","))
    if not references:
        given["references"] = ()
    return load(Matrix, {**base, **given}, what if is_file else "run")


@dataclass(frozen=True, slots=True)
class How:
    """How to play a matrix: in so many `workers`, processes of this machine, or with `ray` on a Ray cluster (at
    `address`, else a local one).

    Above ASK episodes, or with caps below the estimate, `yes` is needed.
    """

    jobs: int = 1
    cache: Path | None = None
    caps: Caps = NO_CAPS
    shard: Shard | None = None
    repeats: int = 0
    calls: int | None = None
    yes: bool = False
    workers: int = 1
    ray: bool = False
    address: str | None = None

    @property
    def in_flight(self) -> int:
        """So many episodes are in flight at once, in all workers together."""
        return self.jobs * self.workers


def run(matrix: Matrix, out: Path | None, how: How, *, json: bool) -> None:
    """Play the matrix into its run folder and show the tables. Raises EmcoopError when an episode failed."""
    study = _asked(matrix, how)
    for reason in matrix.not_applicable():
        say(f"not applicable, left out: {reason}")
    for warning in check(study):
        say(f"warning: {warning}")
    folder = out or RUNS / matrix.name
    target = folder if how.shard is None else folder / how.shard.folder
    how = _within_share(how)
    if how.caps.usd is not None and (names := unpriced(study)):
        say(f"warning: the price of {' and '.join(names)} is not known; a cap on money does not bound it, tokens do")
    if how.caps != NO_CAPS and not how.yes:
        low = _low_caps(forecast(study, target, how.shard), how)
        if low:
            raise ConfigError(f"the caps are below the estimate ({'; '.join(low)}); --yes plays until they are reached")
    errors, stopped = [], None
    try:
        errors = play_into(study, matrix, target, how)
    except CapReached as reached:
        part = f" (shard {how.shard.index} has 1/{how.shard.count} of the caps)" if how.shard is not None else ""
        stopped = CapReached(f"{reached}{part}; what is finished is kept in {target}")
    cells, seeds = {cell.cell for cell in study.cells}, set(study.seeds)
    if how.shard is not None:
        say(f"shard {how.shard.index} of {how.shard.count}; when all are played: emcoop merge {folder}")
    if stopped is None or any_of(target, cells, seeds):
        document = show(target, cells=cells, seeds=seeds, json=json)
        if document is not None:
            print_json({"run": str(target), **document})
    if stopped is not None:
        raise stopped
    if errors:
        more = f" (and {len(errors) - 1} more; see the report)" if len(errors) > 1 else ""
        raise EmcoopError(f"{len(errors)} episodes failed; the first: {errors[0]}{more}")


def estimate(matrix: Matrix, out: Path | None, how: How, *, json: bool) -> None:
    """Print what the matrix will take, and play nothing of it."""
    study = _asked(matrix, how)
    folder = out or RUNS / matrix.name
    found = forecast(study, folder if how.shard is None else folder / how.shard.folder, how.shard)
    low = _low_caps(found, _within_share(how))
    if json:
        print_json({"estimate": {**found.to_json(), "caps_below": low}})
        return
    print(_told(found, how.in_flight))
    if low:
        print(f"The caps are below this ({'; '.join(low)}).")


def _asked(matrix: Matrix, how: How) -> Study:
    """The study, unless it is larger than anybody means without saying so."""
    episodes = matrix.size * len(parse_seeds(str(matrix.seeds)))
    if episodes > ASK and not how.yes:
        raise ConfigError(f"this is {episodes:,} episodes or more; say --yes if you mean it, or see --estimate --yes")
    return matrix.study()


def _within_share(how: How) -> How:
    """A shard's part of the caps, since shards hear nothing of each other."""
    return how if how.shard is None else replace(how, caps=how.caps.share(how.shard.count))


def _low_caps(found: Forecast, how: How) -> list[str]:
    """The caps that are below what is to be expected, in words."""
    cost, caps = found.cost, how.caps
    low = []
    if caps.usd is not None and cost.usd is not None and cost.usd > caps.usd:
        low.append(f"${caps.usd:g} of about ${cost.usd:.2f}")
    if caps.tokens is not None and cost.input_tokens + cost.output_tokens > caps.tokens:
        low.append(f"{caps.tokens:,} of about {round(cost.input_tokens + cost.output_tokens):,} tokens")
    if caps.hours is not None and cost.seconds(how.in_flight) > caps.hours * 3600:
        low.append(f"{caps.hours:g} of about {cost.seconds(how.in_flight) / 3600:.1f} hours")
    return low


def _told(found: Forecast, jobs: int) -> str:
    cost = found.cost
    money = "an unknown price" if cost.usd is None else f"${cost.usd:.2f}"
    known = f"{found.past} cells known from the log, {found.tried} from dry runs"
    if found.guessed:
        known += f", {found.guessed} taken as their mean"
    lines = [
        f"{found.episodes:,} episodes to play, {found.finished:,} finished. About {cost.calls:,.0f} model calls, "
        f"{cost.input_tokens:,.0f} tokens in, {cost.output_tokens:,.0f} out, {money}, "
        f"{duration(cost.seconds(jobs))} with {jobs} job{'s' if jobs > 1 else ''} ({known})."
    ]
    for model, calls in found.answers.items():
        if calls:
            lines.append(f"{model}: answers as long and as slow as in {calls:,} past calls of it.")
        else:
            lines.append(
                f"{model}: no past calls found; answers are taken to be what the scripted policy says with "
                f"{REASONING_TOKENS} tokens of reasoning, at the latency that the set-up declares."
            )
    return "\n".join(lines)


def merge_shards(run: Path, *, json: bool) -> None:
    """Copy the shards of a run into its log, and show the tables."""
    shards = shards_of(run)
    copied, same = merge(shards, run)
    say(f"{copied} episodes copied, {same} were there already")
    for shard, (lacking, count) in unfinished(shards).items():
        say(f"warning: shard {shard}: {lacking} of its {count} episodes are not finished; play it on, then merge again")
    matrices = _by_matrix(shards)
    if len(matrices) > 1:
        parts = "; ".join(", ".join(names) for names in matrices.values())
        say(f"warning: these shards were played with different axes, seeds or options: {parts}; each adds what it has")
    elif matrices and not (run / MATRIX).exists():
        _keep(next(iter(matrices)), run)
    document = show(run, json=json)
    if document is not None:
        print_json({"run": str(run), **document})


def _by_matrix(shards: Sequence[Path]) -> dict[str, list[str]]:
    """The matrices that the shards were played with, as they are kept, and which shards (``1/4``) have each.

    Caps tell no two apart: they may be raised from one shard to the next.
    """
    found: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for kept in (folder / MATRIX for folder in shards if (folder / MATRIX).exists()):
        content = {key: value for key, value in read_yaml(kept).items() if key != "caps"}  # `unfinished` has read it
        text = texts.setdefault(content_hash(content), kept.read_text(encoding="utf-8"))
        found.setdefault(text, []).append(kept.parent.name.replace("-of-", "/"))
    return found


def play_into(study: Study, matrix: Matrix, folder: Path, how: How) -> list[str]:
    """Play with live progress; Ctrl-C leaves what is finished and says how to go on."""
    _write_matrix(matrix, folder)
    if how.ray:
        return _on_ray(study, folder, how)
    try:
        with Meter(how.caps) as meter:
            if how.workers > 1:
                return _in_processes(study, folder, how, meter)
            return asyncio.run(
                play(
                    study, folder, jobs=how.jobs, listener=meter, cache=how.cache, caps=how.caps, shard=how.shard,
                    repeats=how.repeats, calls=how.calls,
                )
            )  # fmt: skip
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; finished episodes are kept in {folder}. The same command goes on from there."
        ) from None


def _in_processes(study: Study, folder: Path, how: How, meter: Meter) -> list[str]:
    from emcoop.experiment.workers import play_in_processes

    return play_in_processes(
        study, folder, workers=how.workers, jobs=how.jobs, listener=meter, cache=how.cache, caps=how.caps,
        shard=how.shard, repeats=how.repeats, calls=how.calls, warn=lambda text: say(f"warning: {text}"),
    )  # fmt: skip


def _on_ray(study: Study, folder: Path, how: How) -> list[str]:
    from emcoop.experiment.cluster import play_on_ray

    if how.shard is not None:
        raise ConfigError("--executor ray makes its own shards; leave --shard out")
    return play_on_ray(
        study,
        folder,
        workers=how.workers,
        address=how.address,
        jobs=how.jobs,
        caps=how.caps,
        repeats=how.repeats,
        tell=lambda done, total: say(f"{done}/{total} parts played"),
    )


def _write_matrix(matrix: Matrix, folder: Path) -> None:
    import yaml

    data = without_idle_rules(matrix).model_dump(mode="json")
    _keep(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), folder)


def _keep(text: str, folder: Path) -> None:
    """The matrix as text, beside the log of what was played with it. Raises ConfigError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MATRIX).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be used as a run folder: {error.strerror or error}") from error
