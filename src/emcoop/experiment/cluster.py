"""A study on a Ray cluster: its shards are tasks; a worker that dies is replaced, and the task goes on from its log."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emcoop.core.errors import CapReached, ConfigError, EmcoopError, MissingDependency
from emcoop.experiment.caps import NO_CAPS, Caps
from emcoop.experiment.merge import merge
from emcoop.experiment.parts import Shard
from emcoop.experiment.study import Study, play
from emcoop.experiment.worker import patiently
from emcoop.experiment.workers import RETRIES

POLL_S = 1.0
CONNECT_S = 5.0


def play_on_ray(
    study: Study,
    run: Path,
    *,
    workers: int,
    address: str | None = None,
    jobs: int = 1,
    caps: Caps | None = None,
    repeats: int = 0,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[str]:
    """Play the study in `workers` parts on a Ray cluster and merge them into the run's log; returns the errors.

    `address` is that of a running cluster (``auto``, ``ray://host:port``); without it a local one is started with
    `workers` processes and stopped again. The run folder must be one that every node sees. Caps on money and tokens
    are divided by the number of parts; a part that has used its share ends, and the others play on. `tell` hears how
    many of the parts are over. Raises CapReached when all are over and merged, MissingDependency without Ray,
    ConfigError when the cluster is not there, EmcoopError when a part could not be played.
    """
    ray = _connect(address, workers)
    try:
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_play_part)
        parts = [Shard(index, workers) for index in range(workers)]
        share = (caps or NO_CAPS).share(workers).model_dump(mode="json")
        data = study.model_dump(mode="json")
        folder = str(run.resolve())
        left = [task.remote(data, folder, part.index, part.count, jobs, share, repeats) for part in parts]
        errors: list[str] = []
        stopped: list[CapReached] = []
        while left:
            ready, left = ray.wait(left, num_returns=1, timeout=POLL_S)
            for reference in ready:
                try:
                    errors += _result(ray, reference)
                except CapReached as reached:
                    stopped.append(reached)
                tell(workers - len(left), workers)
    finally:
        if address is None:
            ray.shutdown()
    merge([run / part.folder for part in parts], run)
    if stopped:
        raise CapReached(f"{len(stopped)} of {workers} parts have used their share of the caps; one says: {stopped[0]}")
    return errors


def _connect(address: str | None, workers: int) -> Any:
    try:
        import ray
    except ImportError:
        raise MissingDependency("the executor ray needs Ray: pip install 'emcoop[ray]'") from None
    _reachable(address)
    options: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    try:
        if address is None:
            ray.init(num_cpus=workers, include_dashboard=False, **options)
        else:
            ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(f"no Ray cluster at {address or 'this machine'}: {error}") from error
    return ray


def _reachable(address: str | None) -> None:
    """Ray itself tries an address that nobody answers at for minutes. Raises ConfigError."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdecimal()):
        return  # none, or ``auto``
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
    except OSError as error:
        raise ConfigError(f"no Ray cluster at {address}: {error.strerror or error}") from error


def _result(ray: Any, reference: Any) -> list[str]:
    try:
        errors: list[str] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, CapReached):
            raise error.cause from error
        raise EmcoopError(f"a part of the study failed on the cluster: {error.cause}") from error
    except ray.exceptions.RayError as error:
        raise EmcoopError(f"a part of the study was lost with its workers, {RETRIES} restarts over: {error}") from error
    return errors


def _play_part(
    data: dict[str, Any], run: str, index: int, count: int, jobs: int, caps: dict[str, Any], repeats: int
) -> list[str]:
    """Runs in a worker process. What an earlier attempt has finished is found in the part's log."""
    study, shard = Study.model_validate(data), Shard(index, count)
    folder = Path(run) / shard.folder
    return asyncio.run(
        patiently(lambda: play(study, folder, jobs=jobs, shard=shard, caps=Caps(**caps), repeats=repeats))
    )
