"""Translates the words of other programs for the rules of five in a row into variants."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from noughts_bots.gomocup.protocol import FREESTYLE, RULES, rule_of
from noughts_referee.rules import Variant
from noughts_server.records.recorded_game import RecordError, five_in_a_row, variant_of
from noughts_server.records.replay import record_errors
from noughts_server.tables.recorded_game import RecordedGame

_FREE, _STANDARD, _RENJU, _CARO, _EXACT_CARO = "gomoku", "gomoku:exact", "renju", "caro", "caro:exact"
_BY_NUMBER = {str(FREESTYLE): _FREE} | {str(rule): name for name, rule in RULES.items()}
_TITLES: Mapping[int | None, str] = {0: "Freestyle", 1: "Standard", 4: "Renju", 8: "Caro"}
"""Gomocup's titles of its tournaments, by the number of their rule."""
_WORDS = {
    **dict.fromkeys(("freestyle", "free", "unrestricted", "无禁手", "无禁", "無禁"), _FREE),
    **dict.fromkeys(("standard", "exact", "exactly"), _STANDARD),
    **dict.fromkeys(("renju", "rif", "连珠", "連珠", "有禁手", "有禁"), _RENJU),
    # Opening rules of renju.
    **dict.fromkeys(("taraguchi", "soosyrv", "soosorv", "yamaguchi", "tarannikov", "sakata"), _RENJU),
    "caro": _CARO,
}
_OTHER_WORDS = frozenset(
    {
        "gomoku",
        "gobang",
        "wuziqi",
        "五子棋",
        "五目",
        "五目並べ",
        "five",
        "in",
        "a",
        "row",
        "style",
        "rule",
        "rules",
        "game",
        "opening",
        "swap",
        "pro",
        "long",
        "longpro",
        "international",
        "federation",
    }
)
"""Words that name the game or its opening, but not which lines win."""


def named_rule(text: str) -> str:
    """Return the variant on 15x15 that a text names; `gomoku` if it only names the game or an opening.

    Empty if a word is unknown, or if the words contradict each other.
    """
    if text.strip() in _BY_NUMBER:
        return _BY_NUMBER[text.strip()]
    words = _words(text)
    if not words or not all(word in _WORDS or word in _OTHER_WORDS for word in words):
        return ""
    return _variant_of_words(words)


def on_board(name: str, columns: int, rows: int) -> Variant | None:
    """Return the variant with the rules of the variant `name` on this board; None without one. Raises RecordError."""
    if name == _FREE:
        return variant_of(five_in_a_row(columns, rows))
    for possible_name in (f"{name}:{columns}", name):
        with suppress(RecordError):
            variant = variant_of(possible_name)
            if (variant.columns, variant.rows, variant.layers) == (columns, rows, 1):
                return variant
    return None


def variants_of_tournament(name: str, columns: int, rows: int, assumed: str) -> list[Variant]:
    """Return the variants that the name of a tournament can mean, the usual one first. Raises RecordError.

    `assumed` is the variant if the name contains no rule.
    """
    if name and (variant_with_this_name := on_board(name, columns, rows)):
        return [variant_with_this_name]
    if name in _BY_NUMBER:
        rule = _BY_NUMBER[name]
    elif names_a_rule(name):
        rule = _variant_of_words(_words(name))
    else:
        rule = assumed or _FREE
    # In tournaments of caro, some managers let only exactly five win.
    names = (_CARO, _EXACT_CARO) if rule == _CARO else (rule,)
    possible_variants = (on_board(variant_name, columns, rows) for variant_name in names if variant_name)
    variants = [variant for variant in possible_variants if variant is not None]
    if not variants:
        raise RecordError(f"a game of {rule or name} on {columns}x{rows}", "a variant with such a board")
    return variants


def names_a_rule(text: str) -> bool:
    """Return whether a text has the name of a rule or a variant, or is Gomocup's number of a rule."""
    with suppress(RecordError):
        return bool(variant_of(text))
    return text in _BY_NUMBER or any(word in _WORDS for word in _words(text))


def tournament_of(variant: Variant) -> str:
    """Return a name of a tournament for which `variants_of_tournament` returns this variant first."""
    title = _TITLES.get(rule_of(variant))
    if title is None:
        return variant.name
    name = f"{title}{variant.columns}"
    variants = variants_of_tournament(name, variant.columns, variant.rows, "")
    return name if variants[0].name == variant.name else variant.name


def check_unnamed_rule(record: RecordedGame, read: Callable[[str], RecordedGame]) -> None:
    """Raise RecordError if a game without a rule does not fit free five in a row, but fits the standard rule.

    `read` reads the game as one of another variant.
    """
    variant = variant_of(record.variant)
    standard = on_board(_STANDARD, variant.columns, variant.rows)
    if standard is None or not record_errors(record):
        return
    try:
        fits = not record_errors(read(standard.name))
    except RecordError:
        return
    if fits:
        got = "a game without a rule in which six in a row did not win"
        raise RecordError(got, "the rule in the file", f"Name the variant: --assume-variant {standard.name}.")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def _variant_of_words(words: list[str]) -> str:
    """Return the variant of these words; `gomoku` if none names a rule, empty if they contradict each other."""
    rules = {_WORDS[word] for word in words if word in _WORDS}
    if rules == {_CARO, _STANDARD}:
        return _EXACT_CARO
    return "" if len(rules) > 1 else next(iter(rules), _FREE)
