"""The reference policies of CUBE: floors (random, noop, greedy), a team that talks (scripted), ceilings (oracles).

CUBE is fully observed: `oracle` and `team-oracle` plan from the same board, the one in the observation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import BaseModel

from emcoop.core.config import load
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, AgentId, Choice, Interrupt, Outgoing, Plan, agent_index
from emcoop.envs.cube.actions import MAX_STEPS, Direction, Move, MoveToBlock, Push, Wait
from emcoop.envs.cube.board import Board
from emcoop.envs.cube.contact import task_name
from emcoop.envs.cube.observe import CubeObservation, SeenBlock
from emcoop.envs.cube.planner import JointPlan, Run, next_phase, share
from emcoop.envs.cube.scripted import ScriptedPolicy
from emcoop.envs.cube.state import DOWN, LEFT, RIGHT, STAY, UP
from emcoop.envs.cube.talk import Order, say_orders
from emcoop.envs.policy import NoOptions, Policy, PolicyFactory, PolicySeat, PolicyView, Quiet

DIRECTIONS: Mapping[int, Direction] = {UP: "up", DOWN: "down", LEFT: "left", RIGHT: "right"}


def seen(view: PolicyView) -> CubeObservation:
    """The view's observation. Raises TypeError for that of another world."""
    if not isinstance(view.observation, CubeObservation):
        raise TypeError(f"a policy of CUBE cannot read a {type(view.observation).__name__}")
    return view.observation


class Silent(Quiet):
    """Waits, says nothing and goes on with its plan: `noop` as it is; subclasses plan."""

    def plan(self, view: PolicyView) -> Plan:
        """Wait one step."""
        return Plan(NO_TASK, (Wait(num_steps=1),))


class RandomPolicy(Silent):
    """One uniformly random primitive at a time."""

    def plan(self, view: PolicyView) -> Plan:
        """Move one cell in one of the four directions, or wait; each with probability 1/5."""
        primitive = Stream.named(view.seed, "cube", "random").below(5)
        return Plan(NO_TASK, (action(Run(primitive, 1)),))


class GreedyPolicy(Silent):
    """Goes to the nearest block's left face and pushes, alone and whatever it weighs."""

    def plan(self, view: PolicyView) -> Plan:
        """To the nearest face, then push to the goal column; waits when nothing is left that the team could push."""
        observation = seen(view)
        me = observation.me()
        within = [b for b in observation.blocks if b.weight <= len(view.team) and b.col > 0]
        if not within:
            return Plan(NO_TASK, (Wait(num_steps=1),))

        def away(block: SeenBlock) -> tuple[int, int]:
            rows = max(block.row - me.row, 0, me.row - (block.row + block.weight - 1))
            return rows + abs(block.col - 1 - me.col), block.id

        block = min(within, key=away)
        pushes = Push(block_id=block.id, num_steps=min(MAX_STEPS, max(1, block.distance)))
        return Plan(task_name(block.id, "left"), (MoveToBlock(block_id=block.id, side="left"), pushes))


def action(run: Run) -> BaseModel:
    """A run of equal primitives as a symbolic action."""
    if run.primitive == STAY:
        return Wait(num_steps=run.length)
    if run.block is not None:
        return Push(block_id=run.block, num_steps=run.length)
    return Move(direction=DIRECTIONS[run.primitive], num_steps=run.length)


def task_of(joint: JointPlan | None, agent: AgentId) -> str:
    """The task of an agent in a joint plan; ``none`` when it only keeps out of the way."""
    part = joint.parts[agent_index(agent)] if joint is not None else None
    return part.task if part is not None else NO_TASK


class OraclePolicy:
    """A seat of the central planner.

    All who plan from the same board find the same joint plan, and all their plans are equally long: a team of
    oracles stays in step without a message.
    """

    privileged = False

    def plan(self, view: PolicyView) -> Plan:
        """The agent's part of the phase; waits one step when nothing can be done."""
        joint = next_phase(Board.seen(seen(view)))
        if joint is None:
            return Plan(NO_TASK, (Wait(num_steps=1),), "nothing can be delivered from here")
        mine = share(joint, agent_index(view.agent))
        return Plan(task_of(joint, view.agent), tuple(action(run) for run in mine), "part of the central plan")

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Everybody's true part in the central plan, once in a decision step."""
        if not view.recipients or any(message.sender == view.agent for message in view.conversation):
            return None
        joint = next_phase(Board.seen(seen(view)))
        if joint is None:
            return None
        return Outgoing(view.recipients, say_orders(orders(joint, view.team)))

    def interrupt(self, view: PolicyView) -> Interrupt:
        """Replan if and only if the central plan from here gives the agent another task than its plan has."""
        joint = next_phase(Board.seen(seen(view)))
        if view.plan is not None and view.plan.task == task_of(joint, view.agent):
            return Interrupt(Choice.RESUME)
        return Interrupt(Choice.REPLAN)


def orders(joint: JointPlan, team: Sequence[AgentId]) -> list[Order]:
    """A joint plan as orders, one for each agent; who has no work is the reserve of the first job."""
    first = next((part.task for part in joint.parts if part is not None), NO_TASK)
    return [
        Order(agent, part.task, part.slot) if part is not None else Order(agent, first, None)
        for agent, part in zip(team, joint.parts, strict=True)
    ]


def _factory(make: Callable[[], Policy]) -> PolicyFactory:
    def seated(seat: PolicySeat) -> Policy:
        load(NoOptions, dict(seat.options), f"policy of {seat.agent}")
        return make()

    return seated


POLICIES: Mapping[str, PolicyFactory] = {
    "random": _factory(RandomPolicy),
    "noop": _factory(Silent),
    "greedy": _factory(GreedyPolicy),
    "scripted": _factory(ScriptedPolicy),
    "oracle": _factory(OraclePolicy),
    "team-oracle": _factory(OraclePolicy),
}
"""Each takes a seat; raises ConfigError for any option."""
