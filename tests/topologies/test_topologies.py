from pathlib import Path

import pytest

from emcoop.core.errors import ConfigError
from emcoop.core.types import agent_names
from emcoop.topologies import TOPOLOGIES

TEAM = agent_names(3)


def test_individual_has_no_edges() -> None:
    assert TOPOLOGIES.get("individual")(TEAM).graph().number_of_edges() == 0


@pytest.mark.parametrize("name", ["debate", "decentralized"])
def test_debate_and_decentralized_are_complete(name: str) -> None:
    assert TOPOLOGIES.get(name)(TEAM).graph().number_of_edges() == 6


def test_centralized_is_a_star_around_the_leader() -> None:
    topology = TOPOLOGIES.get("centralized")(TEAM, leader="agent_1")
    assert topology.hears("agent_1") == ("agent_0", "agent_2")
    assert topology.hears("agent_0") == ("agent_1",)
    assert [topology.role(a).name for a in TEAM] == ["follower", "leader", "follower"]


def test_debate_interrupts_followers_in_order_only_unless_asked() -> None:
    assert not TOPOLOGIES.get("debate")(TEAM).interrupts("agent_1", "agent_0")
    assert TOPOLOGIES.get("debate")(TEAM).interrupts("agent_0", "agent_1")
    assert TOPOLOGIES.get("debate")(TEAM, interrupts_earlier=True).interrupts("agent_1", "agent_0")


def test_a_graph_comes_from_yaml_with_its_channel(tmp_path: Path) -> None:
    path = tmp_path / "ring.yaml"
    path.write_text(
        "edges:\n  agent_0: [agent_1]\n  agent_1: [agent_2]\n  agent_2: [agent_0]\nchannel: {sends: 1, loss: 0.5}\n"
    )
    topology = TOPOLOGIES.get("graph")(TEAM, file=str(path), sends=2)
    assert list(topology.graph().edges) == [("agent_0", "agent_1"), ("agent_1", "agent_2"), ("agent_2", "agent_0")]
    assert (topology.channel.sends, topology.channel.loss) == (2, 0.5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("edges: {agent_0: [agent_9]}", "no agent 'agent_9' in a team of 3"),
        ("edges: {agent_0: [agent_0]}", "agent_0 cannot send to itself"),
        ("edgs: {}", "unknown key 'edgs'; did you mean 'edges'"),
        ("edges: {}\nchannel: {los: 1}", "unknown key 'channel.los'; did you mean 'loss'"),
    ],
)
def test_a_wrong_graph_file_is_named_with_its_mend(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        TOPOLOGIES.get("graph")(TEAM, file=str(path))


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ConfigError, match="loss"):
        TOPOLOGIES.get("debate")(TEAM, loss=2)
    with pytest.raises(ConfigError, match=r"unknown key 'dely_s'; did you mean 'delay_s'"):
        TOPOLOGIES.get("decentralized")(TEAM, dely_s=1)
    with pytest.raises(ConfigError, match="no agent 'boss'"):
        TOPOLOGIES.get("centralized")(TEAM, leader="boss")
