"""`emcoop models pull`."""

from __future__ import annotations

from emcoop.cli.output import say


def pull(name: str) -> None:
    """Fetch a model and print where it is."""
    from emcoop.models.pull import pull as fetch

    print(fetch(name, say))
