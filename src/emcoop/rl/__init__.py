"""Environments for reinforcement learning: `parallel_env` for one world, `vector_env` for many at once.

`parallel_env` is PettingZoo's parallel interface; `vector_env` follows Gymnasium's vector environments, with the agents
as the second axis of every array. Both take any registered environment, and step by the same rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emcoop.rl.parallel import ParallelWorld
    from emcoop.rl.vector import VectorWorld


def parallel_env(name: str, *, agents: int = 2, level: str = "easy", **parameters: Any) -> ParallelWorld:
    """A registered environment through PettingZoo's parallel API, e.g. ``parallel_env("cube", agents=3)``.

    Raises UnknownName for an unknown environment, ConfigError for impossible parameters, and MissingDependency
    when PettingZoo is not installed.
    """
    try:
        from emcoop.rl.parallel import ParallelWorld
    except ImportError as error:
        raise _missing(error) from error
    from emcoop.envs import ENVS

    return ParallelWorld(ENVS.get(name)(agents=agents, level=level, **parameters))


def vector_env(
    name: str,
    *,
    num_envs: int,
    agents: int = 2,
    level: str = "easy",
    starts: int | None = None,
    autoreset_mode: Any = "NextStep",
    threads: int | None = None,
    masks: bool = True,
    copy: bool = True,
    **parameters: Any,
) -> VectorWorld:
    """Many worlds of a registered environment at once, e.g. ``vector_env("cube", num_envs=1024, agents=3)``.

    What comes before `parameters` is explained at `VectorWorld`; they go to the environment. Raises UnknownName for an
    unknown environment, ConfigError for impossible parameters, and MissingDependency when Gymnasium is not installed.
    """
    try:
        from emcoop.rl.vector import VectorWorld
    except ImportError as error:
        raise _missing(error) from error
    from emcoop.envs import ENVS

    env = ENVS.get(name)(agents=agents, level=level, **parameters)
    return VectorWorld(
        env, num_envs, starts=starts, autoreset_mode=autoreset_mode, threads=threads, masks=masks, copy=copy
    )


def _missing(error: ImportError) -> Exception:
    from emcoop.core.errors import MissingDependency

    return MissingDependency(f"{error.name} is not installed; pip install 'emcoop[rl]'")
