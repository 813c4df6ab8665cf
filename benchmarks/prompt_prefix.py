"""How much of every prompt its agent has sent before, and how long prompts are, per environment and topology.

Teams of the agent ``llm`` play whole episodes. Their model answers what the environment's scripted team decides at the
same moment, so the prompts are those of competent play, with its plans, failures and messages. The cacheable part of a
prompt is the longest common prefix, in tokens, with any earlier prompt of the same agent in the same episode. Tokens
are those of the local model ``smollm2`` where it has been pulled, else a quarter of the characters.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
import urllib.request
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common import Timing, record, script, told
from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Decision, Seat, View
from emcoop.agents.llm import make as make_llm
from emcoop.core.seeds import derive
from emcoop.core.types import AgentId, Interrupt, Outgoing, Plan
from emcoop.envs.base import AnyEnvironment, Grounding, Progress
from emcoop.episode.loop import Limits
from emcoop.episode.setup import Setup
from emcoop.experiment.study import play_episode
from emcoop.log.store import LogStore
from emcoop.models.base import Model, Turn
from emcoop.models.pull import find
from emcoop.models.scripted import ScriptedModel

ENVS = ("cube", "ma-crafter")
TOPOLOGIES = ("individual", "debate", "centralized", "decentralized")
SEEDS = range(4)
STEPS = 60
Tokens = tuple[int, ...]


@dataclass
class Heard:
    """What one agent was asked: its prompts in order, each with the faculty that asked."""

    prompts: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)


class Shadow:
    """A seat of ``llm`` whose model answers what the scripted policy decides."""

    name = "llm"
    privileged = False

    def __init__(self, seat: Seat, heard: Heard) -> None:
        self._heard = heard
        self._faculty = ""
        self._answer = ""
        self._scripted: Agent = AGENTS.get("scripted")(Seat(seat.agent, seat.env, seat.seed))
        self._llm = make_llm(Seat(seat.agent, seat.env, seat.seed, ScriptedModel(self._reply), seat.options))

    def _reply(self, turns: Sequence[Turn], *_: Any) -> str:
        self._heard.prompts.append((self._faculty, tuple(turns)))
        return self._answer

    def _next(self, faculty: str, answer: Mapping[str, Any]) -> None:
        self._faculty, self._answer = faculty, json.dumps(answer)

    async def plan(self, view: View) -> Decision[Plan]:
        self._next("plan", _plan((await self._scripted.plan(view)).value))
        return await self._llm.plan(view)

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        said = (await self._scripted.speak(view)).value
        recipients = list(said.recipients) if said else []
        self._next("speak", {"recipients": recipients, "content": said.content if said else None, "reasoning": ""})
        return await self._llm.speak(view)

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        choice = (await self._scripted.interrupt(view)).value
        plan = None if choice.new_plan is None else _plan(choice.new_plan)
        self._next("interrupt", {"decision": choice.choice.value, "reasoning": choice.reasoning, "new_plan": plan})
        return await self._llm.interrupt(view)

    def act(self, state: Any, action: Any, progress: Progress) -> Grounding:
        return self._llm.act(state, action, progress)

    def describe(self) -> Mapping[str, Any]:
        return self._llm.describe()


def _plan(plan: Plan) -> dict[str, Any]:
    actions = [action.model_dump(mode="json") for action in plan.actions]
    return {"task": plan.task, "actions": actions, "reasoning": ""}


class ShadowedSetup(Setup):
    """A set-up whose every seat is a `Shadow`; what they were asked is in `heard` after the episode."""

    _heard: dict[AgentId, Heard] = {}

    def make_team(self, env: AnyEnvironment, seed: int, models: Mapping[str, Model]) -> dict[AgentId, Agent]:
        """See `Setup.make_team`."""
        self._heard = {agent: Heard() for agent in env.agents}
        options = self.team[0].options
        seats = {a: Seat(a, env, derive(seed, "seat", a), options=options) for a in env.agents}
        return {agent: Shadow(seat, self._heard[agent]) for agent, seat in seats.items()}

    @property
    def heard(self) -> dict[AgentId, Heard]:
        """By agent."""
        return self._heard


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt: who was asked for what, its tokens, and how many of them lead an earlier prompt of the agent."""

    agent: AgentId
    faculty: str
    tokens: int
    cached: int


def cacheable(prompts: Sequence[Tokens]) -> list[int]:
    """For each prompt in order, its longest common prefix with any earlier one.

    Among the earlier ones in lexicographic order, that is the prefix shared with a neighbour.
    """
    earlier: list[Tokens] = []
    shared = []
    for prompt in prompts:
        at = bisect_left(earlier, prompt)
        shared.append(max((_common(prompt, other) for other in earlier[max(at - 1, 0) : at + 1]), default=0))
        insort(earlier, prompt)
    return shared


