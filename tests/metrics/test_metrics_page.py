"""docs/metrics.md says of every metric what the code says."""

import re
from pathlib import Path

from emcoop.metrics import METRICS, Direction, Trace, load_metric, metric

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def rows() -> dict[str, list[str]]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].strip("`"): row for row in cells}


def test_every_metric_has_its_row_with_title_unit_and_direction() -> None:
    table = rows()
    assert sorted(table) == sorted(METRICS.builtin)
    for name, row in table.items():
        found = load_metric(name)
        assert row[1:4] == [found.title, found.unit, found.direction.value]
        assert row[4]
        assert row[5]


def test_the_pages_example_of_an_own_metric_works() -> None:
    from fabricated import Script

    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    names: dict[str, object] = {}
    exec(compile(code[1], "docs/metrics.md", "exec"), names)
    silence = names["silence"]
    assert isinstance(silence, type(metric("x", "x", "x", Direction.NONE)(lambda trace: None)))
    # Two steps and one message: 1 - 1/2.
    trace = Trace.build(Script().step().say("agent_0", "agent_1").step().events)
    assert silence(trace) == 0.5
