"""The reference bots that the website offers as opponents, the variants that each plays, and how strong each is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from noughts_bots.reference.levels.table import levels
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import parse_variant
from noughts_server.core.messages import N_
from noughts_server.core.resource_names import short
from noughts_server.web.documents import Document

STRONGEST = 8
"""Strengths are whole numbers from 1 (the weakest bot of a variant) to this."""
STRENGTH_WORDS = (
    N_("beginner"),
    N_("very easy"),
    N_("easy"),
    N_("moderate"),
    N_("challenging"),
    N_("hard"),
    N_("very hard"),
    N_("expert"),
)
"""The strengths in words, from 1."""
MODERATE = 4
"""The strength that a visitor without a choice of his own gets."""

_NEAR = 0.03
"""Bots whose ratings differ by a smaller share of the whole range are equally strong for a person."""

LEVELS_OWNER = "house"
"""The owner of the bots that `noughts serve --house-bots levels` keeps online."""
LEVEL_BOTS = {f"level-{elo}": elo for rows in levels().values() for elo in rows}
"""The ratings of these bots, by their usual names."""
LEVEL_VARIANTS = tuple(levels())
"""The variants that they play."""


def level_bots(bots: Iterable[Document]) -> dict[int, Document]:
    """Return those of the bots that are levels, by their ratings, the weakest first."""
    by_rating = {
        LEVEL_BOTS[short(bot["name"])]: bot
        for bot in bots
        if bot["owner"] == LEVELS_OWNER and short(bot["name"]) in LEVEL_BOTS
    }
    return dict(sorted(by_rating.items()))


_LEVEL = "level:elo="
_LEVELS = sorted({elo for rows in levels().values() for elo, level in rows.items() if level.step is not None})
"""All levels but the lowest, which plays as `random`."""


@dataclass(frozen=True, slots=True)
class HouseBot:
    spec: str
    description: str
    ratings: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Its ratings by variant. Only differences within a variant count."""
    is_filler: bool = False
    """Whether it is never a main bot, because it does not look at what a person plays."""

    @property
    def name(self) -> str:
        """The spec without its options; `level 1300` for a level."""
        return self.spec.replace(_LEVEL, "level ") if self.is_level else self.spec.partition(":")[0]

    def plays(self, variant: str) -> bool:
        """Return whether the bot plays this variant. Raises VariantError if there is no such variant."""
        name = parse_variant(variant).name
        return _plays(self.spec, name) and (name in self.ratings or not self.is_level)

    @property
    def is_level(self) -> bool:
        """Whether it is a level of the bot `level`, which plays only variants in its ratings."""
        return self.spec.startswith(_LEVEL)


# In the four games of `level`, whose random play has 1,000, `noughts estimate` measured the others against levels: 100
# games with each level in noughts and crosses, 20 in Connect Four, 12 in Qubic and gomoku. `noughts match` measured
# those that beat all levels: in gomoku 200 games of fives against level 2900 and 30 of threats against fives, in Qubic
# 60 of threats against level 2600; and nextstep in both by 12 games against one level. The other ratings come from
# round robins of all bots that play the variant, with 20 games of each pair in 7x6 and 3D noughts and crosses and 6 in
# renju and caro.
HOUSE_BOTS = (
    HouseBot(
        "random",
        N_("Plays at random."),
        {
            "tictactoe": 1000, "mnk:7,6,4": 1093, "tictactoe3d": 1114, "connect4": 1000,
            "qubic": 1000, "gomoku": 1000, "renju": 1280, "caro": 1280,
        },
    ),
    HouseBot(
        "first-free",
        N_("Takes the first free cell."),
        {
            "tictactoe": 1067, "mnk:7,6,4": 1315, "tictactoe3d": 1341, "connect4": 1139,
            "qubic": 1999, "gomoku": 1866, "renju": 1432, "caro": 1432,
        },
        is_filler=True,
    ),
    *(
        HouseBot(f"{_LEVEL}{elo}", N_("Makes mistakes on purpose."), {
            variant: rows[elo].rating for variant, rows in levels().items() if elo in rows
        })
        for elo in _LEVELS
    ),
    HouseBot("three-stage", N_("Wins or blocks if it can, else takes the first free cell."), {"tictactoe": 1340}),
    HouseBot(
        "fives",
        N_("Prefers the cells of the most promising rows."),
        {
            "tictactoe": 1425, "mnk:7,6,4": 1642, "tictactoe3d": 1671, "connect4": 1892,
            "qubic": 2337, "gomoku": 3815, "renju": 1594, "caro": 1594,
        },
    ),
    HouseBot("coursework", N_("Never misses an immediate win or block."), {"tictactoe": 1463}),
    HouseBot("pascal", N_("Weighs each row of the board before it moves."), {"tictactoe": 1524}),
    HouseBot(
        "nextstep",
        N_("Looks a few moves ahead."),
        {
            "tictactoe": 1548, "mnk:7,6,4": 1608, "tictactoe3d": 1574, "connect4": 1991,
            "qubic": 2359, "gomoku": 2612,
        },
    ),
    HouseBot(
        "threats:nodes=500",
        N_("Searches for series of threats that win."),
        {
            "tictactoe": 1570, "mnk:7,6,4": 1834, "tictactoe3d": 1795,
            "qubic": 3008, "gomoku": 4095, "renju": 1695, "caro": 1695,
        },
    ),
    HouseBot("minimax", N_("Never makes a mistake on a small board."), {"tictactoe": 1626}),
)  # fmt: skip
"""The bots. For a variant without ratings, those that lose most come first."""


