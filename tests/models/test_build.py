"""A model's name gives a model, or one message that names the mend."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from emcoop.core.errors import ConfigError, MissingDependency, UnknownName
from emcoop.core.types import Json
from emcoop.models.base import Model, Settings, Turn
from emcoop.models.build import build
from emcoop.models.money import cost_usd

NOT_A_FUNCTION = 3


def say_yes(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str:
    return "yes"


async def say_soon(turns: Sequence[Turn], schema: Mapping[str, Json] | None, settings: Settings) -> str:
    await asyncio.sleep(0)
    return "soon"


def text(model: Model) -> str:
    async def go() -> str:
        done = await model.complete([Turn("user", "12345")], schema=None, settings=Settings())
        await model.aclose()
        assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.cost_usd) == (2, 1, 0.0)
        return done.text

    return asyncio.run(go())


@pytest.mark.parametrize(("function", "said"), [("say_yes", "yes"), ("say_soon", "soon")])
def test_a_scripted_model_is_named_by_its_import_path(function: str, said: str, tmp_path: Path) -> None:
    assert text(build(f"scripted:{__name__}:{function}")) == said
    assert text(build(f"scripted:{__name__}:{function}", cache=tmp_path / "answers.db")) == said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-4o", "has no adapter; write adapter:name"),
        ("openai:", "has no adapter"),
        (":x", "has no adapter"),
        ("openai:@http://127.0.0.1:1", "no name before '@'"),
        ("scripted:nothing", "write scripted:package.module:function"),
        ("scripted:no_such_module_xyz:f", "cannot be imported: No module named"),
        (f"scripted:{__name__}:no_such", "cannot be imported"),
        (f"scripted:{__name__}:NOT_A_FUNCTION", "is no function"),
    ],
)
def test_a_bad_name_is_refused_with_the_mend(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(name)


def test_an_unknown_adapter_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'openai'"):
        build("openay:gpt")


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="unexpected keyword argument 'colour'"):
        build(f"scripted:{__name__}:say_yes", colour="red")


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:gpt-4o", "OPENAI_API_KEY"), ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY")]
)
def test_a_missing_key_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch, name: str, variable: str) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingDependency, match=variable):
        build(name)


def test_a_description_tells_the_server_and_no_password() -> None:
    model = build("openai:qwen@http://user:hunter2@127.0.0.1:8000/v1?token=hunter2")
    assert model.describe()["base_url"] == "http://127.0.0.1:8000/v1"
    assert model.name == "openai:qwen"
    assert "hunter2" not in repr(model.describe())
    asyncio.run(model.aclose())


def test_known_prices_are_charged_and_unknown_ones_are_unknown() -> None:
    full = cost_usd("gpt-4o-mini", input_tokens=1_000_000, output_tokens=0, provider="openai")
    half = cost_usd("gpt-4o-mini", input_tokens=1_000_000, output_tokens=0, cached_tokens=1_000_000, provider="openai")
    assert full is not None
    assert half is not None
    assert 0 < half < full
    assert cost_usd("no-such-model", input_tokens=1, output_tokens=1, provider="openai") is None
    assert cost_usd("gpt-4o-mini", input_tokens=1, output_tokens=1, base_url="http://127.0.0.1:1/v1") is None
