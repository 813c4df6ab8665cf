"""The state of MA-Crafter as arrays. N agents, H x W cells, M mob slots; rows grow downwards, columns to the right.

Column names of the arrays are in `constants`. Nothing may write into a state's arrays but the kernels of `rules`, which
work on a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    AGENT_FIELDS,
    CHUNK,
    CHUNK_FIELDS,
    CLOCK_FIELDS,
    COL,
    DEAD,
    DIRECTIONS,
    ENERGY,
    FACING,
    FURNACE,
    HEALTH,
    HOME_COL,
    HOME_ROW,
    ITEMS,
    KIND,
    LAST_HEALTH,
    MATERIALS,
    MAX_AGENTS,
    MOB_COL,
    MOB_COUNT,
    MOB_DIRECTION,
    MOB_FIELDS,
    MOB_ROW,
    MOBS,
    MOST,
    NEXT_ID,
    RESULT_FIELDS,
    RESULTS,
    ROW,
    STEP,
    TARGET,
    TOP,
    WATER,
)

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_MAGIC = b"MACRAFT1"
_HEAD = 4


class CrafterState(NamedTuple):
    """One state: a tuple of arrays, so that a kernel takes it whole.

    `material` [H, W] uint8: MATERIALS.
    `occupant` [H, W] int16: 0 nobody, i + 1 agent i, -(m + 1) mob slot m. Follows from the rest.
    `agents` [N, AGENT_FIELDS]: position, facing, sleeping, dead, hidden counters, deaths, start cell. A dead agent's
    body is not on the map.
    `inventory` [N, 16]: ITEMS; vitals health, food, drink, energy first, each 0 to 9.
    `achievements` [N, 22]: how often each agent did what ACHIEVEMENTS names.
    `result` [N, RESULT_FIELDS]: what became of each agent's last primitive.
    `mobs` [M, MOB_FIELDS]: cows, zombies, skeletons, arrows and plants; KIND 0 is a free slot.
    `chunks` [rows, columns, CHUNK_FIELDS]: how many cells of each material, and mobs of each kind, each chunk of 12 x
    12 cells holds. Follows from the rest; their sum counts the map without scanning it.
    `ids` [H, W] int32: the id of a cell, given when the team first sights something with a name there, in that order; 0
    until then. A cell keeps it whatever becomes of it, so that an id tells nobody of changes it has not seen: the name
    of a thing is its kind and this id. Mobs have theirs in MOB_ID.
    `seen` [N, H, W] uint8: the material that each agent last saw in each cell, 0 for never.
    `sighted` [N, N, 3]: where and when (SIGHT_ROW, SIGHT_COL, SIGHT_STEP) agent i last saw agent j; row -1 for never.
    `clock` [CLOCK_FIELDS]: STEP, NEXT_ID, TOP.
    `rng` [1] uint64: the counter of the world's SplitMix64 stream.

    All other arrays are int64: one kind of integer, so that each kernel is compiled once. Snapshots store 32 bits.
    """

    material: Bytes
    occupant: NDArray[np.int16]
    agents: Ints
    inventory: Ints
    achievements: Ints
    result: Ints
    mobs: Ints
    chunks: Ints
    ids: NDArray[np.int32]
    seen: Bytes
    sighted: Ints
    clock: Ints
    rng: NDArray[np.uint64]

    @property
    def step(self) -> int:
        """Steps so far."""
        return int(self.clock[STEP])

    @property
    def team(self) -> int:
        """N."""
        return int(self.agents.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """(H, W)."""
        rows, cols = self.material.shape
        return int(rows), int(cols)

    def copy(self) -> CrafterState:
        """An equal state that shares nothing with this one."""
        return CrafterState._make(array.copy() for array in self)


def mob_slots(rows: int, cols: int) -> int:
    """M for a map of this size: more than balanced chunks and their arrows ever need; plants fill what is left."""
    return max(64, rows * cols // 16)


def make_state(
    material: NDArray[np.integer],
    positions: Sequence[tuple[int, int]],
    mobs: Sequence[Sequence[int]] = (),
    seed: int = 0,
) -> CrafterState:
    """The state at step 0 of this ground [H, W] with agents at these cells (row, col).

    `mobs` are (kind, row, col, health). Agents face down, as in Crafter, and nobody has seen anything yet (`reset` and
    `rules.look` do that). Raises ValueError for bodies outside or on one another, or for ground that does not exist.
    """
    rows, cols = material.shape
    team = len(positions)
    if not 1 <= team <= MAX_AGENTS:
        raise ValueError(f"{team} agents; there can be 1 to {MAX_AGENTS}")
    if material.size == 0 or material.min() < WATER or material.max() > FURNACE:
        raise ValueError("a map with a material that does not exist")
    agents = np.zeros((team, AGENT_FIELDS), np.int64)
    agents[:, [ROW, COL]] = agents[:, [HOME_ROW, HOME_COL]] = np.array(positions, np.int64).reshape(team, 2)
    agents[:, FACING] = 4
    agents[:, LAST_HEALTH] = MOST
    inventory = np.zeros((team, len(ITEMS)), np.int64)
    inventory[:, HEALTH : ENERGY + 1] = MOST
    result = np.zeros((team, RESULT_FIELDS), np.int64)
    result[:, TARGET] = -1
    slots = np.zeros((max(mob_slots(rows, cols), len(mobs)), MOB_FIELDS), np.int64)
    if len(mobs):
        slots[: len(mobs), [KIND, MOB_ROW, MOB_COL, MOB_COL + 1]] = np.array(mobs, np.int64)
    sighted = np.full((team, team, 3), -1, np.int64)
    clock = np.zeros(CLOCK_FIELDS, np.int64)
    clock[NEXT_ID], clock[TOP] = 1, len(mobs)
    ground = material.astype(np.uint8)
    return CrafterState(
        material=ground,
        occupant=_bodies(ground, agents, slots),
        agents=agents,
        inventory=inventory,
        achievements=np.zeros((team, len(ACHIEVEMENTS)), np.int64),
        result=result,
        mobs=slots,
        chunks=count_chunks(ground, slots),
        ids=np.zeros((rows, cols), np.int32),
        seen=np.zeros((team, rows, cols), np.uint8),
        sighted=sighted,
        clock=clock,
        rng=np.array([seed], np.uint64),
    )


def count_chunks(material: Bytes, mobs: Ints) -> Ints:
    """`chunks` of this ground [H, W] and these mobs, counted."""
    rows, cols = material.shape
    counts = np.zeros((-(-rows // CHUNK), -(-cols // CHUNK), CHUNK_FIELDS), np.int64)
    for row in range(counts.shape[0]):
        for col in range(counts.shape[1]):
            part = material[row * CHUNK : (row + 1) * CHUNK, col * CHUNK : (col + 1) * CHUNK]
            counts[row, col, :MOB_COUNT] = np.bincount(part.ravel(), minlength=MOB_COUNT)
    for mob in mobs[mobs[:, KIND] > 0]:
        counts[mob[MOB_ROW] // CHUNK, mob[MOB_COL] // CHUNK, MOB_COUNT + mob[KIND]] += 1
    return counts


def _bodies(material: Bytes, agents: Ints, mobs: Ints) -> NDArray[np.int16]:
    occupant = np.zeros(material.shape, np.int16)
    bodies = [(int(a[ROW]), int(a[COL]), i + 1) for i, a in enumerate(agents) if not a[DEAD]]
    bodies += [(int(m[MOB_ROW]), int(m[MOB_COL]), -(k + 1)) for k, m in enumerate(mobs) if m[KIND]]
    for row, col, body in bodies:
        if not (0 <= row < material.shape[0] and 0 <= col < material.shape[1]):
            raise ValueError(f"a body at ({row}, {col}) is outside the map")
        if occupant[row, col]:
            raise ValueError(f"two bodies at ({row}, {col})")
        occupant[row, col] = body
    return occupant


_STORED: dict[str, str] = {
    "material": "<u1",
    "agents": "<i4",
    "inventory": "<i4",
    "achievements": "<i4",
    "result": "<i4",
    "mobs": "<i4",
    "ids": "<i4",
    "seen": "<u1",
    "sighted": "<i4",
    "clock": "<i4",
    "rng": "<u8",
}
"""What a snapshot holds, in this order; the rest follows from it."""
_NATIVE: dict[str, np.dtype[Any]] = {
    "material": np.dtype(np.uint8),
    "seen": np.dtype(np.uint8),
    "ids": np.dtype(np.int32),
    "rng": np.dtype(np.uint64),
}


def _shapes(rows: int, cols: int, team: int, slots: int) -> dict[str, tuple[int, ...]]:
    return {
        "material": (rows, cols),
        "agents": (team, AGENT_FIELDS),
        "inventory": (team, len(ITEMS)),
        "achievements": (team, len(ACHIEVEMENTS)),
        "result": (team, RESULT_FIELDS),
        "mobs": (slots, MOB_FIELDS),
        "ids": (rows, cols),
        "seen": (team, rows, cols),
        "sighted": (team, team, 3),
        "clock": (CLOCK_FIELDS,),
        "rng": (1,),
    }


def to_bytes(state: CrafterState) -> bytes:
    """The whole state as canonical little-endian bytes."""
    head = np.array([*state.shape, state.team, len(state.mobs)], "<i4")
    parts = (np.ascontiguousarray(getattr(state, name), kind).tobytes() for name, kind in _STORED.items())
    return _MAGIC + head.tobytes() + b"".join(parts)


def from_bytes(data: bytes) -> CrafterState:
    """The inverse of `to_bytes`. Raises ValueError for anything else."""
    if data[:8] != _MAGIC or len(data) < 8 + 4 * _HEAD:
        raise ValueError("these bytes are no snapshot of an MA-Crafter state")
    rows, cols, team, slots = (int(v) for v in np.frombuffer(data, "<i4", _HEAD, 8))
    if min(rows, cols, team, slots) < 1 or team > MAX_AGENTS or len(data) > 1 << 28:
        raise ValueError("an MA-Crafter snapshot of an impossible size")
    shapes = _shapes(rows, cols, team, slots)
    sizes = {name: int(np.prod(shape)) * np.dtype(_STORED[name]).itemsize for name, shape in shapes.items()}
    if len(data) != 8 + 4 * _HEAD + sum(sizes.values()):
        raise ValueError("an MA-Crafter snapshot of the wrong length")
    place, arrays = 8 + 4 * _HEAD, {}
    for name, kind in _STORED.items():
        count = sizes[name] // np.dtype(kind).itemsize
        native = _NATIVE.get(name, np.dtype(np.int64))
        arrays[name] = np.frombuffer(data, kind, count, place).astype(native).reshape(shapes[name])
        place += sizes[name]
    _check(arrays)
    ground = arrays["material"]
    return CrafterState(
        occupant=_bodies(ground, arrays["agents"], arrays["mobs"]),
        chunks=count_chunks(ground, arrays["mobs"]),
        **arrays,
    )


def _check(arrays: dict[str, NDArray[np.generic]]) -> None:
    """Raises ValueError for numbers that no kernel could work with."""
    limits = {"material": (WATER, FURNACE), "seen": (0, len(MATERIALS) - 1)}
    columns = (
        ("agents", FACING, 1, 4),
        ("result", 0, 0, len(RESULTS) - 1),
        ("mobs", KIND, 0, len(MOBS) - 1),
        ("mobs", MOB_DIRECTION, 0, len(DIRECTIONS) - 1),
    )
    parts = [(name, arrays[name], low, high) for name, (low, high) in limits.items()]
    parts += [(name, arrays[name][:, column], low, high) for name, column, low, high in columns]
    for name, part, low, high in parts:
        if int(part.min()) < low or int(part.max()) > high:
            raise ValueError(f"an MA-Crafter snapshot with impossible {name}")
    top = int(arrays["clock"][TOP])
    if not 0 <= top <= len(arrays["mobs"]) or arrays["mobs"][top:, KIND].any() or int(arrays["clock"][STEP]) < 0:
        raise ValueError("an MA-Crafter snapshot with an impossible clock")
