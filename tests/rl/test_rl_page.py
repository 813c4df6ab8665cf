"""The example of docs/rl.md works as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "rl.md"


def test_the_example_plays_and_never_takes_what_is_masked_out() -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code) == 1
    names: dict[str, Any] = {}
    exec(code[0], names)
    assert names["observations"].shape == (256, 3, 8, 8, 5)
    assert names["rewards"].shape == names["truncations"].shape == (256, 3)
    assert names["envs"].closed
