"""Interventions on who may say what."""

from __future__ import annotations

from emcoop.episode.setup import Setup


def silence(setup: Setup) -> Setup:
    """Nobody may send: the same topology, roles and prompts with a budget of no messages (the no-communication arm)."""
    return setup.model_copy(update={"topology_options": {**setup.topology_options, "sends": 0}})
