"""Pages for spectators are in the language of the visitor, and the catalogues of all languages are complete."""

import gzip
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from babel.messages.catalog import Message
from playwright.sync_api import Browser
from starlette.requests import Request

from noughts_server.core.board_geometry import geometry
from noughts_server.core.messages import ENGLISH, _, in_language, ngettext, number_text, pgettext
from noughts_server.drawing.board_svg import board_svg
from noughts_server.web.app import static_files
from noughts_server.web.languages import TRANSLATED_PAGES, catalogue, language_of, languages
from noughts_server.web.running_stages import Round
from noughts_server.web.words import duration, game, how_ended, month, points, time_control
from tests.server.web.test_delivery import HEAVIEST, Links, files_of
from tests.support.browser import page_in
from tests.support.site import Site

CODES = ("cs", "zh")
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
TAG = re.compile(r"<[^<>]+>")


def forms_of(message: Message) -> tuple[str, ...]:
    return message.string if isinstance(message.string, tuple) else (str(message.string or ""),)


def messages_of(code: str) -> list[Message]:
    """Return the messages of a language, without the header."""
    return [message for message in catalogue(code) if message.id]


def texts_of(message: Message) -> tuple[str, ...]:
    return message.id if isinstance(message.id, tuple) else (str(message.id),)


@pytest.mark.parametrize("code", CODES)
def test_every_message_has_a_translation_with_all_its_forms(code: str) -> None:
    messages = catalogue(code)
    assert len(messages) > 500
    assert [message.id for message in messages_of(code) if not all(forms_of(message))] == []
    # The checks of Babel: the number of forms, and the types of placeholders.
    assert [(message.id, list(message.check(messages))) for message in messages if list(message.check(messages))] == []


@pytest.mark.parametrize("code", CODES)
def test_translations_keep_placeholders_tags_and_percent_signs(code: str) -> None:
    for message in messages_of(code):
        texts = texts_of(message)
        names = {name for text in texts for name in PLACEHOLDER.findall(text)}
        values = {name: f"the {name}" for name in names}
        for form in forms_of(message):
            filled = form % values  # a lost or lone % is an error
            # A form for one thing can do without its number.
            assert all(value in filled for value in values.values()) or isinstance(message.id, tuple), message.id
            assert sorted(TAG.findall(form)) in [sorted(TAG.findall(text)) for text in texts], message.id


def request_of(query: str = "", cookie: str = "", accepted: str = "") -> Request:
    headers = [(b"cookie", cookie.encode()), (b"accept-language", accepted.encode())]
    return Request({"type": "http", "path": "/", "query_string": query.encode(), "headers": headers})


@pytest.mark.parametrize(
    "query, cookie, accepted, code",
    [
        ("", "", "", "en"),
        ("", "", "cs-CZ,cs;q=0.9,en;q=0.8", "cs"),
        ("", "", "en-GB,en;q=0.9,cs;q=0.8", "en"),
        ("", "", "en;q=0.1, zh-TW;q=0.7", "zh"),
        ("", "", "zh-Hans-CN", "zh"),
        ("", "", "tlh,cs;q=0.5", "cs"),
        ("", "", "cs;q=0,tlh", "en"),
        ("", "", "cs;q=much,;q=1,*", "en"),
        ("", "lang=zh", "cs", "zh"),
        ("lang=cs", "lang=zh", "en", "cs"),
        ("lang=tlh", "lang=zh", "cs", "zh"),
        ("lang=../cs", "lang=", "", "en"),
    ],
)
def test_address_then_cookie_then_browser_choose_the_language(
    query: str, cookie: str, accepted: str, code: str
) -> None:
    assert language_of(request_of(query, cookie, accepted)).code == code


def test_numbers_times_and_words_follow_the_language() -> None:
    with in_language(languages()["cs"]):
        assert number_text(1234567.5, ",.1f") == "1\u00a0234\u00a0567,5"
        assert points(22889.5) == "22\u00a0889½"
        assert [ngettext("%(num)s game", "%(num)s games", number) for number in (1, 2, 5)] == [
            "1 partie",
            "2 partie",
            "5 partií",
        ]
        assert month("2026-03") == "březen 2026"
        assert game("mnk:30,30,5") == "30 × 30, 5 v řadě"
        assert str(Round(2, 3, is_knockout=True)) == "Semifinále"
        assert pgettext("play a game", "Play") == "Hrát"
    with in_language(languages()["zh"]):
        assert number_text(1234567.5, ",.1f") == "1,234,567.5"
        assert month("2026-03") == "2026年3月"
        assert duration(7500) == "2\u00a0小时\u00a05\u00a0分"
        assert (
            how_ended(
                {
                    "variant": "gomoku",
                    "result": "1-0",
                    "termination": "line",
                    "moves": [5],
                    "winning_cells": [1, 2, 3, 4, 5],
                }
            )
            == "五连"
        )
        assert (
            time_control({"bank_us": 60_000_000, "increment_us": 500_000, "move_us": 0})
            == "1\u00a0分钟 + 每着 0.5\u00a0秒"
        )
    assert _("Share") == "Share"
    assert points(22889.5) == "22,889½"


