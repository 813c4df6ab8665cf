"""The rules of CUBE as text, in three wordings: how much the wording matters is a result, not noise."""

from __future__ import annotations

from functools import lru_cache

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError

_FULL = """\
You are one of several agents in CUBE, a grid of {side} rows and {side} columns. Rows are numbered from the top, \
columns from the left, both from 0.

GOAL: deliver every block into the goal column, the rightmost one (column {goal}), within {horizon} steps. A block is \
delivered, and vanishes, as soon as any part of it is in the goal column.

BLOCKS: a block of weight w is a square of w x w cells, given by its top-left cell. It moves one cell when at least w \
agents push it in the same step from the same face: from its left face it moves right, from its right face left, \
from above (face up) down, from below (face down) up. Agents in a straight line behind a pushing agent add their \
force. Blocks that touch in the direction of the push move as one and need the sum of their weights. Nothing moves \
if a wall or an agent is in the way. Blocks cannot be pulled.

AGENTS: an agent fills one cell. Two agents cannot share or swap cells; the smaller index wins a contested cell.

ACTIONS of a plan, carried out one primitive step at a time: move so many cells; wait; push the block at whose face \
you stand; move_to_block walks to a free cell of that face (the optional slot says which, from 0); rendezvous walks \
there and waits until enough agents stand there; yield steps aside; wait_for waits for a teammate's message, or until \
it stands at (row, col).

TASK: name the block and the face where you will stand, e.g. block_0:left, or none."""

_SHORT = """\
CUBE: {side} x {side} cells, (row, col) from the top left, from 0. Push all blocks into column {goal} within {horizon} \
steps.
Weight w = a w x w square = w agents pushing the same face in the same step. Face left pushes right, right pushes \
left, up pushes down, down pushes up. Agents lined up behind a pusher count. Touching blocks add their weights. Walls \
and agents block. No pulling. One agent per cell, no swaps, smaller index first.
Plan = task (block_ID:FACE or none) and actions: move, wait, push (only where you stand at the face), move_to_block, \
rendezvous (go there and wait for enough agents), yield, wait_for (a teammate's message, or it at row and col)."""

_STORY = """\
You work in a warehouse with a floor of {side} by {side} tiles (row 0 is at the top, column 0 at the left). Square \
crates stand on it, and all of them belong onto the loading strip along the right edge, column {goal}. You and your \
colleagues have {horizon} steps. A crate leaves the floor once any of its tiles is on the strip.

A crate of weight w covers w by w tiles and needs w colleagues who push together, on one face, in the same step. Who \
stands at the left face pushes to the right, at the right face to the left, at the upper face downwards, at the \
lower face upwards. Colleagues may queue behind a pusher: their force counts too. Crates that touch each other must \
be pushed as one load. Nobody can pull, share a tile or trade places; a wall or a person in the way stops a push. If \
two want the same tile, the one with the smaller number gets it.

Say which task you take (like block_0:left: the crate and the face where you stand, or none) and list your actions: \
move; wait; push, only from a face; move_to_block to walk to a face; rendezvous to walk there and wait for enough \
colleagues; yield to step aside; wait_for a colleague's message or position."""

_TEXTS = {"full": _FULL, "short": _SHORT, "story": _STORY}

VARIANTS = tuple(_TEXTS)


@lru_cache(maxsize=64)
def rules(variant: str, side: int, horizon: int) -> str:
    """The rules in this wording. Raises ConfigError for an unknown one."""
    if variant not in _TEXTS:
        raise ConfigError(f"cube has no prompt variant {variant!r}; {nearest(variant, _TEXTS)}")
    return _TEXTS[variant].format(side=side, goal=side - 1, horizon=horizon)
