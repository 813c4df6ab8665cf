"""Who decides: four faculties, each replaceable on its own; `base` is their contract."""

from emcoop.core.registry import Registry

AGENTS = Registry(
    "agent",
    "emcoop.agents",
    {
        "llm": "emcoop.agents.llm:make",
        "human": "emcoop.agents.human:make",
        "replayed": "emcoop.agents.replayed:make",
        "null": "emcoop.agents.null:make_null",
        "composite": "emcoop.agents.null:make_composite",
        "relay": "emcoop.agents.relay:make",
        "altered": "emcoop.agents.altered:make",
        "opening": "emcoop.agents.opening:make",
        "random": "emcoop.agents.reference:make_random",
        "noop": "emcoop.agents.reference:make_noop",
        "greedy": "emcoop.agents.reference:make_greedy",
        "scripted": "emcoop.agents.reference:make_scripted",
        "silent": "emcoop.agents.reference:make_silent",
        "noisy": "emcoop.agents.reference:make_noisy",
        "half-map": "emcoop.agents.reference:make_half_map",
        "random-walk": "emcoop.agents.reference:make_random_walk",
        "oracle": "emcoop.agents.reference:make_oracle",
        "team-oracle": "emcoop.agents.reference:make_team_oracle",
    },
)
"""Each entry is ``make(seat: Seat) -> Agent``."""
