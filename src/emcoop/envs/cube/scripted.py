"""A team that cooperates by its topology's messages: it claims blocks, assembles at their left faces and pushes.

A member knows its own observation and what it has been told, nothing else of its teammates' intentions. What it
does with that depends on its role:

- leader: assigns everybody to the heaviest blocks that can be delivered now, and assigns anew on every report.
- follower: does as told, acknowledges, reports what it has delivered or failed at.
- speaker (debate) and peer (decentralized, graphs): say what they work on. Claims are settled by a rule that all
  share: older claims first, then smaller indices; who comes later joins what is short of hands.
- independent, or nobody to talk to: the nearest face that is not manned, by what it sees.

It pushes single blocks to the right only: no chains, no detours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from pydantic import BaseModel

from emcoop.core.types import NO_TASK, AgentId, Choice, Interrupt, Outgoing, Plan, TaskId, agent_index
from emcoop.envs.cube.actions import MAX_STEPS, Direction, Move, MoveToBlock, Push, Rendezvous, Wait
from emcoop.envs.cube.board import Board, Job, delivery_jobs
from emcoop.envs.cube.observe import CubeObservation
from emcoop.envs.cube.paths import Cell, distances, shifted
from emcoop.envs.cube.planner import form
from emcoop.envs.cube.state import DOWN, LEFT, RIGHT, UP
from emcoop.envs.cube.talk import Claim, Order, say_claim, say_orders, understand
from emcoop.envs.policy import PolicyView

PATIENCE = 30
"""Steps that a member waits at a face for partners who have been told of it."""
LONE_PATIENCE = 6
"""The same without a word from them; the agent's index is added twice, so that not all give up at once."""
REST = 8
"""Steps for which a block is left to others after a failure there."""
IDLE = 4
"""Steps that a member without work waits before it looks again."""
OBEDIENCE = 12
"""Steps without a word of the leader after which a follower without work helps itself."""
SPARE = 3
"""Pushes more than needed, in case some fail; a push ends when its block is delivered."""
MOST_ACTIONS = 6
"""The length of a plan."""

_DIRECTIONS: Mapping[int, Direction] = {UP: "up", DOWN: "down", LEFT: "left", RIGHT: "right"}


@dataclass(frozen=True, slots=True)
class Held:
    """A task that somebody works on since a step."""

    task: TaskId
    since: int


@dataclass(frozen=True, slots=True)
class Scene:
    """What a member sees, and which pushes are possible there: single blocks with a clear way, by task."""

    agent: AgentId
    seen: CubeObservation
    board: Board
    jobs: Mapping[TaskId, Job]

    @classmethod
    def of(cls, view: PolicyView) -> Scene:
        """The scene of a view. Raises TypeError for the observation of another world."""
        seen = view.observation
        if not isinstance(seen, CubeObservation):
            raise TypeError(f"a policy of CUBE cannot read a {type(seen).__name__}")
        board = Board.seen(seen)
        jobs = {job.task: job for job in delivery_jobs(board) if len(job.slots) == job.block.weight}
        return cls(view.agent, seen, board, jobs)

    def at_left_face(self, job: Job) -> set[AgentId]:
        """The teammates that stand there."""
        block = self.seen.block(job.block.id)
        return set(block.faces.get("left", ())) - {self.agent} if block is not None else set()

    def eta(self, job: Job) -> int | None:
        """Steps to the nearest cell of the job's face, around blocks; None when there is no way."""
        return _ways(self.board, job).get(self.board.agents[agent_index(self.agent)])


@lru_cache(maxsize=1024)
def _ways(board: Board, job: Job) -> Mapping[Cell, int]:
    return distances(board.side, job.slots, board.solid())


