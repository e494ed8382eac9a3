"""The calibrated levels: `levels.json`, which `tools/calibrate_levels.py` writes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from noughts_bots.reference.levels.search import Strength

FILE = resources.files(__package__).joinpath("levels.json")


@dataclass(frozen=True, slots=True)
class Level:
    """A level of one game, and the figures of its calibration."""

    elo: int
    """Its name: the rating that it was chosen for."""
    strength: Strength
    rating: int
    """Its measured rating: the sum of the steps. The lowest level, which plays at random, has 1,000."""
    step: float | None
    """The measured difference to the level below; None for the lowest."""
    error95: float | None
    """Half of the 95 % interval of the step; None for the lowest level."""
    games: int
    """Its games against the level below."""


@cache
def levels() -> Mapping[str, Mapping[int, Level]]:
    """Return the levels of each variant by Elo, the weakest first."""
    tables: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        variant: {
            row["elo"]: Level(
                elo=row["elo"],
                strength=Strength(depth=row["depth"], error=row["error"]),
                rating=row["rating"],
                step=row["step"],
                error95=row["error95"],
                games=row["games"],
            )
            for row in rows
        }
        for variant, rows in tables.items()
    }
