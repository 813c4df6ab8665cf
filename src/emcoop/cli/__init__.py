"""The command line. `main` is the program; each command is a module, imported when it is called."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the program; errors that emcoop raises on purpose become one message on stderr and exit code 1."""
    from emcoop.cli.app import run_app

    sys.exit(run_app())
