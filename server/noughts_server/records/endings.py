"""Translates the words of other programs for the end of a game into terminations: one table for all formats.

The words are those of the PGN standard, and of cutechess, fastchess, c-chess-cli, c-gomoku-cli, Lichess and FICS. They
can be part of a sentence, as in `Black win by time forfeit`.
"""

import re

from noughts_referee.rules import FORFEITS, Termination

_CODES = frozenset(map(str, Termination))
_FORFEITS = frozenset(map(str, FORFEITS))
_UNINFORMATIVE = ("", "?", "-", "normal", "unknown", "none", "standard")
# The first row whose words are in the text applies.
_TABLE = (
    (Termination.VOID, r"unterminated|unfinished|aborted|cancel\w*|interrupted|void"),
    (Termination.CRASHED, r"crash\w*|engine died|terminated unexpectedly|exited"),
    (Termination.ADJUDICATED, r"adjudicat\w*|agreement|arbiter|referee|emergency"),
    (Termination.ILLEGAL_MOVE, r"(?:illegal|invalid|forbidden)(?: moves?)?|(?:rules? )?infractions?"),
    (Termination.ILLEGAL_MOVE, r"fouls?|overline|double (?:three|four)"),
    (Termination.DISCONNECTED, r"disconnect\w*|abandon\w*|stalled|connection stalls?"),
    (Termination.DISCONNECTED, r"(?:lost|no|broken) connection|connection (?:lost|closed)|left the game"),
    (Termination.DISCONNECTED, r"walk ?over|no show|death"),
    (Termination.TIMEOUT, r"time ?outs?|timed out|(?:on|by|of) time|time (?:forfeit\w*|loss|expired|is up)|^time$"),
    (Termination.TIMEOUT, r"overtime|flag(?:ged| fell)?|clock (?:expired|ran out)|too (?:slow|late)"),
    (Termination.RESIGNED, r"resign\w*|gave up|conceded"),
    # A forfeit for a reason that is not named: the player did not play.
    (Termination.DISCONNECTED, r"forfeit\w*|by default"),
    (Termination.BOARD_FULL, r"full ?filled board|board (?:is )?full|full board"),
    (Termination.LINE, r"five (?:connection|in (?:a )?(?:row|line))"),
)
_PATTERNS = tuple((str(termination), re.compile(rf"\b(?:{words})\b")) for termination, words in _TABLE)


def termination_of(text: str, result: str) -> str:
    """Return the code of a termination for a game with this result; the text itself if the table lacks its words.

    A draw cannot end by a fault, and a game with a result cannot be void: it was adjudicated. A game without a result
    and with a fault is void.
    """
    if text in _CODES:
        return text
    plain = " ".join(re.split(r"[\s_-]+", text.strip().lower()))
    if plain in _UNINFORMATIVE:
        return ""
    code = plain.replace(" ", "_")
    if code not in _CODES:
        code = next((known_code for known_code, words in _PATTERNS if words.search(plain)), text.strip())
    is_decided = result in ("1-0", "0-1")
    if (code in _FORFEITS and not is_decided) or (code == str(Termination.VOID) and result != "*"):
        return str(Termination.VOID if result == "*" else Termination.ADJUDICATED)
    return code


def known_termination(text: str, result: str) -> str:
    """Return the code of a termination as `termination_of` does; empty if the table lacks its words."""
    code = termination_of(text, result)
    return code if code in _CODES else ""
