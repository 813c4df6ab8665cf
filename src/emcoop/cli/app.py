"""The program `emcoop`: its commands, their options, and how it ends."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from emcoop import __version__
from emcoop.core.errors import ConfigError, EmcoopError, Interrupted

app = typer.Typer(
    name="emcoop",
    help="The laboratory for cooperation among language-model agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models_app = typer.Typer(help="Local language models.", no_args_is_help=True)
app.add_typer(models_app, name="models")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Run = Annotated[Path, typer.Argument(help="A run folder, or a log file.")]


class Executor(StrEnum):
    """Where episodes are played."""

    LOCAL = "local"
    RAY = "ray"


class Kind(StrEnum):
    """What can be listed."""

    ENVS = "envs"
    TOPOLOGIES = "topologies"
    AGENTS = "agents"
    MODELS = "models"
    METRICS = "metrics"
    INTERVENTIONS = "interventions"


@app.command()
def run(
    what: Annotated[str, typer.Argument(help="An environment's name, or a YAML file with the axes.")],
    level: Annotated[str | None, typer.Option(help="Levels, comma-separated, or a scenario file.")] = None,
    agents: Annotated[str | None, typer.Option(help="Team sizes, comma-separated.")] = None,
    topology: Annotated[str | None, typer.Option(help="Topologies, comma-separated.")] = None,
    agent: Annotated[str | None, typer.Option(help="Agents, comma-separated; llm+scripted mixes a team.")] = None,
    model: Annotated[str | None, typer.Option(help="Models, comma-separated, each adapter:name[@url].")] = None,
    seeds: Annotated[str | None, typer.Option(help="For example 0-9, or 0-4,9000.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A value of the set-up: a.b=c. Repeatable.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="An option of the agents: key=value. Repeatable.")] = None,
    intervention: Annotated[str | None, typer.Option(help="Interventions, comma-separated, in order.")] = None,
    references: Annotated[bool, typer.Option(help="Play the floors and the ceiling beside.")] = True,
    out: Annotated[Path | None, typer.Option(help="The run folder; by default runs/NAME, named by content.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Episodes in flight at once, in each worker.")] = 1,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that share the episodes; with ray 2.")] = None,
    cache: Annotated[Path | None, typer.Option(help="A file that keeps model answers for repeats.")] = None,
    shard: Annotated[str | None, typer.Option(help="Play only the part i/n of the episodes; see merge.")] = None,
    max_usd: Annotated[float | None, typer.Option(help="Begin no episode once so many dollars are spent.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="... once so many tokens are used.")] = None,
    max_hours: Annotated[float | None, typer.Option(help="... after so many hours.")] = None,
    repeats: Annotated[int, typer.Option(min=0, help="Tries more of an episode that a provider spoiled.")] = 1,
    calls: Annotated[int | None, typer.Option(min=1, help="Model calls in flight at most; by default 8 to 64.")] = None,
    executor: Annotated[Executor, typer.Option(help="On this machine, or on a Ray cluster.")] = Executor.LOCAL,
    address: Annotated[str | None, typer.Option(help="With ray: the cluster; by default a local one is made.")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it will take, and play nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Play however much it is.")] = False,
    json: Json = False,
) -> None:
    """Play episodes and report on them. An interrupted or extended run goes on where it was."""
    from emcoop.cli import running
    from emcoop.core.config import load
    from emcoop.experiment.caps import Caps
    from emcoop.experiment.parts import Shard

    axes = {"level": level, "agents": agents, "topology": topology, "agent": agent, "model": model}
    matrix = running.matrix_of(what, axes, seeds, set_ or [], option or [], intervention, references)
    given = {"usd": max_usd, "tokens": max_tokens, "hours": max_hours}
    caps = load(Caps, matrix.caps.model_dump() | {name: cap for name, cap in given.items() if cap is not None}, "caps")
    part = Shard.parse(shard) if shard is not None else None
    how = running.How(
        jobs=jobs,
        cache=cache,
        caps=caps,
        shard=part,
        repeats=repeats,
        calls=calls,
        yes=yes,
        workers=workers or (2 if executor is Executor.RAY else 1),
        ray=executor is Executor.RAY,
        address=address,
    )
    (running.estimate if estimate else running.run)(matrix, out, how, json=json)


@app.command()
def merge(
    run: Annotated[Path, typer.Argument(help="The run folder whose shards have been played.")], json: Json = False
) -> None:
    """Put the shards of a run together into its log."""
    from emcoop.cli import running

    running.merge_shards(run, json=json)


@app.command()
def report(
    run: Run,
    parquet: Annotated[Path | None, typer.Option(help="Write episodes and events as Parquet into this folder.")] = None,
    json: Json = False,
) -> None:
    """Tables of a run's episodes, and its report.html and report.md."""
    from emcoop.cli import reporting

    if parquet is not None:
        reporting.parquet(run, parquet)
    else:
        reporting.report(run, json=json)


