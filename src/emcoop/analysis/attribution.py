"""Where an episode broke down: the failure step, the window before it, and which constraint lacked whom.

The failure step is the step at which an unsuccessful episode ended (paper, equation 13); the window is the k steps
before it with their stages and messages (equation 14). Of the tasks that somebody planned for or tried in the window
the one that most was spent on in vain is examined: the first kind of constraint that fell short, by how many, for how
long, and what those who were missing did instead. Who died in the window is told first, and apart: the log does not say
what somebody died of, so what fell short beside a death is told as that and not as its cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emcoop.analysis.words import printable
from emcoop.core.types import NO_TASK, AgentId, Constraint, Json, TaskId, agent_index
from emcoop.metrics import Event

WINDOW = 20
KINDS = (
    *("episode_start", "stage", "message_sent", "plan_committed", "plan_interrupted"),
    *("plan_rejected", "step", "episode_end"),
)
"""The kinds of events that attribution reads."""

DIED = "died"
"""The kind of an environment's fact that says that its ``agent`` is no more."""

ORDER = (Constraint.SPATIAL, Constraint.DEPENDENCY, Constraint.TEMPORAL, Constraint.PARTICIPATION)
"""A constraint that comes earlier is a condition of the later ones: who is not there cannot act there."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Why one episode failed.

    `step` is the failure step, `limit` what ended the episode. `task` and what follows are None or empty where nobody
    was at any task that anybody meant in the window: `constraint` fell short by `short` of `required` agents for
    `steps` steps in a row up to the last such step, with `present` there (and counted from when all of them were) and
    `missing` elsewhere; `instead` says what each of these did. `messages`, `replans` and `rejections` count per agent
    what happened in the window; `died` are those who died in it.
    """

    step: int
    limit: str
    progress: float
    window: int
    task: TaskId | None
    constraint: Constraint | None
    required: int
    short: int
    steps: int
    since: int
    present: tuple[AgentId, ...]
    missing: tuple[AgentId, ...]
    instead: Mapping[AgentId, str]
    messages: Mapping[AgentId, int]
    replans: Mapping[AgentId, int]
    rejections: Mapping[AgentId, int]
    died: tuple[AgentId, ...]
    sentence: str

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {
            "failure_step": self.step,
            "limit": self.limit,
            "progress": self.progress,
            "window": self.window,
            "task": self.task,
            "constraint": self.constraint.value if self.constraint else None,
            "required": self.required,
            "short": self.short,
            "steps": self.steps,
            "since": self.since,
            "present": list(self.present),
            "missing": list(self.missing),
            "instead": dict(self.instead),
            "messages": dict(self.messages),
            "replans": dict(self.replans),
            "rejections": dict(self.rejections),
            "died": list(self.died),
            "sentence": self.sentence,
        }


@dataclass
class _Episode:
    """What is read of the events; steps are those of the log's `step` events, from 1."""

    team: tuple[AgentId, ...] = ()
    steps: list[Mapping[str, Json]] = field(default_factory=list)
    plans: list[tuple[int, AgentId, str, TaskId]] = field(default_factory=list)
    messages: list[tuple[int, AgentId]] = field(default_factory=list)
    rejections: list[tuple[int, AgentId]] = field(default_factory=list)
    deaths: list[tuple[int, AgentId]] = field(default_factory=list)
    end: Mapping[str, Json] | None = None

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            step, who, payload = len(self.steps), event.agent or "", event.payload
            if event.kind == "episode_start":
                self.team = tuple(member["agent"] for member in payload["team"])
            elif event.kind == "step":
                self.steps.append(payload)
                died = (str(fact["agent"]) for fact in payload.get("events") or () if fact.get("kind") == DIED)
                self.deaths += [(step + 1, agent) for agent in died]
            elif event.kind == "plan_committed":
                self.plans.append((step, who, str(payload["origin"]), str(payload["plan"]["task"])))
            elif event.kind == "message_sent":
                self.messages.append((step, who))
            elif event.kind == "plan_rejected":
                self.rejections.append((step, who))
            elif event.kind == "episode_end":
                self.end = payload


