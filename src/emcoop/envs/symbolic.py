"""What the symbolic layers of all worlds share: the base of their actions and plans, and of their reasons to fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from emcoop.core.types import Category, Failure, Json, Phase

Reasons: TypeAlias = Mapping[str, tuple[Phase, Category]]
"""Every code with which a world's plans and actions fail: when it is usually found, and what kind of mistake it is."""


class Symbolic(BaseModel):
    """An action or a plan as a model writes it: unknown fields are mistakes, and nothing changes it later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def failed(reasons: Reasons, code: str, message: str, phase: Phase | None, detail: Mapping[str, Json]) -> Failure:
    """The failure of this code; `phase` overrides the usual one. Raises KeyError for a code without a reason."""
    usual, category = reasons[code]
    return Failure(phase or usual, category, code, message, detail)
