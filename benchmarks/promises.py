"""The figures that the design promises, and which script measures each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """One line of the design's table of speed: figure `name` of `script` against `target` (None: only shown).

    `peers` are figures of other libraries that the same script measures, each with the words for it. `why` is said of a
    missed target for which the script gives no reason of its own.
    """

    group: str
    script: str
    name: str
    what: str
    unit: str
    target: float | None = None
    more_is_better: bool = False
    peers: tuple[tuple[str, str], ...] = ()
    why: str = ""


TEAMS = ("alone", "individual", "debate", "centralized", "decentralized")
STEPS, ROOM = "team steps/s", "bytes/agent-step"
CUBE, CRAFTER, START, LOOP, MANY, LOG, VIEW = (
    "CUBE",
    "MA-Crafter",
    "Start (cache: of compiled rules, on disk)",
    "Loop",
    "1,000 episodes at once, a server that answers in 1 s",
    "Log",
    "Viewer, an episode of 300,000 events",
)

COMPILED = (
    "A batch is one compiled loop, into which the profiler cannot look. The rate per second of processor time, which "
    "other load disturbs less, stands among the further figures."
)
SHARED = (
    "Two workers and the server share the processors of this machine; what an answer takes of them stands among the "
    "further figures."
)
SLOW = "Most of a start is imports; `python -X importtime` says which."

PROMISES = (
    Promise(CUBE, "cube_steps", "batch_3", "compiled batch, n=3", STEPS, 1_000_000, True, why=COMPILED),
    Promise(CUBE, "cube_steps", "batch_256", "compiled batch, n=256", STEPS, 20_000, True, why=COMPILED),
    Promise(CUBE, "cube_steps", "step_us", "one step from Python, n=3", "us", 25),
    Promise(
        CRAFTER, "ma_crafter_steps", "batch_3", "compiled batch, n=3, all mechanics", STEPS, 200_000, True,
        (
            ("crafter", "Crafter itself, one agent, with its pictures"),
            ("craftax", "Craftax-Classic on this CPU, one agent, 256 worlds"),
        ),
        COMPILED,
    ),
    Promise(
        CRAFTER, "ma_crafter_steps", "step_with_constraints_us", "one step from Python with constraints, n=3", "us", 150
    ),
    Promise(START, "cube_steps", "warm_start_s", "first observation, CUBE, warm cache", "s", 1, why=SLOW),
    Promise(START, "cube_steps", "cold_start_s", "first observation, CUBE, cold cache", "s", 3, why=SLOW),
    Promise(START, "ma_crafter_steps", "warm_start_s", "first observation, MA-Crafter, warm cache", "s", 1, why=SLOW),
    Promise(START, "ma_crafter_steps", "cold_start_s", "first observation, MA-Crafter, cold cache", "s", 3, why=SLOW),
    Promise(START, "cube_steps", "cold_first_step_s", "first step, CUBE, cold cache", "s"),
    Promise(START, "ma_crafter_steps", "cold_first_step_s", "first step, MA-Crafter, cold cache", "s"),
    Promise(LOOP, "loop_overhead", "individual_us_per_decision", "one decision, individual", "us", 300),
    Promise(LOOP, "loop_overhead", "decentralized_us_per_decision", "one decision, decentralized", "us", 300),
    *(
        Promise(MANY, "throughput", f"share_{how}{team}", f"of the ideal, {team}, {words}", "", 0.95, True, why=why)
        for how, words, why in (("", "one process", ""), ("http_", "over HTTP, two workers", SHARED))
        for team in TEAMS
    ),
    Promise(MANY, "throughput", "peak_mb", "peak memory of the process", "MB", 1000),
    Promise(LOG, "prompt_prefix", "cube_decentralized_bytes", "room, real prompts, CUBE, decentralized", ROOM, 2048),
    Promise(
        LOG, "prompt_prefix", "ma-crafter_decentralized_bytes", "room, real prompts, MA-Crafter, decentralized",
        ROOM, 2048,
    ),
    Promise(LOG, "log_paging", "bytes_per_agent_step", "room, made-up, a decision in 3 steps", ROOM, 2048),
    Promise(LOG, "log_paging", "bytes_per_agent_step_extreme", "room, made-up, at every step", ROOM, 2048),
    Promise(LOG, "log_paging", "paging_s", "open and page an episode of 300,000 events", "s", 0.3),
    Promise(VIEW, "viewer_open", "run_s", "the list of episodes", "s", 0.3),
    Promise(VIEW, "viewer_open", "page_s", "a page of events in the middle", "s", 0.3),
    Promise(VIEW, "viewer_open", "seek_s", "seeking a time", "s", 0.3),
)  # fmt: skip


BESIDE = "beside the table"
FURTHER = (
    Promise(BESIDE, "cube_steps", "batch_3_cpu", "compiled batch, n=3, per second of processor time", STEPS),
    Promise(BESIDE, "cube_steps", "batch_256_cpu", "compiled batch, n=256, per second of processor time", STEPS),
    Promise(BESIDE, "cube_steps", "step_us_cpu", "one step from Python, processor time", "us"),
    Promise(BESIDE, "cube_steps", "compiled_ratio", "compiled rules against the same source uncompiled", "times"),
    Promise(BESIDE, "cube_steps", "warm_first_step_s", "first step, warm compile cache", "s"),
    Promise(BESIDE, "ma_crafter_steps", "batch_3_cpu", "compiled batch, n=3, per second of processor time", STEPS),
    Promise(BESIDE, "ma_crafter_steps", "crafter", "peer: Crafter, one agent, with its pictures", "steps/s"),
    Promise(BESIDE, "ma_crafter_steps", "crafter_vector", "peer: Crafter in AsyncVectorEnv, one agent", "steps/s"),
    Promise(BESIDE, "ma_crafter_steps", "craftax", "peer: Craftax-Classic, symbolic, 256 worlds, one agent", "steps/s"),
    Promise(BESIDE, "ma_crafter_steps", "step_us", "one step from Python", "us"),
    Promise(BESIDE, "ma_crafter_steps", "step_us_cpu", "one step from Python, processor time", "us"),
    Promise(
        BESIDE, "ma_crafter_steps", "step_with_constraints_us_cpu",
        "one step from Python with constraints, processor time", "us",
    ),
    Promise(BESIDE, "ma_crafter_steps", "compiled_ratio", "compiled rules against the same source uncompiled", "times"),
    Promise(BESIDE, "ma_crafter_steps", "warm_first_step_s", "first step, warm compile cache", "s"),
    Promise(BESIDE, "exchange_episode", "ten_agents_ms", "an episode of 10 agents in memory, processor time", "ms", 50),
    Promise(BESIDE, "exchange_episode", "two_hundred_agents_s", "200 agents in memory, processor time", "s", 10),
    Promise(BESIDE, "exchange_episode", "logged_s", "an episode of 10 agents in the loop, all logged", "s"),
)  # fmt: skip
"""Figures that the design does not promise, in words."""


def promise(script: str, name: str) -> Promise | None:
    """What is promised or said about this figure."""
    return next((p for p in (*PROMISES, *FURTHER) if (p.script, p.name) == (script, name)), None)
