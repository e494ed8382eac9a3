"""Options of the games: variant, bots, seed."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.reference.specs import BotSpec, parse_spec
from noughts_referee.rules import OPENING_RULES, Variant, VariantError, first_common, parse_variant
from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem

SeedOption = Annotated[
    int | None,
    Option(
        "--seed",
        metavar="S",
        help="Seed of all random numbers: same seed, same games. Default: a random seed",
        rich_help_panel="Game",
    ),
]
OpeningRuleOption = Annotated[
    str | None,
    Option(
        "--opening-rule",
        metavar="RULE",
        help="Opening rule: `pro`, `long-pro`, `swap` or `swap2`. Default: none",
        rich_help_panel="Game",
    ),
]
TitleOption = Annotated[str, Option("--title", help="Title of the tournament", rich_help_panel="Output")]
DryRunOption = Annotated[
    bool,
    Option(
        "--dry-run",
        help="Show the number of games and the expected duration, without playing",
        rich_help_panel="Output",
    ),
]


LARGEST_SEED = (1 << 64) - 1

USUAL_VARIANT = "tictactoe"
"""The variant of commands with bots that declare none."""


def variant_option(description: str) -> Any:
    """Declare `--variant` with this help, which names the command's default."""
    return Option(
        "--variant", metavar="V", autocompletion=completion.variants, help=description, rich_help_panel="Game"
    )


AnyVariantOption = Annotated[
    str | None,
    variant_option("Variant. Default: the first that the bot declares, else tictactoe"),
]
"""A variant, or none if the default depends on other options."""


PairVariantOption = Annotated[
    str | None, variant_option("Variant. Default: the first that both bots play, else tictactoe")
]
VariantOption = Annotated[
    str,
    variant_option("Variant, see `noughts variants`; `mnk:M,N,K`: M columns, N rows, K in a row"),
]
SpecArgument = Annotated[
    str,
    Argument(
        metavar="SPEC",
        help="Bot, e.g. `random`, `Old=minimax`, 'exec:python bot.py'",
        autocompletion=completion.specs,
    ),
]
ConcurrencyOption = Annotated[
    int,
    Option(
        "--concurrency",
        metavar="C",
        min=1,
        max=65_536,
        help="Maximum number of concurrent games",
        rich_help_panel="Game",
    ),
]
PacedConcurrencyOption = Annotated[
    int,
    Option(
        "--concurrency",
        metavar="C",
        min=0,
        max=65_536,
        help="Concurrent games; 0: follow the pace of the bots",
        rich_help_panel="Game",
    ),
]
NowOption = Annotated[bool, Option("--now", help="End running games now; they are played again after a resume")]


GamesFileOption = Annotated[
    Path | None,
    Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File for the games, one JSON object per line; `-`: stdout",
        rich_help_panel="Output",
    ),
]

EveryOption = Annotated[
    int | None,
    Option(
        "--every",
        metavar="N",
        min=1,
        max=1_000_000_000,
        help="Without a terminal: print the score to stderr every N games",
        rich_help_panel="Output",
    ),
]


def read_variant(text: str, opening: str | None = None, called: str = "--variant") -> Variant:
    """Return the variant with this name and opening rule. Raises UsageProblem, in which `called` names the option."""
    if opening is not None and opening not in OPENING_RULES:
        raise UsageProblem(f"--opening-rule {opening!r}: expected {' or '.join(f'`{rule}`' for rule in OPENING_RULES)}")
    try:
        variant = parse_variant(text)
    except VariantError as error:
        raise UsageProblem(f"{called} {error.got!r}: expected {error.expected}") from error
    try:
        return variant if opening is None else parse_variant(f"{text}+{opening}")
    except VariantError as error:
        raise UsageProblem(f"--opening-rule {opening}: got --variant {text}, expected {error.expected}") from error


def own_variant(declared: Sequence[str]) -> Variant:
    """Return the variant of a command with one bot if none is given: the first of those that the bot declares.

    Raises UsageProblem if the bot declares only unknown variants.
    """
    declared_variant = first_common([declared])
    return (
        read_variant(declared[0], called="variants of the bot:")
        if declared_variant is None
        else parse_variant(declared_variant)
    )


def read_specs(texts: list[str]) -> tuple[BotSpec, ...]:
    """Return the parsed specs. They are not checked against a variant: that happens when the bots are created."""
    return tuple(parse_spec(text) for text in texts)


def read_seed(seed: int | None, *, secret: bool = False) -> int:
    """Return the seed, or a random one: 32 bits, which a user can type again, or with `secret` 64 bits."""
    if seed is None:
        return secrets.randbits(64 if secret else 32)
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageProblem(f"--seed {seed}: expected 0 to {LARGEST_SEED}")
    return seed
