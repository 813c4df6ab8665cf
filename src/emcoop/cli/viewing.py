"""`emcoop view`: a run as a page in the browser, or as one file."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from emcoop.cli.output import say
from emcoop.core.errors import ConfigError, MissingDependency
from emcoop.experiment.study import log_path, parse_seeds


def view(run: Path, *, export: Path | None, episodes: str | None, host: str, port: int | None, browser: bool) -> None:
    """Serve the run's page until interrupted, or write it into a file."""
    log = log_path(run)
    if export is not None:
        _export(log, export, episodes)
        return
    if episodes is not None:
        raise ConfigError("--episodes chooses what --export writes; the page itself shows all of them")
    try:
        from emcoop.viewer.server import serve
    except ModuleNotFoundError as error:
        raise MissingDependency(f"the viewer needs {error.name}: pip install 'emcoop[view]'") from error

    def ready(address: str) -> None:
        print(address, flush=True)
        say("Press Ctrl-C to end.")
        if browser:
            webbrowser.open(address)

    serve(log, host=host, port=port, ready=ready)


def _export(log: Path, target: Path, episodes: str | None) -> None:
    from emcoop.viewer.export import export

    wanted = None if episodes is None else parse_seeds(episodes)
    say(export(log, target, wanted))
