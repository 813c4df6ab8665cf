"""Language models: one protocol, adapters, and the layers around a call (retry, limit, cache, money)."""

from emcoop.core.registry import Registry

MODELS = Registry(
    "model",
    "emcoop.models",
    {
        "openai": "emcoop.models.openai:make",
        "anthropic": "emcoop.models.anthropic:make",
        "local": "emcoop.models.local:make",
        "scripted": "emcoop.models.scripted:make",
    },
)
"""Each entry is ``make(name: str, **options) -> Model``; a model is named ``adapter:name``."""
