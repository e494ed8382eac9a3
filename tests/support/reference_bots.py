"""Reference bots of specs, for tests of their evaluations."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import Variant, parse_variant

_TICTACTOE = parse_variant("tictactoe")


def bot_of(spec: str, variant: Variant = _TICTACTOE) -> CachingBot:
    """Return the bot of a spec. Raises the errors of `make_bot`."""
    bot = make_bot(parse_spec(spec), variant)
    assert isinstance(bot, CachingBot)
    return bot
