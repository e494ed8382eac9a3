"""Puzzles of stored games: gRPC, page and command line list the same, and brute force proves each.

`make test-long` has about a hundred of them, `make soak` more than a thousand.
"""

import asyncio
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from html import unescape
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from noughts_referee.rules import Position, parse_variant
from tests.server.cli.conftest import Noughts
from tests.support.arena import open_arena
from tests.support.background import server_in_thread
from tests.support.command_line import invoke
from tests.support.enumeration import plies_to_win
from tests.support.random_games import store_random_games
from tests.support.settings import repetitions
from tests.support.site import Site, site_of
from tests.support.wins_by_fours import BruteForce, TooManyFoursError

pytestmark = [pytest.mark.processes, pytest.mark.at_length, pytest.mark.timeout(3_600)]
GAMES = {"mnk:4,3,3": repetitions(25), "renju": repetitions(24), "caro": repetitions(24)}
PUZZLES = repetitions(80)
"""The least number of puzzles in these games; 730 of them have more than a thousand."""
FOURS = 500
"""Fours that brute force tries for a puzzle. Puzzles with more are left out: brute force needs hours for them."""
PAGES = repetitions(6)
"""Pages of the website that the test reads, one puzzle each."""


class League(NamedTuple):
    """A server with puzzles and its website."""

    address: str
    site: Site
    puzzles: list[dict[str, Any]]
    """As the command line lists them."""


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[League]:
    file = tmp_path_factory.mktemp("league") / "games.sqlite"

    async def store() -> None:
        async with open_arena(file) as arena:
            for number, (variant, games) in enumerate(GAMES.items()):
                await store_random_games(arena, variant, games, slug=f"cup-{number}")

    asyncio.run(store())
    database = f"sqlite:///{file}"
    invoke(["db", "puzzles", "rebuild", "--db", database])
    with server_in_thread(database) as address, site_of(address) as site:
        listing = invoke(shlex.split("puzzle list --format json --limit 5000"), env={"NOUGHTS_SERVER": address})
        yield League(address, site, [json.loads(line) for line in listing.stdout.splitlines()])


def test_server_lists_the_puzzles_of_all_games(league: League) -> None:
    assert len(league.puzzles) >= PUZZLES
    counts = league.site.get("/api/v1/puzzles").document["counts"]
    expected = Counter((puzzle["variant"], puzzle["moves_to_win"]) for puzzle in league.puzzles)
    assert {(count["variant"], count["moves_to_win"]): count["puzzles"] for count in counts} == expected


def test_api_and_page_have_the_puzzles_of_the_command_line(league: League) -> None:
    page = league.site.get("/api/v1/puzzles?page_size=500").document
    listed = page["puzzles"]
    while page["next_page_token"]:
        page = league.site.get(f"/api/v1/puzzles?page_size=500&page_token={page['next_page_token']}").document
        listed += page["puzzles"]
    fields = itemgetter("position", "line", "kind")
    assert list(map(fields, listed)) == list(map(fields, league.puzzles))
    address = "/puzzles"
    for puzzle in islice(league.puzzles, PAGES):
        text = league.site.get(address).text
        assert f"wins in {puzzle['moves_to_win']} moves" in text
        assert f"?ply={puzzle['ply'] - 1}" in text
        link = re.search(r'rel="next" href="([^"]+)"', text)
        assert link is not None
        address = unescape(link[1])


@pytest.mark.parametrize("variant", GAMES)
def test_brute_force_proves_each_puzzle(league: League, variant: str) -> None:
    rules = parse_variant(variant)
    puzzles = [puzzle for puzzle in league.puzzles if puzzle["variant"] == variant]
    assert len(puzzles) >= repetitions(5)
    left_out = 0
    for puzzle in puzzles:
        position = Position.parse(rules, puzzle["position"])
        own, other = position.own, position.opponent
        if puzzle["kind"] == "win":
            plies = plies_to_win(rules, own, other)
            winning = [cell for cell in position.free if plies_to_win(rules, other, own | 1 << cell) < 0]
            assert (winning, (plies + 1) // 2) == (puzzle["best"], puzzle["moves_to_win"]), puzzle
        else:
            try:
                wins = BruteForce(rules, most=FOURS).first_moves(own, other, position.side)
            except TooManyFoursError:
                left_out += 1
                continue
            assert wins == {puzzle["line"][0]: puzzle["moves_to_win"]}, puzzle
        end = Position.parse(rules, puzzle["position"])
        for cell in puzzle["line"]:
            assert end.outcome() is None
            end.play(cell)
        outcome = end.outcome()
        assert outcome is not None
        assert outcome.winner == position.side
    assert left_out <= len(puzzles) // 5


def test_perfect_bot_solves_all_puzzles_of_a_variant(noughts: Noughts, league: League, tmp_path: Path) -> None:
    file = tmp_path / "puzzles.jsonl"
    variant = "mnk:4,3,3"
    noughts(f"puzzle export --variant {variant} -o {file}", env={"NOUGHTS_SERVER": league.address})
    number = sum(puzzle["variant"] == variant for puzzle in league.puzzles)
    assert f"{number} of {number} positions passed." in noughts(f"bot check perfect --puzzles {file}").stdout
