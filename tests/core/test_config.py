from pathlib import Path

import pytest

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError


class Inner(StrictModel):
    temperature: float = 0.0


class Outer(StrictModel):
    agents: int
    model: Inner = Inner()


def test_unknown_key_names_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r"study\.yaml: unknown key 'agnets'; did you mean 'agents'\?"):
        load(Outer, {"agnets": 3, "agents": 2}, "study.yaml")


def test_unknown_nested_key_is_named_by_its_path() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'model\.temprature'; did you mean 'temperature'"):
        load(Outer, {"agents": 2, "model": {"temprature": 1}}, "x")


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
