"""The languages of the website: their catalogues, the choice for a visitor, and the texts of scripts."""

import json
from functools import cache, lru_cache
from gettext import GNUTranslations
from importlib.resources import files
from io import BytesIO

from babel import Locale, negotiate_locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import get_decimal_symbol, get_group_symbol
from starlette.requests import Request
from starlette.responses import Response

from noughts_server.core.messages import ENGLISH, Language

COOKIE = "lang"
"""The cookie with the language that the visitor chose, and the parameter of an address that chooses it."""
TRANSLATED_PAGES = frozenset(
    {
        "bots/against.html.jinja",
        "bots/bot.html.jinja",
        "bots/bots.html.jinja",
        "bots/records.html.jinja",
        "explorer.html.jinja",
        "games/analysis.html.jinja",
        "games/embed.html.jinja",
        "games/game.html.jinja",
        "games/live_games.html.jinja",
        "games/opinion.html.jinja",
        "home.html.jinja",
        "leaderboard.html.jinja",
        "not_found.html.jinja",
        "play/play.html.jinja",
        "play/table.html.jinja",
        "puzzles.html.jinja",
        "tournament/tournament.html.jinja",
        "tournaments/seasons.html.jinja",
        "tournaments/tournaments.html.jinja",
        "tv.html.jinja",
    }
)
"""The templates of pages in all languages; other pages are in English."""
_SCRIPTS_OF_GAMES = frozenset(
    {
        "analysis.js",
        "around.js",
        "game.js",
        "lobby.js",
        "mistakes.js",
        "opinion.js",
        "play.js",
        "scores.js",
        "thoughts.js",
    }
)
"""Scripts that only the pages of games and of play load. Their texts are in a file of their own, or home would grow."""
_A_YEAR = 31536000
"""In seconds."""
_TRANSLATED = (("cs", "cs", "Čeština"), ("zh", "zh-Hans", "中文"))
"""The code, the tag and the name of each language with a catalogue."""
_MOST_HEADERS = 256
"""Headers Accept-Language whose language is remembered."""
_MOST_PREFERRED = 20
"""Languages of a header Accept-Language that count."""


def catalogue(code: str) -> Catalog:
    """Return the messages of a language."""
    file = files(__package__) / "locales" / code / "LC_MESSAGES" / "messages.po"
    return read_po(BytesIO(file.read_bytes()), locale=code)


@cache
def languages() -> dict[str, Language]:
    """Return all languages by their codes, English first."""
    found = {ENGLISH.code: ENGLISH}
    for code, tag, name in _TRANSLATED:
        compiled = BytesIO()
        write_mo(compiled, catalogue(code))
        compiled.seek(0)
        locale = Locale.parse(code)
        found[code] = Language(
            code=code,
            tag=tag,
            name=name,
            thousands=get_group_symbol(locale),
            decimal=get_decimal_symbol(locale),
            translations=GNUTranslations(compiled),
        )
    return found


def language_of(request: Request) -> Language:
    """Return the language for a visitor: that of the address, else of the cookie, else of the browser, else English."""
    known = languages()
    for code in (request.query_params.get(COOKIE), request.cookies.get(COOKIE)):
        if code in known:
            return known[code]
    return _negotiated(request.headers.get("accept-language", ""))


@lru_cache(_MOST_HEADERS)
def _negotiated(header: str) -> Language:
    """Return the language for a header Accept-Language."""
    known = languages()
    return known[negotiate_locale(_preferred(header), list(known), sep="-") or ENGLISH.code]


def keep_choice(request: Request, response: Response) -> None:
    """Store the language that the address chooses, if it does, in the visitor's browser."""
    code = request.query_params.get(COOKIE)
    if code in languages():
        response.set_cookie(COOKIE, code, max_age=_A_YEAR, samesite="lax")


def _preferred(header: str) -> list[str]:
    """Return the languages of a header Accept-Language, the most preferred one first."""
    weighted: list[tuple[float, str]] = []
    for part in header.split(",")[:_MOST_PREFERRED]:
        tag, _, weight = part.strip().partition(";q=")
        try:
            quality = float(weight or 1)
        except ValueError:
            continue
        if tag and quality > 0:
            weighted.append((-quality, tag.strip()))
    return [tag for _, tag in sorted(weighted, key=lambda each: each[0])]


def script_files() -> dict[str, bytes]:
    """Return two scripts for each language but English, by file name. They define the texts of the other scripts.

    `messages.CODE.js` has those of scripts of many pages, `messages.games.CODE.js` the others. `words.js` reads them. A
    text in several forms is a list, and `plural` returns the place of the form for a number.
    """
    scripts = {}
    for code, _, _ in _TRANSLATED:
        messages = catalogue(code)
        common: dict[str, object] = {}
        of_games: dict[str, object] = {}
        for message in messages:
            names = {path.rpartition("/")[2] for path, _line in message.locations if path.endswith(".js")}
            if message.id and names:
                key = message.id if isinstance(message.id, str) else message.id[0]
                (of_games if names <= _SCRIPTS_OF_GAMES else common)[key] = message.string
        plural = f"globalThis.plural=(n)=>Number({messages.plural_expr})"
        scripts[f"messages.{code}.js"] = f"globalThis.messages={_json(common)};{plural};\n".encode()
        scripts[f"messages.games.{code}.js"] = f"Object.assign(globalThis.messages,{_json(of_games)});\n".encode()
    return scripts


def _json(texts: dict[str, object]) -> str:
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