def settle(claims: Mapping[AgentId, Held], jobs: Mapping[TaskId, Job]) -> dict[AgentId, TaskId]:
    """Who works on what, as everybody who knows these claims agrees.

    In the order of age, then of index: who claims joins the first task that is short of hands, else its own task
    is opened; nobody joins a task that has all the agents that it needs.
    """
    settled: dict[AgentId, TaskId] = {}
    short: dict[TaskId, int] = {}
    for agent in sorted(claims, key=lambda a: (claims[a].since, agent_index(a))):
        own = claims[agent].task
        if own not in jobs:
            continue
        open_tasks = [task for task, missing in short.items() if missing]
        task = own if short.get(own, 0) or (own not in short and not open_tasks) else next(iter(open_tasks), None)
        if task is None:
            continue
        short[task] = short.get(task, len(jobs[task].slots)) - 1
        settled[agent] = task
    return settled


def team_orders(scene: Scene, team: Sequence[AgentId], standing: Sequence[Order]) -> list[Order]:
    """A leader's orders: standing work goes on, then the heaviest block for which hands are left, nearest first.

    Who is left over is the reserve of the first task. Empty when nothing can be delivered.
    """
    kept = [o for o in standing if o.slot is not None and o.task in scene.jobs]
    orders = {o.agent: o for o in kept if sum(p.task == o.task for p in kept) == len(scene.jobs[o.task].slots)}
    while True:
        free = [agent_index(agent) for agent in team if agent not in orders]
        taken = {o.task for o in orders.values()}
        groups = [g for t, j in scene.jobs.items() if t not in taken and (g := form(scene.board, j, free)) is not None]
        if not groups:
            break
        best = min(groups, key=lambda g: (-g.job.block.weight, g.finish, g.job.block.id))
        orders |= {team[i]: Order(team[i], best.job.task, slot) for slot, i in enumerate(best.members)}
    if not orders:
        return []
    first = max(orders.values(), key=lambda o: (len(scene.jobs[o.task].slots), o.task)).task
    return [orders.get(agent, Order(agent, first, None)) for agent in team]