def test_pages_of_different_languages_are_cached_apart(site: Site, cup: str) -> None:
    pages = {code: site.get(f"/{cup}", accept_language=code) for code in languages()}
    assert {page.headers["vary"].lower().split(", ")[0] for page in pages.values()} == {"accept-language"}
    assert len({page.headers["etag"] for page in pages.values()}) == 3
    for code, page in pages.items():
        assert f'<html lang="{languages()[code].tag}">' in page.text
    answer = site.get(f"/{cup}", accept_language="cs", if_none_match=pages["en"].headers["etag"])
    assert answer.status == 200
    assert site.get(f"/{cup}", accept_language="cs", if_none_match=pages["cs"].headers["etag"]).status == 304
    # The stories of tournaments are kept.
    assert "Shortest win" in pages["en"].text
    assert "Nejkratší výhra" in pages["cs"].text


def test_choice_is_kept_in_a_cookie_and_other_pages_stay_in_english(site: Site) -> None:
    chosen = site.get("/bots?lang=cs")
    assert "lang=cs" in chosen.headers["set-cookie"]
    assert "set-cookie" not in site.get("/bots?lang=tlh").headers
    assert ">Žebříček<" in chosen.text
    assert ">Žebříček<" in site.get("/leaderboard", cookie="lang=cs").text
    reference = site.get("/api", cookie="lang=cs").text
    assert '<html lang="en">' in reference
    assert ">Leaderboard<" in reference
    assert "Čeština" not in reference


def test_names_are_not_translated_and_stay_escaped(site: Site) -> None:
    page = site.get("/bots?search=%3Cb%3EShare", accept_language="cs").text
    assert "&lt;b&gt;Share" in page
    assert "<b>Share" not in page


def test_scripts_of_each_language_have_their_texts() -> None:
    _version, contents = static_files()
    for code in CODES:
        assert "Reconnecting" in contents[f"messages.{code}.js"][1].decode()
        assert len(contents[f"messages.{code}.js"][1]) < 12_000
        of_games = contents[f"messages.games.{code}.js"][1].decode()
        assert "Take back" not in of_games
        assert "Resign this game?" in of_games
        assert "Resign this game?" not in contents[f"messages.{code}.js"][1].decode()


def test_no_template_loses_the_space_before_a_text() -> None:
    """Jinja removes spaces at the beginning of a line before a block, unless it begins with `{%+`."""
    templates = files("noughts_server.web") / "templates"
    for folder in (templates, *(each for each in templates.iterdir() if each.is_dir())):
        for file in folder.iterdir():
            if file.is_file():
                assert not re.search(r"^ +\{% trans", file.read_text(encoding="utf-8"), re.MULTILINE), file.name


@pytest.fixture(scope="module")
def spectators_pages(cup: str) -> list[str]:
    tabs = [f"/{cup}?tab={tab}" for tab in ("standings", "crosstable", "rules")]
    return [
        "/", "/tournaments", f"/{cup}", *tabs, f"/{cup}/games", f"/{cup}/games/1", f"/{cup}/games/1/embed", "/bots",
        "/bots/pascal", "/bots/pascal/against/random", "/records", "/leaderboard", "/tv", f"/{cup}/tv",
        "/play", "/puzzles", "/explorer?variant=tictactoe", "/nothing", "/bots/nobody",
    ]  # fmt: skip


def english_texts() -> Iterator[str]:
    """Yield the English messages with at least two words that no translation has as it is."""
    for message in messages_of("cs"):
        for text in texts_of(message):
            plain = TAG.sub("", text)
            if len(plain.split()) > 1 and "%" not in plain and text not in forms_of(message):
                yield plain


@pytest.mark.processes
@pytest.mark.parametrize("code", CODES)
def test_spectators_see_no_english_sentence(
    site: Site, browser: Browser, spectators_pages: list[str], code: str
) -> None:
    texts = list(english_texts())
    with page_in(browser, site.address, locale=code) as page:
        for path in spectators_pages:
            page.goto(path)
            shown = page.evaluate(
                """() => [document.title, document.body.innerText, ...[...document.querySelectorAll(
                "[title], [aria-label], [placeholder]")].flatMap((each) =>
                ["title", "aria-label", "placeholder"].map((name) => each.getAttribute(name) ?? ""))].join("\\n")"""
            )
            found = [text for text in texts if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", shown)]
            assert found == [], path
            assert page.evaluate("document.documentElement.lang") == languages()[code].tag


def test_layers_of_boards_are_named_in_the_language() -> None:
    game_of_qubic: dict[str, Any] = {"board": geometry("qubic"), "moves": []}
    with in_language(languages()["cs"]):
        assert ">vrstva 4</text>" in board_svg(game_of_qubic)
    assert ">layer 4</text>" in board_svg(game_of_qubic)


def test_english_is_the_language_of_everything_else() -> None:
    assert languages()["en"] is ENGLISH
    assert "failed.html.jinja" not in TRANSLATED_PAGES


def test_pages_in_other_languages_are_as_small(site: Site, cup: str) -> None:
    contents = {name: body for name, (_kind, body) in static_files()[1].items()}
    for path, heaviest in (("/", 40_000), (f"/{cup}", HEAVIEST), (f"/{cup}/games/1", HEAVIEST)):
        page = site.get(path, accept_language="cs", accept_encoding="gzip")
        files = files_of(Links(gzip.decompress(page.body).decode()), contents)
        assert "messages.cs.js" in files
        assert ("messages.games.cs.js" in files) == ("/games/" in path)
        assert len(page.body) + sum(len(gzip.compress(contents[name])) for name in files) < heaviest, path
