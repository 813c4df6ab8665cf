import math
import re
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BeforeValidator

from emcoop.core.config import StrictModel, load, nearest, parse_yaml, read_yaml
from emcoop.core.errors import ConfigError


class Inner(StrictModel):
    temperature: float = 0.0


class Outer(StrictModel):
    agents: int
    model: Inner = Inner()


class Listed(StrictModel):
    rules: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}
    pair: tuple[int, Inner] = (0, Inner())
    either: tuple[str | Inner | None, ...] = ()
    scalar: str | int = 0
    wrapped: Annotated[tuple[Inner, ...], BeforeValidator(lambda v: v if isinstance(v, list) else [v])] = ()


def test_unknown_key_names_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r"study\.yaml: unknown key 'agnets'; did you mean 'agents'\?"):
        load(Outer, {"agnets": 3, "agents": 2}, "study.yaml")


def test_unknown_nested_key_is_named_by_its_path() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'model\.temprature'; did you mean 'temperature'"):
        load(Outer, {"agents": 2, "model": {"temprature": 1}}, "x")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"rules": [{}, {"temprature": 1}]}, "unknown key 'rules.1.temprature'; did you mean 'temperature'?"),
        ({"named": {"a": {"temprature": 1}}}, "unknown key 'named.a.temprature'; did you mean 'temperature'?"),
        ({"pair": [1, {"temprature": 1}]}, "unknown key 'pair.1.temprature'; did you mean 'temperature'?"),
        ({"either": ["a", {"temprature": 1}]}, "unknown key 'either.1.temprature'; did you mean 'temperature'?"),
        ({"wrapped": {"temprature": 1}}, "unknown key 'wrapped.temprature'; did you mean 'temperature'?"),
        ({"either": [["a"]]}, "either.0: Input should be a valid string"),
        ({"scalar": {"a": 1}}, "scalar: Input should be a valid string, or a valid integer"),
        ({"rules": 3}, "rules: Input should be a list"),
    ],
)
def test_a_mistake_inside_a_list_or_a_choice_is_one_line_in_the_keys_that_were_written(
    data: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(Listed, data, "x")
    assert str(caught.value) == f"x: {said}"


def test_every_mistake_gets_its_own_line() -> None:
    with pytest.raises(ConfigError) as caught:
        load(Outer, {"agents": "many", "extra": 1}, "x")
    assert len(str(caught.value).splitlines()) == 2


def test_nearest_lists_all_when_nothing_is_close() -> None:
    assert nearest("zzz", ["b", "a"]) == "known: a, b"


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"a: [", "not valid YAML at line"), (b"\xff\xfe\xfa", "cannot be read")],
)
def test_unreadable_yaml_is_one_clear_message(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "f.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_yaml(path)


BOMB = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("day: 2024-13-45", "a value cannot be read: month"),
        ("n: " + "9" * 5000, "a value cannot be read"),
        ("deep: " + "[" * 5000, "nested too deep"),
        ("loop: &a [*a]", "nested too deep"),
        (BOMB, "more than 200,000 values once its aliases are followed"),
        ("seeds: 0-3\nseeds: 0-9", "not valid YAML at line 2: 'seeds' is given twice"),
        ("n: 9223372036854775808", "9223372036854775808 is too large"),
        ("n: -1000000000000001", "is too large"),
        ("n: .inf", "inf is no finite number"),
        ("n: [{x: .nan}]", "nan is no finite number"),
        ("names: !!set {a, b}", "is a set"),
        ("day: 2024-01-01", "is a date; put quotes around it"),
        ("1999-12-31: x", "is a date"),
    ],
)
def test_yaml_that_no_configuration_needs_is_one_clear_message(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^run: .*{re.escape(said)}"):
        parse_yaml(text, "run")


def test_numbers_are_what_their_digits_say() -> None:
    class Played(StrictModel):
        seeds: str | int
        steps: int

    read = parse_yaml("{seeds: 010, steps: 0010}", "run")
    assert read == {"seeds": "010", "steps": "0010"}
    assert load(Played, read, "run") == Played(seeds="010", steps=10)
    text = "[1:30, 1:30.5, 0.5, -3, 0, 0x1F, 1_000, 1e3]"
    assert parse_yaml(text, "run") == ["1:30", "1:30.5", 0.5, -3, 0, 31, 1000, "1e3"]
    with pytest.raises(ConfigError, match=r"steps: .*integer"):
        load(Played, parse_yaml("{seeds: 1, steps: 1:30}", "run"), "run")


def test_aliases_and_merged_mappings_are_read() -> None:
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3}\ntwo: *base\n"
    assert parse_yaml(text, "run") == {"base": {"a": 1, "b": 2}, "one": {"a": 1, "b": 3}, "two": {"a": 1, "b": 2}}


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_refused_wherever_it_comes_from(value: float) -> None:
    class Speed(StrictModel):
        speed: float

    with pytest.raises(ConfigError, match="finite"):
        load(Speed, {"speed": value}, "options")
