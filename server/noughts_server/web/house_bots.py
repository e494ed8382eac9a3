"""The reference bots that the website offers as opponents, and the variants that each of them plays."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import parse_variant


@dataclass(frozen=True, slots=True)
class HouseBot:
    spec: str
    description: str

    @property
    def name(self) -> str:
        """The spec without its options."""
        return self.spec.partition(":")[0]

    def plays(self, variant: str) -> bool:
        """Return whether the bot plays this variant. Raises VariantError if there is no such variant."""
        return _plays(self.spec, parse_variant(variant).name)

    def played_of(self, variants: Iterable[str]) -> list[str]:
        """Return those of the variants that the bot plays."""
        return [variant for variant in variants if self.plays(variant)]


HOUSE_BOTS = (
    HouseBot("random", "any free cell, at random"),
    HouseBot("first-free", "the first free cell; easy to beat"),
    HouseBot("three-stage", "wins or blocks, else the first free cell"),
    HouseBot("fives", "counts what each line is worth"),
    HouseBot("coursework", "wins or blocks, else at random"),
    HouseBot("pascal", "weighs lines, as in an article in Pascal"),
    HouseBot("nextstep", "looks a few moves ahead"),
    HouseBot("threats:nodes=500", "strong at five in a row: searches for threats"),
    HouseBot("minimax", "perfect on small boards"),
)
"""The bots. Those that lose most come first; of those that play a variant, the last one is proposed to visitors."""


def house_bots(variant: str) -> list[HouseBot]:
    """Return the bots that play this variant, in the order of `HOUSE_BOTS`. Raises VariantError."""
    return [bot for bot in HOUSE_BOTS if bot.plays(variant)]


@lru_cache(maxsize=1024)
def _plays(spec: str, variant: str) -> bool:
    try:
        make_bot(parse_spec(spec), parse_variant(variant))
    except VariantRefused:
        return False
    return True
