"""The program `emcoop`: its commands, their options, and how it ends."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from emcoop import __version__
from emcoop.core.errors import EmcoopError, Interrupted

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
    jobs: Annotated[int, typer.Option(min=1, help="Episodes in flight at once.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="A file that keeps model answers for repeats.")] = None,
    json: Json = False,
) -> None:
    """Play episodes and report on them. An interrupted or extended run goes on where it was."""
    from emcoop.cli import running

    axes = {"level": level, "agents": agents, "topology": topology, "agent": agent, "model": model}
    matrix = running.matrix_of(what, axes, seeds, set_ or [], option or [], intervention, references)
    running.run(matrix, out, jobs=jobs, cache=cache, json=json)


@app.command()
def report(run: Run, json: Json = False) -> None:
    """Tables of a run's episodes, and its report.html."""
    from emcoop.cli import reporting

    reporting.report(run, json=json)


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
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
