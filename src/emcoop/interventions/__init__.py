"""What is changed on purpose to see what it does: functions from a set-up to another set-up.

An intervention is named in one string, ``NAME[:VALUE or KEY=VALUE[;KEY=VALUE...]][@SEAT[+SEAT...]]``: ``silence``,
``loss:0.3``, ``faculty:plan=oracle@0``, ``relay:first=oracle;decisions=5@0+2``. Without seats it is done to all.
"""

from __future__ import annotations

from emcoop.interventions.base import Intervention, Seats, apply, invoke, parse, why_not
from emcoop.interventions.registry import INTERVENTIONS

__all__ = ["INTERVENTIONS", "Intervention", "Seats", "apply", "invoke", "parse", "why_not"]
