"""`emcoop list`: what can be named, with one line each."""

from __future__ import annotations

import inspect
from typing import Any

from rich.table import Table

from emcoop.agents import AGENTS
from emcoop.cli.output import console, print_json
from emcoop.core.errors import EmcoopError
from emcoop.core.registry import Registry
from emcoop.envs import ENVS
from emcoop.interventions import INTERVENTIONS
from emcoop.metrics import METRICS, metric_order
from emcoop.models import MODELS
from emcoop.topologies import TOPOLOGIES

REGISTRIES: dict[str, Registry] = {
    "envs": ENVS,
    "topologies": TOPOLOGIES,
    "agents": AGENTS,
    "models": MODELS,
    "metrics": METRICS,
    "interventions": INTERVENTIONS,
}


def show(kind: str, *, json: bool) -> None:
    """Print the names of this kind with what their docstrings say first."""
    registry = REGISTRIES[kind]
    names = metric_order() if kind == "metrics" else registry.names()
    found = [{"name": name, "description": _description(registry, name)} for name in names]
    if json:
        print_json({kind: found})
        return
    table = Table("name", "what it is", box=None, pad_edge=False)
    for item in found:
        table.add_row(item["name"], item["description"])
    console().print(table)


def _description(registry: Registry, name: str) -> str:
    """The first sentence of its documentation; why it cannot be used, when it cannot be imported."""
    try:
        thing: Any = registry.get(name)
    except EmcoopError as error:
        return f"cannot be used: {error}"
    except ImportError as error:
        return f"needs {error.name}, which is not installed"
    text = getattr(thing, "definition", None) or inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". Raises")[0]
