"""How much room a log takes and how fast it is written and opened, on made-up but lifelike episodes.

Run as ``python -m benchmarks.log_paging``; prints one line per figure with its target beside it. In the usual case
every agent speaks and plans once in three steps, in the extreme case before every single step.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import Timing, record, repeated, script, told
from emcoop.core.canonical import canonical_json, sha256_hex
from emcoop.core.seeds import Stream, derive
from emcoop.core.types import agent_names
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.log.writer import EpisodeWriter
from emcoop.viewer.places import at_time

AGENTS = agent_names(3)
STEPS = 400
LONG_EVENTS = 300_000
USAGE = {"input_tokens": 1900, "output_tokens": 80, "cached_tokens": 0, "calls": 1, "cost_usd": 0.0004}
RULES = (
    "You are {agent}, one of a team that moves blocks in a grid. Cell (0, 0) is the upper left corner, x grows to the "
    "right and y grows downwards. A block of weight w moves one cell when w agents stand in a row behind the face that "
    "points away from the goal and push in the same step. Nobody walks through blocks, walls or other agents. Blocks "
    "that reach the goal zone leave the grid and score. Answer with one JSON object and nothing else. Its field task "
    "names the block and the face you work on, its field actions holds at most four actions, its field reasoning says "
    "why in one sentence. Actions: walk_to(x, y) walks to a free cell; stand_behind(block_id, face, n) takes a place "
    "behind a block; push(block_id, face, steps) pushes while enough others push too; wait(steps) stays; "
    "wait_for(agent) stays until a message from that agent has come. Plans that a check refuses cost time. "
)


class World:
    """A random walk that looks like a grid of blocks; only its sizes matter here."""

    def __init__(self, seed: int) -> None:
        self.random = Stream(derive(seed, "benchmark"))
        self.agents = {agent: [self.pick(20), self.pick(20)] for agent in AGENTS}
        self.blocks = [[i, 1 + i % 3, self.pick(18), self.pick(18)] for i in range(6)]
        self.tick = 0

    def pick(self, n: int) -> int:
        return min(n - 1, int(self.random.uniform() * n))

    def move(self) -> None:
        self.tick += 1
        for place in self.agents.values():
            place[self.pick(2)] = (place[self.pick(2)] + self.pick(3) - 1) % 20
        self.blocks[self.pick(6)][2 + self.pick(2)] = self.pick(18)

    def state(self) -> bytes:
        return canonical_json({"tick": self.tick, "agents": self.agents, "blocks": self.blocks, "random": self.pick(9)})

    def observation(self, agent: str) -> dict[str, Any]:
        rows = ["." * 20 for _ in range(20)]
        for number, _, x, y in self.blocks:
            rows[y] = rows[y][:x] + str(number) + rows[y][x + 1 :]
        return {
            "step": self.tick,
            "self": {"agent": agent, "x": self.agents[agent][0], "y": self.agents[agent][1]},
            "teammates": {a: {"x": p[0], "y": p[1]} for a, p in self.agents.items() if a != agent},
            "blocks": [{"block_id": i, "weight": w, "x": x, "y": y, "active": True} for i, w, x, y in self.blocks],
            "grid": rows,
            "history": [f"step {self.tick - k}: {a} push(block_id={self.pick(6)})" for k in range(8) for a in AGENTS],
        }

    def sentence(self) -> str:
        words = [
            "I",
            "push",
            "block",
            "from",
            "left",
            "behind",
            "you",
            "wait",
            "there",
            "go",
            "first",
            "then",
            "right",
            "side",
            "heavy",
            "two",
            "of",
            "us",
            "need",
            "now",
        ]
        return " ".join(words[self.pick(len(words))] for _ in range(18)) + f" {self.pick(20)},{self.pick(20)}"


class Play:
    """Writes one episode in which every agent speaks and plans every `pause` steps."""

    def __init__(self, writer: EpisodeWriter, seed: int, pause: int) -> None:
        self.writer = writer
        self.world = World(seed)
        self.pause = pause
        self.heard = [self.world.sentence() for _ in range(6)]
        self.now = 0
        self.plans = 0

    def event(self, kind: str, payload: dict[str, Any], agent: str | None = None) -> None:
        host = {"latency_s": 0.25 + self.now % 7} if kind in ("model_call", "decision") else None
        self.writer.append(kind, payload, cog_time=self.now, env_step=self.world.tick, agent=agent, host=host)

    def decide(self, agent: str, faculty: str) -> str:
        self.now += 900_000 + self.world.pick(500_000)
        world, writer = self.world, self.writer
        view = world.observation(agent)
        prompt = "Observation:\n" + json.dumps(view, indent=1) + "\nConversation:\n" + "\n".join(self.heard)
        said = world.sentence()
        answer = json.dumps({"task": f"block_{world.pick(6)}:left", "actions": [said[:40]], "reasoning": said})
        turns = [{"role": "system", "content": writer.blob(RULES.format(agent=agent) * 2)}]
        turns.append({"role": "user", "content": writer.blob(prompt)})
        call = {"faculty": faculty, "schema": faculty, "model": "small", "prompt": turns, "answer": writer.blob(answer)}
        rest = {"finish_reason": "stop", "usage": USAGE, "error": None}
        self.event("model_call", {**call, **rest}, agent)
        decision = {
            "faculty": faculty,
            "view": writer.blob(canonical_json(view)),
            "usage": USAGE,
            "latency_us": 999_999,
        }
        self.event("decision", {**decision, "fallback": None, "failures": [], "calls": 1}, agent)
        return said

    def deliberate(self, agent: str) -> None:
        self.event("stage", {"from": "X", "to": "R"}, agent)
        said = self.decide(agent, "speak")
        self.heard = [*self.heard[1:], said]
        others = [other for other in AGENTS if other != agent]
        self.event("message_sent", {"id": self.plans, "to": others, "content": said, "price": 0.0}, agent)
        for other in others:
            self.event("message_delivered", {"id": self.plans, "from": agent}, other)
        why = self.decide(agent, "plan")
        self.plans += 1
        plan = {"task": "block_1:left", "actions": [{"action_type": "push", "block_id": 1}], "reasoning": why}
        self.event("plan_committed", {"plan_id": self.plans, "origin": "new", "plan": plan}, agent)
        action = {"plan_id": self.plans, "index": 0, "action": "push(block_id=1)", "status": "start", "failure": None}
        self.event("action", action, agent)
        self.event("stage", {"from": "R", "to": "X"}, agent)

    def step(self) -> None:
        if self.world.tick % self.pause == 0:
            for agent in AGENTS:
                self.deliberate(agent)
        self.now += 100_000
        self.world.move()
        state = self.world.state()
        self.event("step", step_payload(sha256_hex(state), self.writer.blob(state)))
        self.writer.flush()


def step_payload(state: str, snapshot: str) -> dict[str, Any]:
    task = {"required": 2, "attempting": ["agent_0"], "dependency": ["agent_0", "agent_1"], "participation": []}
    return {
        "actions": dict.fromkeys(AGENTS, 3),
        "labels": dict.fromkeys(AGENTS, "push(block_id=1, face=left, steps=3)"),
        "rewards": dict.fromkeys(AGENTS, 0.0),
        "state": state,
        "snapshot": snapshot,
        "events": [],
        "tasks": {"block_1:left": {**task, "spatial": ["agent_0"], "temporal": []}},
        "named": dict.fromkeys(AGENTS, "block_1:left"),
        "gains": {},
        "invalid": [],
    }


def room(folder: Path, pause: int) -> float:
    """Bytes on disk per agent and step of a run of three episodes."""
    path = folder / f"room{pause}.db"
    with LogStore.open(path) as store:
        for seed in range(3):
            writer = store.start(cell="c", seed=seed, setup={})
            play = Play(writer, seed, pause)
            for _ in range(STEPS):
                play.step()
            writer.finish("finished", {})
    with LogReader.open(path) as reader:
        assert [reader.digest(row.id) for row in reader.episodes()] == [row.digest for row in reader.episodes()]
    return path.stat().st_size / (3 * STEPS * len(AGENTS))


def append_us(store: LogStore, payload: dict[str, Any], kind: str, n: int = 4_000) -> float:
    """Microseconds of processor time per event of this payload into the buffer, best of five."""
    best = float("inf")
    writer = store.start(cell=kind, seed=0, setup={})
    for _ in range(5):
        start = time.process_time()
        for i in range(n):
            writer.append(kind, payload, cog_time=i, env_step=i, agent="agent_0")
        best = min(best, time.process_time() - start)
        store.flush()
    return best / n * 1e6


def long_log(path: Path, every: int = LONG_EVENTS) -> None:
    """Write an episode of 300,000 events, with a commit after so many and whenever the buffer is full."""
    payload = step_payload("0" * 64, "1" * 64)
    with LogStore.open(path) as store:
        writers = [store.start(cell="c", seed=seed, setup={}) for seed in range(2)]
        for i in range(LONG_EVENTS):
            kind, body = ("stage", {"from": "R", "to": "X"}) if i % 3 else ("step", payload)
            writers[0].append(kind, body, cog_time=i, env_step=i, agent="agent_0")
            if i % 3 == 0:
                writers[1].append("stage", {"from": "R", "to": "X"}, cog_time=i, env_step=i, agent="agent_0")
            if i % every == every - 1:
                store.flush()
        for writer in writers:
            writer.finish("finished", {})


def paging_s(path: Path) -> float:
    """Seconds to open a log, read the first, the middle and the last page of an episode of 300,000 events, a page of
    one kind from its middle and one of a kind that it does not have, its last event, and to find a time in it."""
    start = time.perf_counter()
    with LogReader.open(path) as reader:
        row = reader.episodes()[0]
        total = reader.count(row.id)
        for first in (0, total // 2, total - 1_000):
            assert [event.seq for event in reader.page(row.id, start_seq=first)] == list(range(first, first + 1_000))
        steps = [event.seq for event in reader.page(row.id, ("step",), total // 2)]
        assert steps == list(range(total // 2, total // 2 + 3_000, 3))
        assert reader.page(row.id, ("episode_end",)) == []
        last = reader.last(row.id)
        assert last is not None
        assert (last.seq, at_time(reader, row.id, 123_456)) == (total - 1, 123_456)
    elapsed = time.perf_counter() - start
    assert total == LONG_EVENTS
    return elapsed


FIGURES = (
    ("append_stage_us", "us", 20.0, "append an event of 22 bytes, CPU time"),
    ("append_step_us", "us", 20.0, "append the event of a step, CPU time"),
    ("bytes_per_agent_step", "bytes/agent-step", 2048.0, "room, made-up prompts, a decision in 3 steps"),
    ("bytes_per_agent_step_extreme", "bytes/agent-step", 2048.0, "room, made-up prompts at every step"),
    ("paging_s", "s", 0.3, "open and page an episode of 300,000 events"),
    ("paging_often_s", "s", 0.3, "the same, committed every 6 events"),
)


def main() -> dict[str, float]:
    """Measure, print and return the figures."""
    measured: dict[str, float | Timing] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with LogStore.open(folder / "append.db") as store:
            measured["append_stage_us"] = append_us(store, {"from": "R", "to": "X"}, "stage")
            measured["append_step_us"] = append_us(store, step_payload("0" * 64, "1" * 64), "step")
        measured["bytes_per_agent_step"] = room(folder, pause=3)
        measured["bytes_per_agent_step_extreme"] = room(folder, pause=1)
        long, often = folder / "long.db", folder / "often.db"
        long_log(long)
        long_log(often, every=6)
        measured["paging_s"] = repeated(lambda: paging_s(long), 5, warm=0)
        measured["paging_often_s"] = repeated(lambda: paging_s(often), 5, warm=0)
    figures = [record(what, measured[what], unit, target, what=words) for what, unit, target, words in FIGURES]
    for figure in figures:
        print(told(figure))
    return {figure["name"]: figure["value"] for figure in figures}


if __name__ == "__main__":
    sys.exit(script(main))
