"""The real small model in this process: its answers obey the schema and do not depend on what else is asked.

The model is fetched when it is not in the cache; without a network these tests say so and are skipped.
"""

import asyncio
import os
import threading
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from emcoop.core.errors import MissingDependency, ModelRefused, ModelUnavailable
from emcoop.models.attempt import AttemptFailed
from emcoop.models.base import Answer, Settings, Turn
from emcoop.models.build import build
from emcoop.models.local import LocalModel
from emcoop.models.pull import find, pull
from emcoop.models.retry import Patience
from emcoop.models.structured import ask

pytest.importorskip("xllamacpp", reason="the local adapter's package is not installed")

SHORT = Settings(max_tokens=48)


class Move(BaseModel):
    action_type: Literal["move"] = "move"
    steps: int = Field(ge=1, le=9)


class Wait(BaseModel):
    action_type: Literal["wait"] = "wait"


class Plan(BaseModel):
    task: Literal["block_0", "block_1", "none"]
    actions: list[Move | Wait] = Field(min_length=1, max_length=2)


def turns(i: int) -> tuple[Turn, ...]:
    """Two prefixes, many questions; some share their beginning beyond the prefix."""
    rules = "You are agent_{} of a team that pushes blocks to the wall. Answer with a plan as JSON."
    seen = " ".join(f"block_{j} lies at {(3 + j) * j % 17}." for j in range(3 + i // 2))
    return Turn("system", rules.format(i % 2)), Turn("user", f"{seen} It is step {i}.")


@pytest.fixture(scope="module")
def gguf() -> Path:
    path = find("smollm2")
    if path is None:
        try:
            path = pull("smollm2")
        except MissingDependency as error:
            pytest.skip(str(error))
    return path


def ask_all(model: str, order: list[int], together: bool, **options: int) -> dict[int, Answer]:
    async def go() -> list[Answer]:
        local = build(model, **options)
        try:
            questions = [ask(local, turns(i), Plan, SHORT) for i in order]
            return list(await asyncio.gather(*questions)) if together else [await q for q in questions]
        finally:
            await local.aclose()

    return dict(zip(order, asyncio.run(go()), strict=True))


def texts(answers: dict[int, Answer]) -> list[str]:
    return [call.completion.text for i in sorted(answers) for call in answers[i].calls if call.completion]


def test_a_gguf_path_answers_by_the_schema_and_leaves_the_loop_free(gguf: Path) -> None:
    async def go() -> tuple[Answer, int]:
        local = build(f"local:{gguf}")
        beats, done = 0, False

        async def heartbeat() -> None:
            nonlocal beats
            while not done:
                await asyncio.sleep(0.001)
                beats += 1

        beat = asyncio.create_task(heartbeat())
        answer = await ask(local, turns(0), Plan, SHORT)
        done = True
        await beat
        await local.aclose()
        return answer, beats

    answer, beats = asyncio.run(go())
    assert isinstance(answer.value, Plan)
    [call] = answer.calls
    assert call.completion is not None
    assert call.completion.usage.input_tokens > 40
    assert 0 < call.completion.usage.output_tokens <= 48
    assert call.completion.usage.cost_usd == 0.0
    assert beats > 20  # a loop that waits for the answer has turned twice by then


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(gguf: Path) -> None:
    async def go() -> None:
        local = build(f"local:{gguf}", context=256, slots=1)
        try:
            for turn in (Turn("user", "word " * 600), Turn("system", "word " * 600)):
                prompt = (turn, Turn("user", "Now?"))
                with pytest.raises(ModelRefused, match=r"6\d\d tokens.* context size \(256 tokens\)"):
                    await local.complete(prompt, schema=None, settings=SHORT)
        finally:
            await local.aclose()

    asyncio.run(go())


STORY = (Turn("user", "Tell a long story about a block."),)


def test_an_answer_that_nobody_waits_for_makes_room_for_the_next(gguf: Path) -> None:
    async def go() -> int:
        local = build(f"local:{gguf}", engines=1, patience=Patience(attempts=1, total_s=600))
        await local.complete(STORY, schema=None, settings=Settings(max_tokens=1))
        with pytest.raises(ModelUnavailable, match="timeout"):
            await local.complete(STORY, schema=None, settings=Settings(max_tokens=3000, timeout_s=0.2))
        done = await local.complete(STORY, schema=None, settings=Settings(max_tokens=1, timeout_s=600))
        await local.aclose()
        return done.usage.output_tokens

    assert asyncio.run(go()) == 1


def test_an_answer_is_stopped_after_the_token_at_which_nobody_waits_any_more(gguf: Path) -> None:
    class AfterFive(threading.Event):
        """Nobody waits any more from the sixth question on."""

        asked = 0

        def is_set(self) -> bool:
            self.asked += 1
            return self.asked > 5

    stop = AfterFive()
    local = LocalModel("local:story", gguf, engines=1)
    with pytest.raises(AttemptFailed, match="the answer was stopped"):
        local._answer(STORY, None, Settings(max_tokens=3000), stop)
    assert stop.asked < 12


def test_a_schema_without_a_grammar_is_dropped_with_a_fault(gguf: Path) -> None:
    async def go() -> list[str]:
        local = build(f"local:{gguf}")
        done = await local.complete(turns(0), schema={"type": "nonsense"}, settings=SHORT)
        await local.aclose()
        return [fault.kind for fault in done.faults]

    assert asyncio.run(go()) == ["unsupported"]


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + os.urandom(1000))

    async def go() -> None:
        local = build(f"local:{path}")
        try:
            with pytest.raises(ModelRefused, match="cannot be loaded"):
                await local.complete(turns(0), schema=None, settings=SHORT)
        finally:
            await local.aclose()

    asyncio.run(go())


def test_the_description_names_what_changes_rounding(gguf: Path) -> None:
    described = LocalModel("x", gguf, threads=3).describe()
    assert described["threads"] == 3
    assert described["file"] == gguf.name
    assert str(gguf.parent) not in repr(described)


@pytest.mark.slow
def test_answers_do_not_depend_on_order_company_engines_or_slots(gguf: Path) -> None:
    alone = texts(ask_all(f"local:{gguf}", [0, 1, 2, 3, 4, 5], together=False, engines=1))
    assert len(set(alone)) > 1
    assert texts(ask_all(f"local:{gguf}", [3, 0, 5, 4, 2, 1], together=True, engines=2)) == alone
    assert texts(ask_all(f"local:{gguf}", [1, 4, 2, 0, 3, 5], together=True, engines=3, slots=1)) == alone
