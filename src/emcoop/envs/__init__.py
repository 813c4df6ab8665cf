"""Worlds. One folder each, all alike; `base` is their contract."""

from emcoop.core.registry import Registry

ENVS = Registry(
    "environment",
    "emcoop.envs",
    {
        "cube": "emcoop.envs.cube.env:make",
        "exchange": "emcoop.envs.exchange.env:make",
        "ma-crafter": "emcoop.envs.ma_crafter.env:make",
        "maze": "emcoop.envs.maze.env:make",
    },
)
"""Each entry is ``make(agents: int, level: str, **parameters) -> Environment``."""
