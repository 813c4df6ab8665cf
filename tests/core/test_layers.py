"""The layering that `emcoop/__init__.py` states is checked against the code's own imports."""

import ast
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "emcoop"
MAY_IMPORT = {
    "core": set(),
    "models": {"core"},
    "envs": {"core"},
    "log": {"core"},
    "agents": {"core", "models", "envs"},
    "topologies": {"core", "envs", "agents"},
    "metrics": {"core", "log"},
    "episode": {"core", "models", "envs", "log", "agents", "topologies", "metrics"},
    "interventions": {"core", "models", "envs", "agents", "topologies", "episode"},
    "experiment": {"core", "models", "envs", "log", "agents", "topologies", "metrics", "episode", "interventions"},
    "analysis": {"core", "models", "envs", "log", "agents", "topologies", "metrics", "episode"},
    "rl": {"core", "envs"},
    "viewer": {"core", "envs", "log", "metrics", "episode", "experiment", "analysis"},
    "__main__.py": {"cli"},
    "cli": {
        *("core", "models", "envs", "log", "agents", "topologies", "metrics", "episode"),
        *("interventions", "experiment", "analysis", "viewer"),
    },
}


def imported_layers(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("emcoop.")}


def test_imports_run_downwards_only() -> None:
    wrong = []
    for path in sorted(SRC.rglob("*.py")):
        layer = path.relative_to(SRC).parts[0]
        if layer in MAY_IMPORT:
            extra = imported_layers(path) - MAY_IMPORT[layer] - {layer}
            wrong += [f"{path.relative_to(SRC)} imports {name}" for name in sorted(extra)]
    assert wrong == []


def test_importing_emcoop_imports_nothing_heavy() -> None:
    code = (
        "import sys, emcoop; heavy = {'numba', 'scipy', 'aiohttp', 'anthropic', 'xllamacpp', 'networkx', 'numpy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