def _common(one: Tokens, other: Tokens) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def written(turns: Sequence[Turn]) -> str:
    """A prompt as the model reads it, in the common chat form."""
    return "".join(f"<|im_start|>{turn.role}\n{turn.content}<|im_end|>\n" for turn in turns)


def rooms(path: Path) -> dict[str, int]:
    """Bytes of a log by its tables and indices."""
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))


@dataclass(frozen=True, slots=True)
class Played:
    """One episode: what was asked, its bytes of log per agent and step, and these bytes by table."""

    asked: list[Asked]
    bytes: float
    rooms: dict[str, int]


def play(setup: ShadowedSetup, seed: int, encode: Callable[[str], Tokens]) -> Played:
    """Play one episode."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "log.db"
        with LogStore.open(path) as store:
            outcome = asyncio.run(play_episode(setup, seed, store, {}))
        size, found = path.stat().st_size / max(outcome.steps * setup.agents, 1), rooms(path)
    asked = []
    for agent, heard in setup.heard.items():
        tokens = [encode(written(turns)) for _, turns in heard.prompts]
        faculties = (faculty for faculty, _ in heard.prompts)
        counted = zip(faculties, tokens, cacheable(tokens), strict=True)
        asked += [Asked(agent, faculty, len(prompt), shared) for faculty, prompt, shared in counted]
    return Played(asked, size, found)


class Tokenizer:
    """Text to tokens: of the pulled local model, else pieces of four characters; `name` says which."""

    def __init__(self) -> None:
        self._known: dict[str, Tokens] = {}
        path = find("smollm2")
        self.name = "a quarter of the characters" if path is None else "tokens of SmolLM2"
        self._server: Any = None if path is None else _server(path)

    def __call__(self, text: str) -> Tokens:
        if self._server is None:
            return tuple(hash(text[i : i + 4]) for i in range(0, len(text), 4))
        body = json.dumps({"content": text, "parse_special": True}).encode()
        request = urllib.request.Request(f"{self._server.listening_address}/tokenize", data=body)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return tuple(json.load(answer)["tokens"])


def _server(path: Path) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = 256, 1
    params.verbosity = -1
    return xllamacpp.Server(params)


def setup_of(env: str, topology: str, level: str = "hard", steps: int = STEPS, **options: Any) -> ShadowedSetup:
    """Three agents at `level`; what `options` name goes to the agents."""
    team: Any = ({"agent": "llm", "options": options},)
    return ShadowedSetup(env=env, level=level, topology=topology, team=team, limits=Limits(max_steps=steps))


def main() -> dict[str, float]:
    """Print and return the cacheable share and the tokens per call of every environment and topology."""
    encode = Tokenizer()
    print(f"prompts in {encode.name}; {len(SEEDS)} episodes of at most {STEPS} steps each, three agents, level hard")
    figures: dict[str, float] = {}
    for env in ENVS:
        for topology in TOPOLOGIES:
            episodes = [play(setup_of(env, topology), seed, encode) for seed in SEEDS]
            for figure in _figures(env, topology, episodes):
                figures[figure["name"]] = figure["value"]
                print(told(figure))
    return figures


def _figures(env: str, topology: str, episodes: Sequence[Played]) -> list[dict[str, Any]]:
    calls = [episode.asked for episode in episodes]
    tokens = [sum(asked.tokens for asked in each) for each in calls]
    cached = [sum(asked.cached for asked in each) for each in calls]
    counts = [len(each) for each in calls]
    values = {
        "cacheable": [c / t for c, t in zip(cached, tokens, strict=True)],
        "tokens": [t / n for t, n in zip(tokens, counts, strict=True)],
        "fresh": [(t - c) / n for t, c, n in zip(tokens, cached, counts, strict=True)],
        "bytes": [episode.bytes for episode in episodes],
    }
    where = f"{env}, {topology} ({sum(counts)} prompts in {len(calls)} episodes)"
    return [
        record(
            f"{env}_{topology}_{name}",
            Timing(tuple(values[name])),
            unit,
            target,
            what=f"{words}, {where}",
            more_is_better=name == "cacheable",
            note=_shares(episodes) if name == "bytes" else "",
        )
        for name, (words, unit, target) in WORDS.items()
    ]


def _shares(episodes: Sequence[Played]) -> str:
    total: Counter[str] = Counter()
    for episode in episodes:
        total.update(episode.rooms)
    whole = sum(total.values())
    parts = ", ".join(f"{name} {size / whole:.0%}" for name, size in total.most_common(5))
    return f"The room goes to: {parts}."


WORDS: Mapping[str, tuple[str, str, float | None]] = {
    "cacheable": ("share of a prompt that the agent has sent before", "", None),
    "tokens": ("tokens per prompt", "tokens", None),
    "fresh": ("tokens per prompt that are new", "tokens", None),
    "bytes": ("log with these prompts", "bytes/agent-step", 2048.0),
}


if __name__ == "__main__":
    sys.exit(script(main))