@app.command()
def compare(
    run: Run,
    a: Annotated[str | None, typer.Argument(help="An arm: centralized, axis=value[,...], or a cell.")] = None,
    b: Annotated[str | None, typer.Argument(help="The arm it is compared with.")] = None,
    by: Annotated[str | None, typer.Option(help="All pairs of values of this axis instead, e.g. topology.")] = None,
    metric: Annotated[list[str] | None, typer.Option(help="What to compare. Repeatable.")] = None,
    json: Json = False,
) -> None:
    """Differences between arms, paired by seed, with intervals, permutation tests and effect sizes."""
    from emcoop.cli import comparing

    comparing.show(run, a, b, by, metric or [], json=json)


@app.command()
def power(
    run: Run,
    a: Annotated[str, typer.Argument(help="An arm: centralized, axis=value[,...], or a cell.")],
    b: Annotated[str, typer.Argument(help="The arm it is to be told apart from.")],
    metric: Annotated[list[str] | None, typer.Option(help="By what; success and progress by default.")] = None,
    wanted: Annotated[float, typer.Option("--power", help="The chance of finding the difference.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="The level of the two-sided test.")] = 0.05,
    json: Json = False,
) -> None:
    """How many seeds it takes to tell two arms apart, with this run as the pilot."""
    from emcoop.cli import comparing

    comparing.power(run, a, b, metric or ["success", "progress"], wanted, alpha, json=json)


@app.command()
def replay(
    run: Run,
    episode: Annotated[int | None, typer.Argument(help="The episode's number; without it, all are listed.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Play the world again and compare every state.")] = False,
    export: Annotated[Path | None, typer.Option(help="Write the episode's events as JSON lines here.")] = None,
    json: Json = False,
) -> None:
    """What happened in an episode, its digest, and the proof that the log tells the truth."""
    from emcoop.cli import replaying

    replaying.replay(run, episode, verify=verify, export=export, json=json)


@app.command()
def view(
    run: Run,
    export: Annotated[Path | None, typer.Option(help="Write the page with all its data into this HTML file.")] = None,
    episodes: Annotated[str | None, typer.Option(help="Episodes to export: 3, or 1-5; else all.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="By default 7700, or a free one.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; beyond this machine the page needs a token.")] = (
        "127.0.0.1"
    ),
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Walk around in a run: a page in the browser, or one HTML file that works without a server."""
    from emcoop.cli import viewing

    viewing.view(run, export=export, episodes=episodes, host=host, port=port, browser=browser)


@app.command()
def explain(
    run: Run,
    cell: Annotated[
        str | None, typer.Argument(help="Some cells: debate,level=hard, or the beginning of a name.")
    ] = None,
    window: Annotated[int, typer.Option(min=1, help="Steps before the failure that are looked at.")] = 20,
    json: Json = False,
) -> None:
    """Why episodes failed: the step, the constraint that fell short, and who was missing."""
    from emcoop.cli import explaining

    explaining.explain(run, cell, window, json=json)


@app.command()
def gap(
    run: Run,
    metric: Annotated[str, typer.Option(help="What is put on the scale.")] = "progress",
    json: Json = False,
) -> None:
    """Teams between floor and ceiling, beside one agent alone and the team without messages."""
    from emcoop.cli import explaining

    explaining.gap(run, metric, json=json)


@app.command()
def dialogue(run: Run, json: Json = False) -> None:
    """What dialogue worlds (maze, exchange) measure of their own, beside the published rows."""
    from emcoop.cli import dialogue as told

    told.dialogue(run, json=json)


@app.command()
def decompose(
    run: Run,
    cell: Annotated[str, typer.Argument(help="The cell: debate,level=hard,none, or the beginning of its name.")],
    by: Annotated[
        str, typer.Option(help="screen (every faculty of every seat), faculties, seats, listening, or interventions.")
    ] = "screen",
    seat: Annotated[int | None, typer.Option(min=0, help="With faculties: of this seat only.")] = None,
    source: Annotated[str, typer.Option(help="Who takes over: oracle, null, or another agent.")] = "oracle",
    metric: Annotated[str, typer.Option(help="The outcome.")] = "progress",
    seeds: Annotated[str | None, typer.Option(help="By default those that the cell was played with.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Episodes in flight at once.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="A file that keeps model answers for repeats.")] = None,
    max_usd: Annotated[float | None, typer.Option(help="Begin no episode once so many dollars are spent.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="... once so many tokens are used.")] = None,
    json: Json = False,
) -> None:
    """Which faculty of which seat costs the team: swap them, play, and compare."""
    from emcoop.cli import decomposing
    from emcoop.core.config import load
    from emcoop.experiment.caps import Caps

    caps = load(Caps, {"usd": max_usd, "tokens": max_tokens}, "caps")
    decomposing.decomposition(run, cell, by, seat, source, metric, seeds, jobs, json=json, cache=cache, caps=caps)


@app.command()
def fork(
    run: Run,
    episode: Annotated[int, typer.Argument(help="The episode's number; see emcoop replay RUN.")],
    at: Annotated[int | None, typer.Option(min=0, help="The step after which the swapped seats decide.")] = None,
    swap: Annotated[list[str] | None, typer.Option(help="SEAT=AGENT[:ADAPTER:MODEL]. Repeatable.")] = None,
    drop: Annotated[int | None, typer.Option(min=1, help="Lose this message on its way.")] = None,
    delay: Annotated[str | None, typer.Option(help="MESSAGE=SECONDS: deliver it so much later.")] = None,
    rewrite: Annotated[str | None, typer.Option(help="MESSAGE=TEXT: deliver other words.")] = None,
    sweep: Annotated[str | None, typer.Option(help="Find the last step from which this policy still wins.")] = None,
    json: Json = False,
) -> None:
    """What would have happened: continue a logged episode with other agents, or with one message changed."""
    from emcoop.cli import forking

    if sweep is None:
        forking.fork(run, episode, forking.fork_of(at, swap or [], drop, delay, rewrite), json=json)
    elif (at, swap or None, drop, delay, rewrite) == (None,) * 5:
        forking.sweep(run, episode, sweep, json=json)
    else:
        raise ConfigError("--sweep goes over all steps and changes nothing else; leave out --at, --swap, --drop, ...")


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: Json = False) -> None:
    """Everything of one kind that can be named, installed packages' too."""
    from emcoop.cli import listing

    listing.show(kind.value, json=json)


@models_app.command()
def pull(name: Annotated[str, typer.Argument(help="The model's name, for example smollm2.")]) -> None:
    """Fetch a local model into the user's cache."""
    from emcoop.cli import pulling

    pulling.pull(name)


@app.command()
def play(
    env: Annotated[str, typer.Argument(help="An environment's name.")],
    level: Annotated[str, typer.Option(help="The level, or a scenario file.")] = "easy",
    agents: Annotated[int, typer.Option(min=1, help="The team's size; you are agent_0.")] = 2,
    topology: Annotated[str, typer.Option(help="The topology.")] = "decentralized",
    agent: Annotated[str, typer.Option(help="Who plays the other seats.")] = "scripted",
    seed: Annotated[int, typer.Option(min=0, help="The world's seed.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The run folder; by default runs/play-NAME.")] = None,
) -> None:
    """Take a seat in a team, at this terminal."""
    from emcoop.cli import playing

    playing.play(env, level, agents, topology, agent, seed, out)


@app.command()
def doctor(
    run: Annotated[Path | None, typer.Argument(help="A run folder whose log is checked from end to end.")] = None,
    json: Json = False,
) -> None:
    """What this machine has and what is missing; or what is wrong with a log."""
    from emcoop.cli import checking

    checking.doctor(run, json=json)


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


def run_app() -> int:
    """Run the command of sys.argv; returns the exit code."""
    try:
        app()
    except Interrupted as error:
        print(f"\n{error}", file=sys.stderr)
        return 130
    except EmcoopError as error:
        from emcoop.cli.output import legible

        print(legible(f"error: {error}"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
