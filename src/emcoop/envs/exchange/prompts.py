"""The rules of the exchange as text, in three wordings; the assists are no part of them, and change no word."""

from __future__ import annotations

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.envs.exchange.generator import Spec

_FULL = """\
You are one of {agents} agents in the exchange. There are {pieces} pieces of information, numbered 0 to {last}; each \
has a true value from 0 to 100. At the start every piece is held by one agent only.

GOAL: together, earn as much revenue as possible for the whole group within {rounds} rounds.

TASKS: you have {tasks} open tasks at any time. A task needs {size} pieces, drawn uniformly from all of them. When you \
hold all of its pieces you can submit it; it pays {pay} to you and a new task takes its place, which you see at your \
next turn.

SHARING: sending a piece gives the recipient a copy; you keep yours. Messages, sending and asking cost nothing, and \
you may do as much as you like in one turn. You state a value with every piece that you send. {overwriting} Every \
piece with a wrong value in a submitted task multiplies its pay by {factor}.

ROUNDS: in every round each agent has one turn, in an order that is drawn anew. What you send and write is there at \
once for those who move later. Your list of who holds which pieces is from the start of the round.

ACTIONS of a turn, a list that is carried out in order:
- message(to, text): write to one agent
- request(to, piece): ask one agent for a piece
- send(to, piece, value): send a copy of a piece that you hold
- broadcast(text): write to everybody
- submit(number): submit one of your tasks, by its number
- pass(num_steps): do nothing for so many turns
An action that is not possible is refused and costs nothing. At most {most} actions are carried out in a turn.

TASK of a plan: the task that your turn serves, such as agent_0:task_3, or none. Your reasoning is private.{extra}"""

_SHORT = """\
Exchange: {agents} agents, pieces 0-{last}, each held by one agent at first, true values 0-100. Maximise the GROUP's \
revenue in {rounds} rounds.
You have {tasks} open tasks of {size} pieces each (drawn from all). Hold them all, submit, get {pay}, and a new task, \
seen at your next turn. send = a copy, you keep yours; all is free and unlimited. A wrong value in a submitted task: \
pay x {factor} each. {overwriting}
Each round everybody moves once, order drawn anew; later movers see at once what you did. The list of holders is from \
the round's start.
Turn = list of actions, in order, at most {most}: message(to, text), request(to, piece), send(to, piece, value), \
broadcast(text), submit(number), pass(num_steps). Impossible ones are refused.
Plan's task: such as agent_0:task_3, or none. Reasoning is private.{extra}"""

_STORY = """\
You work in an office of {agents} colleagues. The office knows {pieces} facts, numbered 0 to {last}, each a figure \
from 0 to 100, and on the first day every fact is known to one colleague only. The office is judged by what all of you \
earn together in {rounds} days.

On your desk lie {tasks} jobs. Each wants {size} of the facts, any of them. Know them all, hand the job in (submit), \
and {pay} is booked to your name; the next job reaches you for your next turn. Telling a colleague a fact takes \
nothing from you, and neither notes nor questions cost anything, however many. You tell a fact with a figure; for \
each wrong figure in a job that is handed in, only the factor {factor} of the pay is left. {overwriting}

Every day each colleague has one turn, in a new order. Who comes later sees what you have done. The board that says \
who knows which facts is written in the morning.

In your turn you give a list of actions, at most {most}, done in order: message(to, text); request(to, piece) to ask a \
colleague for a fact; send(to, piece, value) to tell one; broadcast(text) to all; submit(number) of your \
job; pass(num_steps) to sit out turns. What cannot be done is refused without harm. Name the job you work for, such as \
agent_0:task_3, or none. Your reasoning is for yourself alone.{extra}"""

_TEXTS = {"full": _FULL, "short": _SHORT, "story": _STORY}

VARIANTS = tuple(_TEXTS)

_PROTOCOL = """

POLICY of the group:
1. Request every piece that your tasks lack from an agent that holds it.
2. Send every piece that you are asked for, with its true value.
3. Submit every task as soon as you hold its pieces."""

_INCENTIVE = {
    "received": "the sender is paid {amount} for every piece that is new to its recipient",
    "if_used": "the sender of a piece that was new to its recipient is paid {amount} once a submitted task uses it",
    "by_recipient": "a recipient pays its sender {amount} for every piece that is new to it",
    "symbolic": "the sender gets {amount} points, worth no money, for every piece that is new to its recipient",
}


def rules(variant: str, spec: Spec) -> str:
    """The rules in this wording. Raises ConfigError for an unknown one."""
    if variant not in _TEXTS:
        raise ConfigError(f"exchange has no prompt variant {variant!r}; {nearest(variant, _TEXTS)}")
    return _TEXTS[variant].format(
        agents=spec.agents,
        pieces=spec.pieces,
        last=spec.pieces - 1,
        rounds=spec.rounds,
        tasks=spec.open_tasks,
        size=spec.task_pieces,
        pay=f"{spec.pay:g}",
        factor=f"{spec.wrong_factor:g}",
        most=spec.most_actions,
        overwriting=_overwriting(spec),
        extra=_extra(spec),
    )


def _overwriting(spec: Spec) -> str:
    if spec.overwrite:
        return "A piece that comes again takes the value it comes with."
    return "A piece that you hold keeps its value, whatever comes later."


def _extra(spec: Spec) -> str:
    """What an intervention adds to the rules."""
    parts = []
    if spec.incentive:
        paid = _INCENTIVE[spec.incentive_arm].format(amount=f"{spec.incentive:g}")
        parts.append(f"\n\nSHARING PAYS: {paid}.")
    if spec.most_sends is not None:
        parts.append(f"\n\nLIMIT: you can send at most {spec.most_sends} pieces in a turn.")
    if spec.protocol:
        parts.append(_PROTOCOL)
    return "".join(parts)
