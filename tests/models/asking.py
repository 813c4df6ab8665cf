"""Asking a server on loopback through the adapter for OpenAI-compatible servers."""

import asyncio

from emcoop.models.base import Completion, Settings, Turn
from emcoop.models.build import build
from emcoop.models.retry import Patience

TURNS = (Turn("system", "Rules."), Turn("user", "What now?"))
ONCE = Patience(attempts=1)
PLAIN = Settings(timeout_s=20)


def complete(address: str, settings: Settings = PLAIN, patience: Patience = ONCE) -> Completion:
    """One call without a schema, of a model that is closed after it."""

    async def go() -> Completion:
        model = build(f"openai:faulty@{address}", patience=patience)
        try:
            return await model.complete(TURNS, schema=None, settings=settings)
        finally:
            await model.aclose()

    return asyncio.run(go())
