"""Errors for agents: they name tools and arguments where the same errors name commands and options to people."""

import re

_TOOLS = {
    "tournament list": "`list_tournaments`",
    "tournament show": "`get_tournament`",
    "tournament create": "`create_tournament`",
    "tournament join": "`join_tournament`",
    "tournament start": "`start_tournament`",
    "tournament extend": "`extend_tournament`",
    "tournament seasons": "`list_seasons`",
    "tournament stop-repeating": "`stop_repeating`",
    "test list": "`list_tests`",
    "leaderboard": "`get_leaderboard`",
    "bot list": "`list_bots`",
    "bot register": "`submit_bot` or `connect_player`",
    "bot check": "`check_bot`",
}
"""The tool that does what a command does."""

_PHRASES = (
    ("noughts tournament create NAME --repeat weekly", "`create_tournament` with `repeat`"),
    ("and `start` resumes it", "and `start_tournament` resumes it"),
    ("Run it on your own machine first", "Check it first: `check_bot`"),
    (" on your own machine: noughts bot check", ": noughts bot check"),
    ("--variant", "variant"),
    ("or say which: --class FILE.py:CLASS", "or pass the name of the class as `entry`"),
    ("or name a function that returns a bot: py:bot.py:FUNCTION", "or pass the name of the class as `entry`"),
    (
        "rite py:package.module:Class, py:./file.py:Class, or py:NAME for a bot of an installed package",
        "rite the name of the class, as `entry`",
    ),
    ("metadata `authorization`: got none, expected `Bearer TOKEN`", "the call has no token"),
    (
        "Check NOUGHTS_TOKEN",
        "Check the token of this client: NOUGHTS_TOKEN, or over HTTP the header `Authorization: Bearer TOKEN`",
    ),
    ("The server rejected the players", "the server rejected the player"),
)
"""Phrases of commands and the server, each with the phrase that an agent reads instead."""

_ONE_OF_THE_CLASSES = re.compile(r"Name one: py:bot\.py:\w+")
_COMMAND = re.compile(rf"`?noughts ({'|'.join(_TOOLS)})\b[^`]*`?")
_ARGUMENTS = {"tournament.name": "tournament", "chunk": "content"}
"""Fields of requests for which the tools' arguments have other names."""


def for_agents(message: str, hint: str, field: str = "") -> str:
    """Return the error in the words of the tools. `field` is the wrong field of the request, if there is one."""
    if field:
        argument = _ARGUMENTS.get(field, field.rpartition(".")[2])
        message = re.sub(f"^{re.escape(field)}: ", f"{argument}: ", message)
    words = f"{message.rstrip('.')}. Fix: {hint}" if hint else message
    for phrase, replacement in _PHRASES:
        words = words.replace(phrase, replacement)
    words = _ONE_OF_THE_CLASSES.sub("Write `class Mine(Bot)`, or pass the name of the class as `entry`", words)
    return _COMMAND.sub(lambda command: _TOOLS[command[1]], words)
