"""Answers are remembered by what determines them, and a bad file costs a warning only."""

import asyncio
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from emcoop.core.errors import ModelUnavailable
from emcoop.core.types import Json, Usage
from emcoop.models.base import Completion, Fault, Settings, Turn
from emcoop.models.cache import AnswerCache, Cached
from emcoop.models.scripted import ScriptedModel

TURNS = (Turn("user", "What now? \ud800"),)
SCHEMA = {"type": "object"}


class Counter:
    """A scripted model's function that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> Completion:
        self.calls += 1
        usage = Usage(10, 2, 1, 1, 0.25)
        return Completion('{"n": 1}', {"n": 1}, usage, 1.5, "stop", "m", (Fault("server", 1, "no", 500),))


def complete(model: Cached, turns: Sequence[Turn] = TURNS, schema: Json = SCHEMA, **settings: Json) -> Completion:
    return asyncio.run(model.complete(turns, schema=schema, settings=Settings(**settings)))


@pytest.fixture
def counter() -> Counter:
    return Counter()


def cached(counter: Counter, path: Path, **identity: Json) -> Cached:
    return Cached(ScriptedModel(counter), AnswerCache(path), identity)


def test_a_hit_is_the_first_answer_marked_as_cached_in_any_process(tmp_path: Path, counter: Counter) -> None:
    first = complete(cached(counter, tmp_path / "answers.db"))
    again = complete(cached(counter, tmp_path / "answers.db"))
    assert counter.calls == 1
    assert (first.cached, again.cached) == (False, True)
    assert (again.text, again.parsed, again.usage, again.latency_s) == ('{"n": 1}', {"n": 1}, first.usage, 1.5)
    assert again.faults == ()


def test_only_what_determines_the_answer_is_in_the_key(tmp_path: Path, counter: Counter) -> None:
    model = cached(counter, tmp_path / "answers.db", name="a")
    complete(model)
    complete(model, timeout_s=1)
    assert counter.calls == 1
    complete(model, sample=1)
    complete(model, seed=1)
    complete(model, max_tokens=1)
    complete(model, temperature=1.0)
    complete(model, schema=None)
    complete(model, turns=(Turn("system", "What now?"),))
    complete(cached(counter, tmp_path / "answers.db", name="b"))
    assert counter.calls == 8


def test_equal_questions_at_once_make_one_call_and_count_as_answered_from_the_cache(tmp_path: Path) -> None:
    async def go() -> tuple[list[Completion], list[str]]:
        asked: list[str] = []
        answered = asyncio.Event()

        async def function(turns: Sequence[Turn], schema: Json, settings: Settings) -> Completion:
            asked.append(f"{turns[0].content} {settings.sample}")
            await answered.wait()
            return Completion("{}", {}, Usage(10, 2, 0, 1, 0.5), 1.5, "stop", "m", (Fault("server", 1, "no", 500),))

        model = Cached(ScriptedModel(function), AnswerCache(tmp_path / "answers.db"), {})
        questions = [("a", 0), ("a", 0), ("b", 0), ("a", 0), ("a", 1)]
        calls = [
            asyncio.create_task(model.complete((Turn("user", text),), schema=None, settings=Settings(sample=sample)))
            for text, sample in questions
        ]
        await asyncio.sleep(0)
        answered.set()
        return list(await asyncio.gather(*calls)), asked

    done, asked = asyncio.run(go())
    assert asked == ["a 0", "b 0", "a 1"]
    assert [answer.cached for answer in done] == [False, True, False, True, False]
    assert {answer.usage for answer in done} == {Usage(10, 2, 0, 1, 0.5)}
    assert [len(answer.faults) for answer in done] == [1, 0, 1, 0, 1]


def test_who_waits_for_an_equal_question_asks_itself_when_that_is_cancelled(tmp_path: Path) -> None:
    async def go() -> tuple[Completion, int]:
        calls = 0

        async def function(turns: Sequence[Turn], schema: Json, settings: Settings) -> str:
            nonlocal calls
            calls += 1
            await asyncio.sleep(60 if calls == 1 else 0)
            return "here"

        model = Cached(ScriptedModel(function), AnswerCache(tmp_path / "answers.db"), {})
        first, second = (asyncio.create_task(model.complete(TURNS, schema=None, settings=Settings())) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.wait_for(second, 10), calls

    answer, calls = asyncio.run(go())
    assert (answer.text, answer.cached, calls) == ("here", False, 2)


def test_who_waits_for_an_equal_question_shares_its_failure(tmp_path: Path) -> None:
    async def go() -> tuple[list[object], int]:
        calls = 0

        async def function(turns: Sequence[Turn], schema: Json, settings: Settings) -> str:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0)
            raise ModelUnavailable("gone")

        model = Cached(ScriptedModel(function), AnswerCache(tmp_path / "answers.db"), {})
        asked = (model.complete(TURNS, schema=None, settings=Settings()) for _ in range(3))
        return list(await asyncio.gather(*asked, return_exceptions=True)), calls

    failures, calls = asyncio.run(go())
    assert [str(failure) for failure in failures] == ["gone"] * 3
    assert calls == 1


def test_failures_are_not_remembered(tmp_path: Path) -> None:
    calls = 0

    def function(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ModelUnavailable("gone")
        return "here"

    model = Cached(ScriptedModel(function), AnswerCache(tmp_path / "answers.db"), {})
    with pytest.raises(ModelUnavailable):
        complete(model)
    assert complete(model).text == "here"


def test_a_damaged_file_is_set_aside_with_a_warning(
    tmp_path: Path, counter: Counter, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "answers.db"
    path.write_bytes(b"this is no database" * 100)
    model = cached(counter, path)
    complete(model)
    assert complete(model).cached
    [aside] = tmp_path.glob("answers.db.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")
    assert "damaged" in caplog.text


def test_a_file_damaged_in_the_middle_is_never_fatal(tmp_path: Path, counter: Counter) -> None:
    path = tmp_path / "answers.db"
    model = cached(counter, path)
    for sample in range(200):
        complete(model, sample=sample)
    asyncio.run(model.aclose())
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    model = cached(counter, path)
    assert [complete(model, sample=sample).text for sample in range(200)] == ['{"n": 1}'] * 200
    assert counter.calls > 200


def test_a_damaged_entry_is_asked_for_again(tmp_path: Path, counter: Counter) -> None:
    path = tmp_path / "answers.db"
    complete(cached(counter, path))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE answers SET answer = '{\"text\": 3}'")
    db.close()
    model = cached(counter, path)
    assert not complete(model).cached
    assert complete(model).cached


def test_a_cache_that_cannot_be_written_is_left_out_with_one_warning(
    tmp_path: Path, counter: Counter, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    model = cached(counter, tmp_path / "file" / "answers.db")
    with caplog.at_level(logging.WARNING):
        complete(model)
        complete(model)
    assert counter.calls == 2
    assert caplog.text.count("going on without it") == 1


def test_the_file_may_be_shared_while_it_is_open(tmp_path: Path, counter: Counter) -> None:
    one, two = (cached(counter, tmp_path / "answers.db") for _ in range(2))
    for sample in range(20):
        complete(one, sample=sample)
        assert complete(two, sample=sample).cached
