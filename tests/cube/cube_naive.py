"""One step of CUBE with sets and dictionaries: slow, plain, and written from the rules, not from the kernels.

The rules, in the order of a step (paper, appendix H.1, and what the project's notes settle):

1. For each direction, up, down, left, right: an agent pushes a block if it heads that way and between it and the
   block there stand only agents that head the same way. A pushed block moves with all blocks in front of it, on in
   front of those, and so on: its chain. Pushed blocks whose chains share a block are one compound. Compounds are tried
   by the smallest pushed block in them. A compound or chain moves when its pushers are at least its weight and every
   cell it needs is inside and holds no agent; its pushers go along. A compound that does not move is tried again
   as the separate chains of its pushed blocks, by block. Who pushed in vain does nothing more.
2. Blocks with a cell in the last column are delivered and gone.
3. The others move: not through a wall, not onto a block; of several that want a cell the smallest index may go,
   and it goes if the cell is empty or its occupant goes. Rings of agents that wait for one another do not go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Cell = tuple[int, int]
MOVES: dict[int, Cell] = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


@dataclass
class World:
    """Agents by index, and the blocks still in play as (row, col, weight) by index."""

    side: int
    agents: dict[int, Cell]
    blocks: dict[int, tuple[int, int, int]]

    def cells(self, block: int) -> set[Cell]:
        row, col, weight = self.blocks[block]
        return {(row + r, col + c) for r in range(weight) for c in range(weight)}

    def block_at(self, cell: Cell) -> int | None:
        row, col = cell
        for b, (top, left, weight) in self.blocks.items():
            if top <= row < top + weight and left <= col < left + weight:
                return b
        return None

    def agent_at(self, cell: Cell) -> int | None:
        return next((i for i, place in self.agents.items() if place == cell), None)

    def inside(self, cell: Cell) -> bool:
        return 0 <= cell[0] < self.side and 0 <= cell[1] < self.side


@dataclass
class Outcome:
    """Per agent (result, force, need) as names and numbers, the delivered weight, and what was seen on the way."""

    results: dict[int, tuple[str, int, int]]
    delivered: int
    largest_chain: int
    split_compounds: int


def ahead(cell: Cell, direction: int) -> Cell:
    return cell[0] + MOVES[direction][0], cell[1] + MOVES[direction][1]


def pushed_by(world: World, actions: Sequence[int], agent: int) -> int | None:
    """The block that this agent pushes."""
    cell = world.agents[agent]
    while True:
        cell = ahead(cell, actions[agent])
        block, other = world.block_at(cell), world.agent_at(cell)
        if block is not None:
            return block
        if other is None or actions[other] != actions[agent]:
            return None


def needed(world: World, blocks: set[int], direction: int) -> set[Cell]:
    """The cells outside these blocks that they would cover after one move."""
    covered = set().union(*(world.cells(b) for b in blocks))
    return {ahead(cell, direction) for cell in covered} - covered


def chain_of(world: World, block: int, direction: int) -> set[int]:
    """The block and everything it would push."""
    chain = {block}
    while True:
        hit = {b for cell in needed(world, chain, direction) if (b := world.block_at(cell)) is not None}
        if not hit:
            return chain
        chain |= hit


def joined(chains: list[set[int]]) -> list[set[int]]:
    """The chains, those that share a block united."""
    united: list[set[int]] = []
    for chain in chains:
        apart = [other for other in united if not other & chain]
        united = [*apart, chain.union(*(other for other in united if other & chain))]
    return united


class _Step:
    def __init__(self, world: World, actions: Sequence[int]) -> None:
        self.world = world
        self.actions = actions
        self.busy: set[int] = set()
        self.outcome = Outcome(dict.fromkeys(world.agents, ("stayed", 0, 0)), 0, 0, 0)

    def attempt(self, blocks: set[int], pushers: set[int], direction: int) -> bool:
        """Move these blocks and pushers one cell if the rules let them."""
        if not pushers:
            return False
        world = self.world
        need = sum(world.blocks[b][2] for b in blocks)
        room = all(world.inside(cell) and world.agent_at(cell) is None for cell in needed(world, blocks, direction))
        moves = len(pushers) >= need and room
        name = "pushed" if moves else "insufficient_force" if len(pushers) < need else "blocked_destination"
        for i in pushers:
            self.outcome.results[i] = (name, len(pushers), need)
        if moves:
            self.outcome.largest_chain = max(self.outcome.largest_chain, len(blocks))
            for b in blocks:
                row, col, weight = world.blocks[b]
                world.blocks[b] = (*ahead((row, col), direction), weight)
            for i in pushers:
                world.agents[i] = ahead(world.agents[i], direction)
        return moves

    def push(self, direction: int) -> None:
        world = self.world
        pushing: dict[int, int] = {}
        for i in world.agents:
            if self.actions[i] == direction and i not in self.busy:
                block = pushed_by(world, self.actions, i)
                if block is not None:
                    pushing[i] = block
        pushed = set(pushing.values())
        compounds = joined([chain_of(world, b, direction) for b in sorted(pushed)])
        for compound in sorted(compounds, key=lambda blocks: min(blocks & pushed)):
            waiting = {i for i, b in pushing.items() if b in compound}
            if self.attempt(compound, waiting, direction):
                continue
            for block in sorted(compound & pushed) if len(compound & pushed) > 1 else ():
                chain = chain_of(world, block, direction)
                pushers = {i for i in waiting if pushing[i] in chain}
                if self.attempt(chain, pushers, direction):
                    self.outcome.split_compounds += 1
                    waiting -= pushers
        self.busy |= set(pushing)

    def deliver(self) -> None:
        last = self.world.side - 1
        for block in [b for b in self.world.blocks if any(col == last for _, col in self.world.cells(b))]:
            self.outcome.delivered += self.world.blocks.pop(block)[2]

    def walk(self) -> None:
        world, results = self.world, self.outcome.results
        target: dict[int, Cell] = {}
        for i in world.agents:
            if self.actions[i] == 0 or i in self.busy:
                continue
            cell = ahead(world.agents[i], self.actions[i])
            if not world.inside(cell):
                results[i] = ("wall", 0, 0)
            elif world.block_at(cell) is not None:
                results[i] = ("occupied", 0, 0)
            elif cell in target.values():
                results[i] = ("contested", 0, 0)
            else:
                target[i] = cell
        start = dict(world.agents)
        going: set[int] = set()
        changed = True
        while changed:
            changed = False
            for i, cell in target.items():
                occupant = next((j for j, place in start.items() if place == cell), None)
                if i not in going and (occupant is None or occupant in going):
                    going.add(i)
                    changed = True
        for i, cell in target.items():
            results[i] = ("moved", 0, 0) if i in going else ("occupied", 0, 0)
            if i in going:
                world.agents[i] = cell


def step(world: World, actions: Sequence[int]) -> tuple[World, Outcome]:
    """The world after one joint step (`actions[i]` 0 stay, 1 up, 2 down, 3 left, 4 right), and what happened."""
    run = _Step(World(world.side, dict(world.agents), dict(world.blocks)), actions)
    for direction in MOVES:
        run.push(direction)
    run.deliver()
    run.walk()
    return run.world, run.outcome