def attribute(events: Iterable[Event], window: int = WINDOW) -> Attribution | None:
    """The attribution of one episode's events; None for an episode that succeeded or has no end or no step."""
    episode = _Episode()
    episode.read(events)
    if episode.end is None or episode.end["score"]["success"] or not episode.steps:
        return None
    last = len(episode.steps)
    first = max(0, last - window)
    found = _stuck(episode, first)
    died = tuple(agent for step, agent in episode.deaths if step > first)
    counts: dict[str, Any] = {
        "died": died,
        "messages": _count(episode, [(s, a) for s, a in episode.messages], first),
        "replans": _count(episode, [(s, a) for s, a, origin, _ in episode.plans if origin == "replan"], first),
        "rejections": _count(episode, episode.rejections, first),
    }
    about: dict[str, Any] = {
        "step": last,
        "limit": str(episode.end["limit"]),
        "progress": float(episode.end["score"]["progress"]),
        "window": last - first,
    }
    if found is None:
        idle = Counter(name for step in episode.steps[first:] for name in (step.get("named") or {}).values())
        return Attribution(
            **about, task=None, constraint=None, required=0, short=0, steps=0, since=last, present=(), missing=(),
            instead={}, **counts, sentence=_idle(about, died, idle),
        )  # fmt: skip
    return Attribution(**about, **found, **counts, sentence=_sentence(about, died, found))


def _count(episode: _Episode, happened: Sequence[tuple[int, AgentId]], first: int) -> dict[AgentId, int]:
    count = Counter(agent for step, agent in happened if step >= first)
    return {agent: count[agent] for agent in episode.team}


def _stuck(episode: _Episode, first: int) -> dict[str, Json] | None:
    """The task in vain, its shortfall, and who was missing; None where no task was at hand."""
    effort: Counter[TaskId] = Counter()
    meant: set[TaskId] = set()  # who happens to stand beside a thing has not failed at it
    for step in episode.steps[first:]:
        named = Counter((step.get("named") or {}).values())
        meant.update(named, (task for task, value in (step.get("tasks") or {}).items() if value.get("attempting")))
        for task, value in (step.get("tasks") or {}).items():
            if len(value["participation"]) < value["required"]:
                effort[task] += 2 * len(value["spatial"]) + named[task]
    effort = Counter({task: spent for task, spent in effort.items() if task in meant and spent})
    if not effort:
        return None
    task = min(effort, key=lambda name: (-effort[name], name))
    short = [i for i in range(first, len(episode.steps)) if _lack(episode.steps[i], task, Constraint.PARTICIPATION) > 0]
    end = short[-1]
    begin = end
    while begin > 0 and _lack(episode.steps[begin - 1], task, Constraint.PARTICIPATION) > 0:
        begin -= 1
    run = episode.steps[begin : end + 1]
    present = _usual(run, task, Constraint.SPATIAL)
    together = (i for i, step in enumerate(run) if set(present) <= set(step["tasks"][task][Constraint.SPATIAL.value]))
    begin += next(together, 0)  # the wait begins when those who wait are there
    run = episode.steps[begin : end + 1]
    kind = _first_short(run, task)
    lacks = Counter(_lack(step, task, kind) for step in run if _lack(step, task, kind) > 0)
    missing = _missing(episode, run, task, kind, present)
    short_by = min(lacks, key=lambda lack: (-lacks[lack], lack))
    late = tuple(agent for agent in missing if _about(run, agent) == task)
    if kind is Constraint.SPATIAL and len(late) >= short_by:
        missing = late  # who meant to come and did not; the others were not needed
    return {
        "task": task,
        "constraint": kind,
        "required": max(int(step["tasks"][task]["required"]) for step in run),
        "short": short_by,
        "steps": end - begin + 1,
        "since": begin + 1,
        "present": present,
        "missing": missing,
        "instead": {agent: _instead(episode, run, begin, agent, task) for agent in missing},
    }


def _lack(step: Mapping[str, Json], task: TaskId, kind: Constraint) -> int:
    value = (step.get("tasks") or {}).get(task)
    return int(value["required"]) - len(value[kind.value]) if value else 0


def _first_short(run: Sequence[Mapping[str, Json]], task: TaskId) -> Constraint:
    """The kind that is the first to fall short in most steps of the run."""
    first = Counter(next(kind for kind in ORDER if _lack(step, task, kind) > 0) for step in run)
    return min(first, key=lambda kind: (-first[kind], ORDER.index(kind)))


