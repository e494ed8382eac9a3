"""The reference bots that the website offers as opponents, the variants that each plays, and how strong each is."""

from collections.abc import Iterable, Mapping
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


@dataclass(frozen=True, slots=True)
class HouseBot:
    spec: str
    description: str
    ratings: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Its ratings by variant, of round robins between all house bots. Only differences within a variant count."""

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
        """Whether it is a level, which fills a gap between other bots and so plays only variants in its ratings."""
        return self.spec.startswith(_LEVEL)


# The ratings come from round robins of all bots that play the variant, with 40 games of each pair in noughts and
# crosses, 20 in 7x6, 3D and Connect Four, 8 in Qubic and 6 in the others.
HOUSE_BOTS = (
    HouseBot(
        "random",
        N_("Plays at random."),
        {
            "tictactoe": 1140, "mnk:7,6,4": 1093, "tictactoe3d": 1114, "connect4": 1232,
            "qubic": 1191, "gomoku": 1232, "renju": 1280, "caro": 1280,
        },
    ),
    HouseBot(
        "first-free",
        N_("Takes the first free cell."),
        {
            "tictactoe": 1171, "mnk:7,6,4": 1315, "tictactoe3d": 1341, "connect4": 1486,
            "qubic": 1374, "gomoku": 1366, "renju": 1432, "caro": 1432,
        },
    ),
    HouseBot("level:elo=1100", N_("Looks at one move and makes many mistakes."), {"tictactoe": 1238, "connect4": 1389}),
    HouseBot("level:elo=1200", N_("Often overlooks the best move."), {"tictactoe": 1299}),
    HouseBot("level:elo=1300", N_("Sometimes overlooks the best move."), {"tictactoe": 1401, "connect4": 1673}),
    HouseBot("level:elo=1400", N_("Makes a mistake now and then."), {"tictactoe": 1491, "connect4": 1725}),
    HouseBot("level:elo=1600", N_("Looks at one move and makes few mistakes."), {"connect4": 1891}),
    HouseBot("three-stage", N_("Wins or blocks if it can, else takes the first free cell."), {"tictactoe": 1465}),
    HouseBot(
        "fives",
        N_("Prefers the cells of the most promising rows."),
        {
            "tictactoe": 1503, "mnk:7,6,4": 1642, "tictactoe3d": 1671, "connect4": 2048,
            "qubic": 1531, "gomoku": 1631, "renju": 1594, "caro": 1594,
        },
    ),
    HouseBot("coursework", N_("Wins or blocks if it can, else plays at random."), {"tictactoe": 1539}),
    HouseBot("pascal", N_("Weighs each row of the board before it moves."), {"tictactoe": 1636}),
    HouseBot(
        "nextstep",
        N_("Looks a few moves ahead."),
        {
            "tictactoe": 1627, "mnk:7,6,4": 1608, "tictactoe3d": 1574, "connect4": 2118,
            "qubic": 1595, "gomoku": 1508,
        },
    ),
    HouseBot(
        "threats:nodes=500",
        N_("Searches for series of threats that win."),
        {
            "tictactoe": 1647, "mnk:7,6,4": 1834, "tictactoe3d": 1795,
            "qubic": 1801, "gomoku": 1763, "renju": 1695, "caro": 1695,
        },
    ),
    HouseBot("minimax", N_("Never makes a mistake on a small board."), {"tictactoe": 1652}),
)  # fmt: skip
"""The bots. For a variant without ratings, those that lose most come first."""


def house_bots(variant: str) -> list[HouseBot]:
    """Return the bots that play this variant, the weakest first. Raises VariantError."""
    bots = [bot for bot in HOUSE_BOTS if bot.plays(variant)]
    name = parse_variant(variant).name
    if all(name in bot.ratings for bot in bots):
        bots.sort(key=lambda bot: bot.ratings[name])
    return bots


def strengths(variant: str) -> dict[str, int]:
    """Return the strength of each bot that plays this variant, by spec, the weakest first. Raises VariantError.

    It divides the distance between the weakest and the strongest bot into equal steps: by their ratings, or by their
    order if the variant has none.
    """
    bots = house_bots(variant)
    name = parse_variant(variant).name
    are_rated = all(name in bot.ratings for bot in bots)
    values = [bot.ratings[name] if are_rated else place for place, bot in enumerate(bots)]
    span = max(values, default=0) - min(values, default=0) or 1
    return {
        bot.spec: 1 + round((STRONGEST - 1) * (value - values[0]) / span)
        for bot, value in zip(bots, values, strict=True)
    }


def main_bots(variant: str) -> dict[int, HouseBot]:
    """Return the strongest bot of each strength in this variant, the weakest strength first. Raises VariantError."""
    known = strengths(variant)
    return {known[bot.spec]: bot for bot in house_bots(variant)}


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