class ScriptedPolicy:
    """One member of the team; see the module."""

    privileged = False

    def __init__(self) -> None:
        self._read: set[int] = set()
        self._claims: dict[AgentId, Held] = {}
        self._orders: list[Order] = []
        self._order: Order | None = None
        self._tired: dict[TaskId, int] = {}
        self._failed: tuple[int, TaskId] | None = None
        self._worked_on: int | None = None
        self._told: dict[int, int] = {}
        self._told_at = 0

    # -- the faculties -----------------------------------------------------------------------------------------

    def plan(self, view: PolicyView) -> Plan:
        """Go to the face, wait for partners, push; without work, keep out of the way."""
        scene = self._look(view)
        order = self._decide(scene, view)
        self._worked_on = None
        if order is None:
            return Plan(NO_TASK, tuple(self._step_aside(scene, IDLE)), "nothing to do for me now")
        if order.slot is None and self._talks(view):
            return Plan(order.task, tuple(self._step_aside(scene, MAX_STEPS)), "in reserve")
        self._worked_on = scene.jobs[order.task].block.id
        return Plan(order.task, tuple(self._work(scene, view, order)), "assemble and push")

    def speak(self, view: PolicyView) -> Outgoing | None:
        """What the role has to say now; silence when all of it has been said in this decision step."""
        scene = self._look(view)
        order = self._decide(scene, view)
        if view.role.name == "leader":
            return Outgoing(view.recipients, say_orders(self._orders)) if self._orders else None
        text = ". ".join(self._sentences(scene, view, order))
        if not text:
            return None
        said = {to for m in view.conversation if m.sender == view.agent and m.content == text for to in m.recipients}
        left = [to for to in view.recipients if to not in said]
        if view.role.name == "peer":
            left = left[:1]
        return Outgoing(tuple(left), text) if left else None

    def interrupt(self, view: PolicyView) -> Interrupt:
        """Replan when what has been heard gives this agent other work; who is pushing goes on."""
        active, before = view.plan, self._order
        reports = [understand(message.content) for message in view.unread]
        scene = self._look(view)
        if view.role.name == "leader":
            news = any(report.done or report.failed for report in reports)
            return Interrupt(Choice.REPLAN if news else Choice.RESUME)
        if active is not None and active.task in scene.jobs and isinstance(active.actions[-view.plan_left], Push):
            return Interrupt(Choice.RESUME)
        order = self._decide(scene, view)
        if active is not None and active.task == (order.task if order is not None else NO_TASK):
            same = before is None or order is None or (before.slot is None) == (order.slot is None)
            return Interrupt(Choice.RESUME if same else Choice.REPLAN)
        return Interrupt(Choice.REPLAN)

    # -- what it knows -----------------------------------------------------------------------------------------

    def _look(self, view: PolicyView) -> Scene:
        """Read what is new, and forget what no longer holds."""
        scene = Scene.of(view)
        for message in (*view.conversation, *view.unread):
            if message.id not in self._read and message.sender != view.agent:
                self._read.add(message.id)
                self._hear(message.sender, message.content, view)
        if view.feedback and self._order is not None and self._failed != (view.step, self._order.task):
            self._failed = (view.step, self._order.task)
            self._tired[self._order.task] = view.step + REST
            self._claims.pop(view.agent, None)
            self._orders = [o for o in self._orders if o.task != self._order.task]
        self._claims = {
            agent: held
            for agent, held in self._claims.items()
            if held.task in scene.jobs and view.step <= held.since + PATIENCE
        }
        return scene

    def _hear(self, sender: AgentId, content: str, view: PolicyView) -> None:
        heard = understand(content)
        if sender not in view.team:
            return
        for order in heard.orders:
            if order.agent == view.agent and view.role.name == "follower":
                self._order, self._told_at = order, view.step
            elif view.role.name != "follower" and order.slot is not None and order.agent in view.team:
                self._claims.setdefault(order.agent, Held(order.task, view.step))
        if heard.claim is not None:
            self._claim(sender, heard.claim.task, view.step)
        elif heard.ack is not None:
            self._claim(sender, heard.ack, view.step)
        if heard.failed is not None:
            if heard.claim is None:
                self._claims.pop(sender, None)
            self._orders = [o for o in self._orders if o.task != heard.failed]

    def _claim(self, agent: AgentId, task: TaskId, step: int) -> None:
        if agent not in self._claims or self._claims[agent].task != task:
            self._claims[agent] = Held(task, step)

    def _talks(self, view: PolicyView) -> bool:
        return view.role.name != "independent" and len(view.team) > 1

    # -- what it decides ---------------------------------------------------------------------------------------

    def _decide(self, scene: Scene, view: PolicyView) -> Order | None:
        """This agent's work now; None when there is none for it."""
        role = view.role.name
        if role == "leader":
            self._orders = team_orders(scene, view.team, self._orders)
            self._order = next((o for o in self._orders if o.agent == view.agent), None)
        elif role == "follower":
            if self._order is not None and self._order.task not in scene.jobs:
                self._order = None
            if self._order is None and view.step > self._told_at + OBEDIENCE:
                self._order = self._prefer(scene, view, {})
        elif not self._talks(view):
            self._order = self._prefer(scene, view, {})
        else:
            self._order = self._agree(scene, view)
        return self._order

    def _agree(self, scene: Scene, view: PolicyView) -> Order | None:
        settled = settle(self._claims, scene.jobs)
        self._claims = {agent: held for agent, held in self._claims.items() if agent in settled}
        for agent, agreed in settled.items():
            self._claim(agent, agreed, view.step)
        task = settled.get(view.agent)
        if task is not None:
            return Order(view.agent, task, 0)
        self._claims.pop(view.agent, None)
        order = self._prefer(scene, view, settled)
        if order is not None:
            self._claim(view.agent, order.task, view.step)
        return order

    def _prefer(self, scene: Scene, view: PolicyView, settled: Mapping[AgentId, TaskId]) -> Order | None:
        """The face that is reached first, of those that lack hands and can get them; after a failure there, last."""
        others = [agent for agent in view.team if agent != view.agent]
        unbound = 1 + sum(agent not in settled for agent in others)
        best: tuple[bool, int, int] | None = None
        for task, job in scene.jobs.items():
            there = sum(t == task for t in settled.values()) if settled else len(scene.at_left_face(job))
            missing, eta = len(job.slots) - there, scene.eta(job)
            if eta is None or missing < 1 or missing > unbound:
                continue
            key = (self._tired.get(task, -1) > view.step, eta + 2 * (missing - 1), job.block.id)
            if best is None or key < best:
                best = key
        return Order(view.agent, f"block_{best[2]}:left", 0) if best is not None else None

    # -- what it says ------------------------------------------------------------------------------------------

    def _sentences(self, scene: Scene, view: PolicyView, order: Order | None) -> list[str]:
        said = self._reports(scene, view)
        if order is None:
            return said
        if view.role.name == "follower":
            return [*said, f"ACK {order.task}"]
        job = scene.jobs[order.task]
        if view.role.name.startswith("speaker_") and not self._spoken_for(view.agent, order.task):
            group = form(scene.board, job, range(len(view.team)))
            if group is not None and agent_index(view.agent) in group.members:
                orders = [Order(view.team[i], order.task, slot) for slot, i in enumerate(group.members)]
                return [*said, say_orders(orders, "PROPOSE")]
        eta = scene.eta(job) or 0
        claim = say_claim(Claim(order.task, len(job.slots), eta))
        return [*said, claim] if eta else [*said, claim, f"READY {order.task}"]

    def _reports(self, scene: Scene, view: PolicyView) -> list[str]:
        """What this agent has delivered, and what its last plan failed at; told in one decision step only."""
        if self._worked_on is not None and self._worked_on in scene.seen.delivered:
            self._told.setdefault(self._worked_on, view.step)
        done = [f"DONE block_{block}" for block, step in self._told.items() if step == view.step]
        failed = self._failed is not None and self._failed[0] == view.step
        return [*done, f"FAILED {self._failed[1]}"] if failed and self._failed is not None else done

    def _spoken_for(self, me: AgentId, task: TaskId) -> bool:
        return any(held.task == task for agent, held in self._claims.items() if agent != me)

    # -- what it does ------------------------------------------------------------------------------------------

    def _work(self, scene: Scene, view: PolicyView, order: Order) -> list[BaseModel]:
        job = scene.jobs[order.task]
        block, weight = job.block.id, job.block.weight
        talks = self._talks(view)
        patience = PATIENCE if talks else min(PATIENCE, LONE_PATIENCE + 2 * agent_index(view.agent))
        told = view.role.name in ("leader", "follower") and order.slot is not None and order.slot < weight
        actions: list[BaseModel] = [MoveToBlock(block_id=block, side="left", slot=order.slot if told else None)]
        if weight > 1:
            actions.append(Rendezvous(block_id=block, side="left", timeout=patience))
        left = job.pushes + (SPARE if talks else 0)
        while left > 0 and len(actions) < MOST_ACTIONS:
            actions.append(Push(block_id=block, num_steps=min(left, MAX_STEPS)))
            left -= MAX_STEPS
        return actions

    def _step_aside(self, scene: Scene, steps: int) -> list[BaseModel]:
        """Moves to the nearest cell that no delivery needs, then waiting."""
        keep_out = {cell for job in scene.jobs.values() for cell in job.lane()}
        # Who stands in line behind a face counts as force there; partners would push before they are enough.
        keep_out |= {shifted(slot, LEFT, k) for job in scene.jobs.values() for slot in job.slots for k in (1, 2)}
        here = scene.board.agents[agent_index(scene.agent)]
        solid = {*scene.board.solid(), *scene.board.agents} - {here}
        side = scene.board.side
        quiet = [(r, c) for r in range(side) for c in range(side) if (r, c) not in keep_out]
        away = distances(side, quiet, solid)
        moves: list[int] = []
        cell: Cell = here
        while away.get(cell, 0):
            moves.append(next(d for d in (UP, DOWN, LEFT, RIGHT) if away.get(shifted(cell, d), side**2) < away[cell]))
            cell = shifted(cell, moves[-1])
        walk: list[BaseModel] = [
            Move(direction=_DIRECTIONS[d], num_steps=min(len(list(run)), MAX_STEPS)) for d, run in groupby(moves)
        ]
        return [*walk, Wait(num_steps=steps)]
