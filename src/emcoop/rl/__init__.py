"""Environments for reinforcement learning. `parallel_env` makes a PettingZoo parallel environment of any world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emcoop.rl.parallel import ParallelWorld


def parallel_env(name: str, *, agents: int = 2, level: str = "easy", **parameters: Any) -> ParallelWorld:
    """A registered environment through PettingZoo's parallel API, e.g. ``parallel_env("cube", agents=3)``.

    Raises UnknownName for an unknown environment, ConfigError for impossible parameters, and MissingDependency
    when PettingZoo is not installed.
    """
    from emcoop.core.errors import MissingDependency

    try:
        from emcoop.rl.parallel import ParallelWorld
    except ImportError as error:
        raise MissingDependency(f"{error.name} is not installed; pip install 'emcoop[rl]'") from error
    from emcoop.envs import ENVS

    return ParallelWorld(ENVS.get(name)(agents=agents, level=level, **parameters))
