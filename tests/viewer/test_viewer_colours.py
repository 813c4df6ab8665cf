"""Colours that can be read, and told apart by people who see fewer of them."""

from __future__ import annotations

import itertools
import re

import pytest

from emcoop.viewer.export import STATIC

RGB = tuple[float, float, float]

SEEN_BY: dict[str, tuple[RGB, RGB, RGB]] = {
    "everybody": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
"""What is seen of linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1)."""

STAGES = ("r", "i", "w", "x")
JUST_APART = 18.0
"""In CIE Lab; 2.3 is just noticeable side by side."""


def palette(dark: bool) -> dict[str, RGB]:
    """The page's named colours, as linear light."""
    light, _, rest = (STATIC / "style.css").read_text("utf-8").partition("@media (prefers-color-scheme: dark)")
    found = re.findall(r"--([a-z-]+): #([0-9a-f]{6})", light)
    if dark:
        found += re.findall(r"--([a-z-]+): #([0-9a-f]{6})", rest.partition("\n}")[0])
    return {name: linear(code) for name, code in found}


def linear(code: str) -> RGB:
    red, green, blue = (int(code[at : at + 2], 16) / 255 for at in (0, 2, 4))
    values = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in (red, green, blue)]
    return (values[0], values[1], values[2])


def times(matrix: tuple[RGB, RGB, RGB], colour: RGB) -> RGB:
    out = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, colour, strict=True)))) for row in matrix]
    return (out[0], out[1], out[2])


def luminance(colour: RGB) -> float:
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


def lab(colour: RGB) -> RGB:
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    xyz = [sum(a * b for a, b in zip(row, colour, strict=True)) / w for row, w in zip(to_xyz, white, strict=True)]
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in xyz)
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", SEEN_BY)
def test_stages_are_told_apart(eyes: str, dark: bool) -> None:
    colours = palette(dark)
    seen = {stage: lab(times(SEEN_BY[eyes], colours[stage])) for stage in STAGES}
    for one, other in itertools.combinations(STAGES, 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
        assert apart > JUST_APART, f"{one} and {other} are {apart:.0f} apart"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("text", "ground", "least"),
    [
        *((text, ground, 4.5) for text in ("ink", "soft", "link", "good", "bad") for ground in ("paper", "raised")),
        ("ink", "note", 4.5),
        ("ink", "trouble", 4.5),
        ("ink", "plan", 4.5),
        ("ink", "failed", 4.5),
        ("ink", "replaced", 4.5),
        ("on-accent", "accent", 4.5),
        *(("on-stage", stage, 3.0) for stage in ("r", "i", "x")),  # large or bold letters
        *((line, "paper", 3.0) for line in ("message", "cursor", "plan-line", "failed-line")),
    ],
)
def test_text_and_lines_stand_out_from_their_ground(text: str, ground: str, least: float, dark: bool) -> None:
    colours = palette(dark)
    high, low = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= least
