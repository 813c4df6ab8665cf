"""The benchmarks' model server is one that the adapter for such servers understands."""

from __future__ import annotations

import asyncio
import time

from benchmarks.answering import answering

from emcoop.models.base import Completion, Model, Settings, Turn
from emcoop.models.build import build

AFTER_S = 0.2
TURNS = (Turn("system", "long " * 50_000), Turn("user", "what now?"))


async def several(model: Model, count: int) -> list[Completion]:
    asked = (model.complete(TURNS, schema={"type": "object"}, settings=Settings()) for _ in range(count))
    answers = await asyncio.gather(*asked)
    again = await model.complete(TURNS, schema=None, settings=Settings())
    await model.aclose()
    return [*answers, again]


def test_many_requests_at_once_are_each_answered_after_the_fixed_time() -> None:
    with answering('{"task": "none"}', AFTER_S) as served:
        begun = time.perf_counter()
        answers = asyncio.run(several(build(f"openai:small@{served.url}", start=50), 40))
        spent = time.perf_counter() - begun
    assert {answer.text for answer in answers} == {'{"task": "none"}'}
    assert [answer.faults for answer in answers] == [()] * 41
    assert 2 * AFTER_S <= spent < 40 * AFTER_S, "one after the other would take longer"
    assert 0 < served.cpu_s < 5