def house_bots(variant: str) -> list[HouseBot]:
    """Return the bots that play this variant, the weakest first. Raises VariantError."""
    bots = [bot for bot in HOUSE_BOTS if bot.plays(variant)]
    name = parse_variant(variant).name
    if all(name in bot.ratings for bot in bots):
        bots.sort(key=lambda bot: bot.ratings[name])
    return bots


@lru_cache(maxsize=256)
def strengths(variant: str) -> Mapping[str, int]:
    """Return the strength of each bot that plays this variant, by spec, the weakest first. Raises VariantError.

    The strengths of the main bots divide the range from 1 to `STRONGEST` evenly, by their order. Another bot has the
    strength of the main bot with the nearest rating.
    """
    bots = house_bots(variant)
    values = _values(variant, bots)
    steps = _steps(bots, values)
    return {
        bot.spec: _strength(min(range(len(steps)), key=lambda step: abs(values[steps[step]] - value)), len(steps))
        for bot, value in zip(bots, values, strict=True)
    }


@lru_cache(maxsize=256)
def main_bots(variant: str) -> Mapping[int, HouseBot]:
    """Return the bots that the form shows first, by strength, the weakest first. Raises VariantError."""
    bots = house_bots(variant)
    steps = _steps(bots, _values(variant, bots))
    return {_strength(step, len(steps)): bots[place] for step, place in enumerate(steps)}


def _values(variant: str, bots: Sequence[HouseBot]) -> list[int]:
    """Return the ratings of these bots, the weakest first; if not all have one, their places."""
    name = parse_variant(variant).name
    ratings = [bot.ratings[name] for bot in bots if name in bot.ratings]
    return ratings if len(ratings) == len(bots) else list(range(len(bots)))


def _steps(bots: Sequence[HouseBot], values: Sequence[int]) -> list[int]:
    """Return the places of at most `STRONGEST` bots, the weakest and the strongest among them, far from each other."""
    if not bots:
        return []
    last = len(bots) - 1
    free = [place for place in range(1, last) if not bots[place].is_filler]
    steps = [0, last] if last else [0]
    while free and len(steps) < STRONGEST:
        distances = {place: min(abs(values[place] - values[step]) for step in steps) for place in free}
        farthest = max(free, key=distances.__getitem__)
        if distances[farthest] < _NEAR * (values[last] - values[0]):
            break
        free.remove(farthest)
        steps.append(farthest)
    return sorted(steps)


def _strength(step: int, steps: int) -> int:
    """Return the strength of a step, which counts from 0."""
    return 1 + round((STRONGEST - 1) * step / max(1, steps - 1))


def stronger(variant: str, spec: str) -> HouseBot | None:
    """Return the next stronger bot in this variant; None if there is none. Raises VariantError."""
    strength = strengths(variant)[spec]
    return next((bot for each, bot in main_bots(variant).items() if each > strength), None)


def best_fit(variant: str, strength: int = MODERATE) -> HouseBot:
    """Return the bot whose strength in this variant is nearest, of two the weaker. Raises VariantError."""
    bots = main_bots(variant)
    return bots[min(bots, key=lambda each: abs(each - strength))]


def strengths_of(bot: HouseBot, variants: Iterable[str]) -> dict[str, int]:
    """Return the bot's strengths in those of the variants that it plays."""
    return {variant: strengths(variant)[bot.spec] for variant in variants if bot.plays(variant)}


@lru_cache(maxsize=1024)
def _plays(spec: str, variant: str) -> bool:
    try:
        make_bot(parse_spec(spec), parse_variant(variant))
    except VariantRefused:
        return False
    return True
