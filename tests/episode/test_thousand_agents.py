"""A thousand agents deliberate in one CUBE episode; the channel's capacity bounds what they say to each other.

Run as a script, this prints what it took: ``python tests/episode/test_thousand_agents.py``.
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from emcoop.core.types import Json
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.models.base import Settings, Turn
from emcoop.models.scripted import ScriptedModel

AGENTS, RECEIVES, RECIPIENTS = 1000, 8, 4
KINDS = ("message_sent", "message_delivered", "message_refused", "plan_committed", "model_call", "step")


async def answer(turns: Sequence[Turn], schema: Json, settings: Settings) -> str:
    """Speaks to a few teammates, then waits."""
    await asyncio.sleep(0)
    fields = schema["properties"]
    if "recipients" in fields:
        names = fields["recipients"]["items"]["enum"]
        first = (settings.seed or 0) % len(names)
        some = [names[(first + i) % len(names)] for i in range(RECIPIENTS)]
        return json.dumps({"recipients": some, "content": "I take the nearest block."})
    if "decision" in fields:
        return '{"decision": "resume"}'
    return json.dumps({"task": "none", "actions": [{"action_type": "wait", "num_steps": 10}]})


def deliberate(path: Path) -> dict[str, float]:
    """One deliberation of all, and one step; seconds of the processor, peak memory in MB, and counts of events."""
    setup = Setup(
        env="cube",
        level="curriculum",
        agents=AGENTS,
        topology="decentralized",
        topology_options={"sends": 1, "receives": RECEIVES},
        team=(SeatConfig(agent="llm", model="m"),),
        limits={"max_steps": 1},
    )
    begun = time.process_time()
    with LogStore.open(path) as store:
        asyncio.run(play_episode(setup, 0, store, {"m": ScriptedModel(answer)}))
    spent = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with LogReader.open(path) as reader:
        counts = {kind: reader.count(1, kinds=(kind,)) for kind in KINDS}
    return {"cpu_s": round(spent, 1), "peak_mb": round(peak), "log_mb": round(path.stat().st_size / 1e6, 1), **counts}


@pytest.mark.slow
def test_a_thousand_agents_speak_and_plan_within_the_capacity_of_the_channel() -> None:
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    took = json.loads(run.stdout)
    assert took["plan_committed"] == took["message_sent"] == AGENTS
    assert took["model_call"] == 2 * AGENTS
    assert took["message_delivered"] + took["message_refused"] == RECIPIENTS * AGENTS
    assert took["message_delivered"] <= RECEIVES * AGENTS
    assert took["step"] == 1
    assert took["peak_mb"] < 2000


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(deliberate(Path(folder) / "log.db")))
