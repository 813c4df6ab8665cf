"""Who may speak to whom, and when. `base` is the contract; each protocol reads like figure 6 of the paper."""

from emcoop.core.registry import Registry

TOPOLOGIES = Registry(
    "topology",
    "emcoop.topologies",
    {
        "individual": "emcoop.topologies.individual:make",
        "debate": "emcoop.topologies.debate:make",
        "centralized": "emcoop.topologies.centralized:make",
        "decentralized": "emcoop.topologies.decentralized:make",
        "turns": "emcoop.topologies.turns:make",
        "graph": "emcoop.topologies.graph:make",
    },
)
"""Each entry is ``make(team: tuple[AgentId, ...], **parameters) -> Topology``."""
