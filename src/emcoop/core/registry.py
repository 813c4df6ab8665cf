"""Names for things that can be chosen, open to installed packages through entry points.

A package adds, say, an environment by declaring in its own metadata:

    [project.entry-points."emcoop.envs"]
    my-world = "my_package.world:make"

Each layer declares its own `Registry` with one table of ``name -> "module:attribute"``, so listing the
built-in things imports none of them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError, UnknownName

_imported = lru_cache(maxsize=256)(importlib.import_module)
"""Every episode asks for its parts by name."""


@dataclass(frozen=True)
class Registry:
    """The things of one kind. `group` is the entry-point group, `builtin` maps a name to ``module:attribute``."""

    kind: str
    group: str
    builtin: dict[str, str] = field(default_factory=dict)

    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def names(self) -> list[str]:
        """Every name, sorted. A built-in wins over an installed package of the same name."""
        return sorted({*self.builtin, *self._installed()})

    def get(self, name: str) -> Any:
        """The thing of this name, imported now.

        Raises UnknownName (with the nearest name), or ConfigError when an installed package fails to import.
        """
        if name in self.builtin:
            module, _, attribute = self.builtin[name].partition(":")
            return getattr(_imported(module), attribute)
        point = self._installed().get(name)
        if point is None:
            raise UnknownName(f"unknown {self.kind} {name!r}; {nearest(name, self.names())}")
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"{self.kind} {name!r} from {point.value!r} cannot be imported: {error}") from error
