"""Many episodes at once: they share the model fairly, and only those in flight take memory."""

import asyncio
import gc
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from emcoop.core.types import Json
from emcoop.episode.loop import Table
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Progress, Study, play, play_episode
from emcoop.log.store import LogStore
from emcoop.models.attempt import AttemptFailed
from emcoop.models.base import Model, Settings, Turn
from emcoop.models.limiter import Limiter
from emcoop.models.retry import Patience, Retrying
from emcoop.models.scripted import ScriptedModel

PLAN = json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": 1}]})


def setup(agent: str = "llm", model: str | None = "m", horizon: int = 6) -> Setup:
    seat = SeatConfig(agent=agent, model=model)
    return Setup(env="cube", level="easy", agents=2, team=(seat,), env_options={"horizon": horizon})


def test_no_episode_runs_ahead_while_others_wait_for_the_same_model(tmp_path: Path) -> None:
    steps: Counter[int] = Counter(dict.fromkeys(range(12), 0))
    spread: list[int] = []

    async def answer(turns: Sequence[Turn], schema: Json, settings: Settings) -> str:
        await asyncio.sleep(0.001)
        return PLAN

    def watcher(seed: int) -> Callable[[int], None]:
        def watch(step: int) -> None:
            steps[seed] = step
            spread.append(max(steps.values()) - min(steps.values()))

        return watch

    async def go(store: LogStore) -> None:
        models: dict[str, Model] = {"m": Retrying(ScriptedModel(answer), Limiter(2, 2))}
        await asyncio.gather(*(play_episode(setup(), seed, store, models, watcher(seed)) for seed in steps))

    with LogStore.open(tmp_path / "log.db") as store:
        asyncio.run(go(store))
    assert max(steps.values()) == min(steps.values()) == 5
    assert max(spread) <= 2


def test_a_provider_that_says_to_slow_down_starves_no_episode_and_gets_fewer_calls_at_once(tmp_path: Path) -> None:
    limiter = Limiter(16, 32)
    limits: list[int] = []
    served = 0
    busy = 0

    async def answer(turns: Sequence[Turn], schema: Json, settings: Settings) -> str:
        nonlocal served, busy
        busy += 1
        served += 1
        # For a while the provider takes four calls at once, and refuses what is beyond.
        refuse = 40 <= served < 140 and busy > 4
        try:
            await asyncio.sleep(0.001)
        finally:
            busy -= 1
        limits.append(limiter.limit)
        if refuse:
            raise AttemptFailed("rate_limit", "slow down", status=429, retry_after_s=0.0)
        return PLAN

    async def go(store: LogStore) -> list[int]:
        patience = Patience(attempts=8, first_wait_s=0.002, longest_wait_s=0.01)
        models: dict[str, Model] = {"m": Retrying(ScriptedModel(answer), limiter, patience)}
        outcomes = await asyncio.gather(*(play_episode(setup(horizon=12), seed, store, models) for seed in range(20)))
        return [outcome.steps for outcome in outcomes]

    with LogStore.open(tmp_path / "log.db") as store:
        assert asyncio.run(go(store)) == [12] * 20
    assert min(limits) <= 4
    assert limits[-1] > 2 * min(limits)


def test_only_episodes_in_flight_are_kept_in_memory(tmp_path: Path) -> None:
    jobs, alive = 3, []

    def listener(progress: Progress) -> None:
        if progress.outcome is not None:
            gc.collect()
            alive.append(sum(isinstance(thing, Table) for thing in gc.get_objects()))

    before = sum(isinstance(thing, Table) for thing in gc.get_objects())
    study = Study(cells=(setup("noop", None),), seeds=tuple(range(9)))
    asyncio.run(play(study, tmp_path, jobs=jobs, listener=listener))
    assert len(alive) == 9
    assert max(alive) <= before + jobs
