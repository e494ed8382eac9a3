"""The page of a report: it loads nothing, escapes the texts of others, and has a part for each table."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
VOID = {"meta", "input"}


class Page(HTMLParser):
    """The elements of a page; the test fails for tags that are not closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def anchors(self) -> list[str]:
        return [attributes["id"] for attributes in self.all("section")]


def games_data(text: str) -> Any:
    """Return the JSON from which the page's script shows the games."""
    element = re.search(r'<script type="application/json" id="games-data">(.*?)</script>', text, re.DOTALL)
    assert element
    return json.loads(element[1])


def test_a_page_loads_nothing(report: Any, round_robin: Any) -> None:
    text = report(round_robin("ABCD"))
    page = Page(text)
    # The only addresses are names of XML, which no browser loads.
    assert set(re.findall(r"https?://[^\"'\s<>)]*", text)) <= NAMESPACES
    assert not re.search(r"@import|url\(|\bimport\s*\(|fetch\(|XMLHttpRequest", text)
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "image", "use"}
        assert not {"src", "srcset", "action", "ping"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        if "href" in attributes:
            assert attributes["href"].startswith("#")
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize(
    "name",
    [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        '"><img src=x onerror=alert(1)>',
        "' onmouseover='alert(1)",
        "{{ 7 * 7 }}{% raw %}",
        "</title></style></svg><svg onload=alert(1)>",
        "a&amp;b&lt;",
        "\u2028]]>\x00\x1b[31m\ud800",
    ],
)
def test_names_are_only_text_everywhere_in_the_page(report: Any, round_robin: Any, name: str) -> None:
    fault = {"termination": "resigned", "fault": name}
    match = round_robin([name, "B"])
    tournament = [*match, *round_robin([name, "B", "C"], **fault)]
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    for games, harmless_games in ((tournament, round_robin("ABC")), (match, round_robin("AB"))):
        harmless = Page(report(harmless_games, title="Cup"))
        text = report(games, title=name)
        page = Page(text)
        assert risky_tags(page) == risky_tags(harmless)
        assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
        assert printable in "".join(page.texts)
        assert printable in games_data(text)["labels"]
        text.encode()  # raises an error for a lone surrogate


def risky_tags(page: Page) -> list[str]:
    return [tag for tag, _ in page.elements if tag in {"script", "img", "svg", "style", "title"}]


def test_every_table_has_a_caption_and_every_picture_words(report: Any, round_robin: Any) -> None:
    page = Page(report(round_robin("ABCD")))
    assert len(page.all("caption")) == len(page.all("table")) > 5
    pictures = [attributes for _, attributes in page.elements if attributes.get("role") == "img"]
    assert len(pictures) == len(page.all("figure")) == 2
    for attributes in pictures:
        assert len(attributes["aria-label"]) > 20
    assert {"en"} == {attributes["lang"] for attributes in page.all("html")}
    headings = [attributes["scope"] for attributes in page.all("th")]
    assert set(headings) == {"col", "row"}


def test_a_round_robin_has_every_part_with_its_picture(report: Any, round_robin: Any) -> None:
    text = report(round_robin("ABCD", opening_plies=2))
    page = Page(text)
    assert page.anchors == [
        "standings", "crosstable", "ratings", "sides", "terminations", "openings", "times", "games",
    ]  # fmt: skip
    assert [attributes["id"] for attributes in page.all("svg")] == ["chart-ratings", "chart-times"]
    assert [attributes["class"] for attributes in page.all("table") if "class" in attributes] == ["heat"]
    assert {attributes["href"] for attributes in page.all("a")} == {f"#{anchor}" for anchor in page.anchors}
    assert "Ranked by points; tie-breaks in this order: head-to-head score, Sonneborn-Berger, wins" in text


def test_a_match_of_two_has_the_course_of_its_test(report: Any, game: Any) -> None:
    equal_pairs: list[Any] = []
    won_pairs: list[Any] = []
    for cell in range(9):
        equal_pairs += [game("A", "B", moves=(cell,)), game("B", "A", moves=(cell, 8 - cell))]
        won_pairs += [game("A", "B", moves=(cell,)), game("B", "A", "0-1", moves=(cell,))]
    text = report(equal_pairs + won_pairs)
    page = Page(text)
    assert "match" in page.anchors
    assert "chart-llr" in [attributes["id"] for attributes in page.all("svg")]
    page_text = " ".join(page.texts)
    assert "LL 0, LD 0, WL+DD 9, WD 0, WW 9" in page_text
    assert "Elo difference of A to B: +191" in page_text


def test_report_names_the_game_that_decided_the_test(report: Any, game: Any) -> None:
    text = report([game("A", "B", moves=()), game("B", "A", "0-1", moves=())] * 500)
    assert "accepts H1 after 414 games; at the end the LLR is 7.14, the bounds are -2.94 and 2.94." in text
    assert "A has won everything" in text
    assert "NaN" not in text
    assert "Infinity" not in text


def test_first_bound_that_is_crossed_decides_the_test(report: Any, game: Any) -> None:
    wins = [game("A", "B", moves=()), game("B", "A", "0-1", moves=())] * 250
    losses = [game("A", "B", "0-1", moves=()), game("B", "A", moves=())] * 250
    text = report(wins + losses)
    assert "accepts H1 after 414 games; at the end the LLR is -0.05, the bounds" in text
    assert "is not decided" in report([game("A", "B", moves=()), game("B", "A", moves=())] * 10)


def test_one_game_and_void_games_make_a_page(report: Any, game: Any) -> None:
    assert "1 void games count nowhere." in report([game("A", "B", "*", termination="void")])
    assert "By the games alone 2 groups cannot be compared" in report([game("A", "B")])


def test_the_crosstable_of_many_bots_is_a_picture(report: Any, round_robin: Any) -> None:
    text = report(round_robin(f"bot-{number}" for number in range(45)), most_games=0)
    page = Page(text)
    assert "With numbers: the first 40 of 45." in text
    (picture,) = [svg for svg in page.all("svg") if svg.get("class") == "heat-picture"]
    assert picture["viewbox"] == "0 0 45 45"
    squares = sum(path["d"].count("z") for path in page.all("path") if path.get("class", "").startswith("heat-"))
    assert squares == 45 * 44
    assert "games" not in page.anchors


def test_a_page_says_which_games_it_has(report: Any, round_robin: Any, game: Any) -> None:
    games = round_robin("ABC") * 10
    assert "All games are in this page." in report(games)
    lost = game("A", "B", "0-1", termination="timeout", fault="took 2 s for its move")
    text = report([*games[:10], lost, *games[10:]], most_games=10)
    assert "9 of 61 games are in this page: every 8th, and those that ended by a fault, up to 50." in text
    numbers = [row[0] for row in games_data(text)["games"]]
    assert numbers == [1, 9, 11, 17, 25, 33, 41, 49, 57]


def test_games_that_cannot_be_shown_on_a_board_are_left_out(report: Any, round_robin: Any, game: Any) -> None:
    impossible_games = [game("A", "B", variant="nowhere"), game("A", "B", moves=(4, 99)), game("A", "B", moves=(4, 4))]
    text = report([*round_robin("AB"), *impossible_games])
    assert "2 of 5 games are in this page; the others cannot be shown on a board." in text
    assert len(games_data(text)["games"]) == 2


def test_the_same_games_give_the_same_bytes(report: Any, round_robin: Any) -> None:
    assert report(round_robin("ABCD")) == report(iter(round_robin("ABCD")))