def _usual(run: Sequence[Mapping[str, Json]], task: TaskId, kind: Constraint) -> tuple[AgentId, ...]:
    """Who satisfied this kind in most steps of the run."""
    count = Counter(agent for step in run for agent in step["tasks"][task][kind.value])
    return tuple(sorted((agent for agent, n in count.items() if 2 * n > len(run)), key=agent_index))


def _missing(
    episode: _Episode, run: Sequence[Mapping[str, Json]], task: TaskId, kind: Constraint, present: tuple[AgentId, ...]
) -> tuple[AgentId, ...]:
    if kind is Constraint.DEPENDENCY:
        able = _usual(run, task, kind)  # nobody: a fact of the world, such as a way that is not clear
        return tuple(agent for agent in present if agent not in able) if able else ()
    if kind is Constraint.SPATIAL:
        return tuple(agent for agent in episode.team if agent not in present)
    acting = _usual(run, task, kind)
    return tuple(agent for agent in present if agent not in acting)


def _about(run: Sequence[Mapping[str, Json]], agent: AgentId) -> TaskId:
    """The task that the agent's plans named in most steps of the run."""
    about = Counter(str((step.get("named") or {}).get(agent, NO_TASK)) for step in run)
    return min(about, key=lambda name: (-about[name], name))


def _instead(episode: _Episode, run: Sequence[Mapping[str, Json]], begin: int, agent: AgentId, task: TaskId) -> str:
    """What the agent's plans were about in the run, and since when."""
    chosen = _about(run, agent)
    before = [plan for plan in episode.plans if plan[1] == agent and plan[0] <= begin]
    since = next((step for step, _, _, name in reversed(before) if name == chosen), begin)
    verb = "replanned" if before and before[-1][2] == "replan" and before[-1][3] == chosen else "planned"
    if chosen == task:
        return f"{verb} for it at step {since} and did not get there in time"
    if chosen == NO_TASK:
        return f"{verb} no task from step {since} on"
    return f"{verb} {printable(chosen)} at step {since}"


def _idle(about: Mapping[str, Json], died: Sequence[AgentId], named: Counter[str]) -> str:
    wanted = [printable(task) for task, _ in named.most_common(2) if task != NO_TASK]
    plans = f"; plans were about {' and '.join(wanted)}" if wanted else "; no plan named a task"
    return f"{_end(about, died)}nobody stood at any task of a plan in the last {about['window']} steps{plans}."


def _end(about: Mapping[str, Json], died: Sequence[AgentId]) -> str:
    """How the episode ended, up to what else there is to say of the window."""
    end = f"ended by {str(about['limit']).replace('_', ' ')} at step {about['step']}"
    return f"{end}, {_names(died)} died. Beside that, not shown to be its cause: " if died else f"{end}: "


def _sentence(about: Mapping[str, Json], died: Sequence[AgentId], found: Mapping[str, Json]) -> str:
    kind: Constraint = found["constraint"]
    steps = f"{found['steps']} step{'s' if found['steps'] != 1 else ''}"
    lack = f"{kind.value} short by {found['short']} of {found['required']} for {steps}"
    task = printable(found["task"])
    who = f"{_names(found['present'])} stood at {task}" if found["present"] else f"nobody stayed at {task}"
    if kind is Constraint.DEPENDENCY:
        unable = f"{_names(found['missing'])} could not" if found["missing"] else "nobody could"
        told = f"{unable} do {task} yet while {who}"
    elif kind is Constraint.SPATIAL:
        did: dict[str, list[AgentId]] = {}
        for agent, what in found["instead"].items():
            did.setdefault(what, []).append(agent)
        away = "; ".join(f"{_names(agents)} {what}" for what, agents in did.items())
        told = f"{away or 'nobody was missing'} while {who}"
    elif found["missing"] and found["missing"] != found["present"]:
        told = f"{_names(found['missing'])} did not act in time while {who}"
    else:
        told = f"{who} and did not act on it" + (" at the same time" if found["required"] > 1 else "")
    return f"{_end(about, died)}{told}: {lack}."


def _name(agent: AgentId) -> str:
    return agent.replace("_", " ")


def _names(agents: Sequence[AgentId]) -> str:
    if len(agents) == 1:
        return _name(agents[0])
    numbers = [str(agent_index(agent)) for agent in agents]
    return f"agents {', '.join(numbers[:-1])} and {numbers[-1]}" if numbers else ""
