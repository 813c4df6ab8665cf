"""The messages of the scripted team: short sentences that people and programs can read.

    CLAIM block_2:left need 3 eta 7      I work on this face; it needs so many agents; I am there in so many steps
    READY block_2:left                   I stand at this face and wait for the others
    DONE block_2                         it has been delivered
    FAILED block_2:left REASON           my plan for it has failed
    ACK block_2:left                     I do as told
    ASSIGN agent_0 block_2:left slot 0; agent_1 block_2:left reserve     who does what
    PROPOSE agent_0 block_2:left slot 0; agent_1 block_2:left slot 1     the same, to be taken or left

A message may hold several sentences, separated by ". ". Whatever is no such sentence is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from emcoop.core.types import AgentId, TaskId

_TASK = r"(block_\d{1,4}:(?:left|right|up|down))"
_PART = rf"agent_\d{{1,4}} {_TASK[1:-1]} (?:slot \d{{1,4}}|reserve)"
_PARTS = re.compile(rf"(agent_\d{{1,4}}) {_TASK} (?:slot (\d{{1,4}})|reserve)")
_ORDERS = re.compile(rf"\b(?:ASSIGN|PROPOSE) ((?:{_PART})(?:; {_PART})*)")
_CLAIM = re.compile(rf"\bCLAIM {_TASK} need (\d{{1,4}}) eta (\d{{1,5}})\b")
_READY = re.compile(rf"\bREADY {_TASK}")
_ACK = re.compile(rf"\bACK {_TASK}")
_DONE = re.compile(r"\bDONE block_(\d{1,4})\b")
_FAILED = re.compile(rf"\bFAILED {_TASK}")

LONGEST = 20_000
"""Characters of a message that are read."""


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody shall do; `slot` None keeps it in reserve near the task."""

    agent: AgentId
    task: TaskId
    slot: int | None


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody works on a task that needs so many agents, and arrives in `eta` steps."""

    task: TaskId
    need: int
    eta: int


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message says."""

    orders: tuple[Order, ...] = ()
    claim: Claim | None = None
    ready: TaskId | None = None
    ack: TaskId | None = None
    done: tuple[int, ...] = ()
    failed: TaskId | None = None


def understand(text: str) -> Heard:
    """The sentences of a message; any text can be read, and says nothing where it has none."""
    text = text[:LONGEST]
    orders = _ORDERS.search(text)
    claim = _CLAIM.search(text)
    ready, ack, failed = _READY.search(text), _ACK.search(text), _FAILED.search(text)
    parts = _PARTS.findall(orders.group(1)) if orders else []
    return Heard(
        orders=tuple(Order(agent, task, int(slot) if slot else None) for agent, task, slot in parts),
        claim=Claim(claim.group(1), int(claim.group(2)), int(claim.group(3))) if claim else None,
        ready=ready.group(1) if ready else None,
        ack=ack.group(1) if ack else None,
        done=tuple(int(number) for number in _DONE.findall(text)),
        failed=failed.group(1) if failed else None,
    )


def say_orders(orders: Sequence[Order], verb: str = "ASSIGN") -> str:
    """The sentence that gives (ASSIGN) or offers (PROPOSE) everybody a task."""
    said = (f"{o.agent} {o.task} " + (f"slot {o.slot}" if o.slot is not None else "reserve") for o in orders)
    return f"{verb} " + "; ".join(said)


def say_claim(claim: Claim) -> str:
    """The sentence of a claim."""
    return f"CLAIM {claim.task} need {claim.need} eta {claim.eta}"
