"""A scripted model whose provider is never available."""

from __future__ import annotations

from emcoop.core.errors import ModelUnavailable

ASKED: list[int] = []
"""One entry for each call."""


def never_there(*request: object) -> str:
    ASKED.append(1)
    raise ModelUnavailable("nobody is at home")
