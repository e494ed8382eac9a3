"""What the page of a knockout says: seeds, reached rounds, scores so far, and links to live games."""

import re
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from starlette.requests import Request

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_referee.rules import CONCEDED_FAULT, Result, Termination
from noughts_server.competition.formats import KNOCKOUT, LADDER, ROUND_ROBIN, SWISS, TournamentFormat
from noughts_server.convert.games import game_message
from noughts_server.convert.tournaments import crosstable_message, tournament_message
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.games import GameFilter, list_games
from noughts_server.store.games.standings import crosstable, standings
from noughts_server.store.tournaments.tournaments import (
    cancel_tournament,
    change_tournament,
    get_tournament,
    list_tournaments,
    pause_tournament,
    start_tournament,
)
from noughts_server.web.around_game import knockout_match
from noughts_server.web.brackets import reached, seeds, with_extra_games
from noughts_server.web.documents import Document, document
from noughts_server.web.pages import tournament as tournament_pages
from noughts_server.web.pages.tournament import tournament_page
from noughts_server.web.pages.website import Website
from noughts_server.web.stories import Stories
from noughts_server.web.upstream import Upstream
from noughts_server.web.views import Views
from tests.support.arena import NOW, Arena

VIEWS = Views("x", signing_in=True, playing=False)
BOTS = ("ann", "bob", "cy", "dee", "eve")


class StoreBehindPages:
    """Answers the calls of the page of a tournament from a store."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self.tournaments = SimpleNamespace(
            GetTournament=self._tournament, GetCrosstable=self._crosstable, ListTournaments=self._tournaments
        )
        self.games = SimpleNamespace(ListGames=self._games)

    async def ask(self, method: Any, request: Any) -> Document:
        return document(await self._arena.store.read(partial(method, request=request)))

    @staticmethod
    def _tournament(connection: Connection, request: Any) -> Message:
        tournament = get_tournament(connection, "cup")
        message = tournament_message(tournament, standings(connection, tournament))
        return tournaments_pb2.GetTournamentResponse(tournament=message)

    @staticmethod
    def _tournaments(connection: Connection, request: Any) -> Message:
        page = list_tournaments(connection, size=100, state=request.state)
        return tournaments_pb2.ListTournamentsResponse(tournaments=map(tournament_message, page.items))

    @staticmethod
    def _crosstable(connection: Connection, request: Any) -> Message:
        return crosstable_message(crosstable(connection, get_tournament(connection, "cup"), top=request.top))

    @staticmethod
    def _games(connection: Connection, request: Any) -> Message:
        game_filter = GameFilter(faults=request.faults_only, stopped=request.stopped_only)
        page = list_games(
            connection,
            "cup",
            size=request.page_size,
            page_token=request.page_token,
            game_filter=game_filter,
            after=request.after,
        )
        return games_pb2.ListGamesResponse(games=map(game_message, page.items), next_page_token=page.next_page_token)


async def page_of_cup(
    arena: Arena,
    tab: str = "overview",
    *live_games: int,
    boards: Sequence[Document] = (),
    owned_bots: Sequence[str] = (),
) -> str:
    """Return the page of the tournament `cup` while these games are live, without line breaks.

    `boards` are those of them that the feed has. If there are `owned_bots`, their owner is signed in.
    """

    async def snapshot_of(name: str) -> Document:
        return {"games": list(boards), "tournaments": [{"name": name, "live_games": list(live_games)}]}

    async def person(request: Request) -> Any:
        return SimpleNamespace(owner="bert", is_admin=False) if owned_bots else None

    async def bots_of(person: Any) -> list[Document]:
        return [{"name": f"bots/{name}", "declared_variants": []} for name in owned_bots]

    website = SimpleNamespace(
        upstream=StoreBehindPages(arena),
        hub=SimpleNamespace(snapshot_of=snapshot_of),
        views=VIEWS,
        stories=Stories(),
        person=person,
        bots_of=bots_of,
    )
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/tournaments/cup",
        "path_params": {"tournament": "cup"},
        "query_string": f"tab={tab}".encode(),
        "headers": [(b"host", b"localhost"), *([(b"cookie", b"noughts_token=nou_x")] if owned_bots else [])],
        "server": ("localhost", 80),
        "scheme": "http",
    }
    response = await tournament_page(cast("Website", website), Request(scope))
    return re.sub(r"\s+", " ", bytes(response.body).decode())


def match(first: str, second: str, winner: str = "", games: int = 2, games_left: int = 0) -> dict[str, Any]:
    return {"first": first, "second": second, "winner": winner, "games": games, "games_left": games_left}


ROUNDS = [
    [match("ann", "", "ann", 0), match("dee", "eve", "dee"), match("cy", "fay", "fay"), match("", "", "", 0)],
    [match("ann", "dee", "ann"), match("fay", "", "", 0)],
    [match("ann", "", "", 0)],
]
"""A bracket in its semifinals. Its last match of the first round is not complete, as in no real bracket."""


def test_seeds_follow_from_the_places_of_the_first_round() -> None:
    first_round = [match("ann", "", "ann", 0), match("eve", "dee"), match("cy", "fay"), match("gus", "bob")]
    assert seeds([first_round, ROUNDS[1], ROUNDS[2]]) == {
        "ann": 1,
        "bob": 2,
        "cy": 3,
        "dee": 4,
        "eve": 5,
        "fay": 6,
        "gus": 7,
    }
    assert seeds([]) == {}


def test_entries_of_a_bracket_are_out_or_in_a_round() -> None:
    found = reached(ROUNDS)
    assert {label: (str(at.round), at.is_out, at.has_won) for label, at in found.items()} == {
        "ann": ("Final", False, False),
        "dee": ("Semifinals", True, False),
        "eve": ("Quarterfinals", True, False),
        "cy": ("Quarterfinals", True, False),
        "fay": ("Semifinals", False, False),
    }
    final = [[match("ann", "fay", "fay")]]
    assert reached([*ROUNDS[:2], *final])["fay"].has_won
    assert not reached([*ROUNDS[:2], *final])["ann"].has_won


@pytest.mark.parametrize("games, games_left, is_extra", [(0, 4, False), (4, 0, False), (4, 2, True), (6, 0, True)])
def test_games_after_equal_points_are_extra_games(games: int, games_left: int, is_extra: bool) -> None:
    (marked,) = with_extra_games([match("ann", "dee", games=games, games_left=games_left)], 4)
    assert marked["extra"] is is_extra


async def commit_results(arena: Arena, results: dict[int, Result]) -> None:
    """Store the games with these numbers and results."""
    tournament = await arena.store.read(partial(get_tournament, slug="cup"))
    games = await arena.play(tournament)
    await arena.commit([game._replace(result=results[game.ordinal]) for game in games if game.ordinal in results])


async def test_bracket_shows_the_score_so_far_and_leads_to_the_live_game(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.FIRST_WINS})
    page = await page_of_cup(arena, "overview", 2, 3)
    assert '<a class="now" href="/tournaments/cup/games/2">1 of 2 games over</a>' in page
    assert '<a class="now" href="/tournaments/cup/games/3">0 of 2 games over</a>' in page
    assert re.findall(r'<span class="points">([^<]*)</span>', page)[:4] == ["1", "0", "0", "0"]
    assert "<b>Semifinals</b>" in page
    # Both are of the round, because they stand next to its name.
    assert "0 of 2 matches" in page
    assert re.search(r'<progress max="2" value="0"\s+aria-label="Matches played"', page)
    # While the next game waits, the words lead to the games that are over.
    bracket = await page_of_cup(arena, "bracket")
    assert 'class="now"' not in bracket
    assert re.search(r'<a href="/bots/\w+/against/\w+\?tournament=cup"[^>]*>1 of 2 games over</a>', bracket)


async def test_page_of_a_game_has_its_round_and_the_score_of_its_match(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.FIRST_WINS})
    upstream = cast("Upstream", StoreBehindPages(arena))
    stored = await arena.store.read(partial(list_games, slug="cup", size=1))
    first, second = stored.items[0].first, stored.items[0].second
    cup = tournaments_pb2.Tournament(name="tournaments/cup", schedule=tournaments_pb2.SCHEDULE_KNOCKOUT)
    league = tournaments_pb2.Tournament(name="tournaments/cup", schedule=tournaments_pb2.SCHEDULE_ROUND_ROBIN)
    for players, score in ((first, second), "1–0"), ((second, first), "0–1"):
        found = await knockout_match(upstream, cup, dict(zip(("first", "second"), players, strict=True)))
        assert found is not None
        assert (str(found["round"]), found["score"]) == ("Semifinals", score)
    assert await knockout_match(upstream, league, {}) is None


async def test_bot_that_is_out_cannot_be_withdrawn(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.FIRST_WINS, 2: Result.SECOND_WINS})
    page = await page_of_cup(arena, owned_bots=BOTS[:4])
    entries = page.partition('<ul class="entered"')[2].partition("</ul>")[0].split("<li>")[1:]
    out = [each for each in entries if "lost in the semifinals, 0 points" in each]
    assert len(out) == 1
    assert ["Withdraw" in each for each in entries] == [each not in out for each in entries]


async def test_games_after_a_tie_are_called_extra_games(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:2], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.DRAW, 2: Result.DRAW})
    page = await page_of_cup(arena, "overview", 3)
    assert '<a class="now" href="/tournaments/cup/games/3">Extra games 1 and 2 (up to 8)</a>' in page
    assert "1 plays extra games" in page
    await commit_results(arena, {3: Result.FIRST_WINS, 4: Result.DRAW})
    page = await page_of_cup(arena)
    assert "4 games</a>, won in extra games" in page
    assert '<td class="reached"><b>winner</b></td>' in page
    assert '<td class="reached"><span class="muted">Final</span></td>' in page
    assert 'class="slot path"' in page


async def test_tied_match_that_waits_for_the_others_says_so(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.DRAW, 2: Result.DRAW})
    page = await page_of_cup(arena, "bracket")
    assert re.search(
        r'<a href="/bots/\w+/against/\w+\?tournament=cup"[^>]*>2 games</a>: level, extra games follow', page
    )


async def test_cancelled_knockout_tells_play_from_games_that_were_stopped(arena: Arena) -> None:
    cup = await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    first, second = (await arena.play(cup))[:2]
    await arena.commit(
        [
            first._replace(result=Result.DRAW, termination=Termination.LINE),
            second._replace(
                result=Result.FIRST_WINS, termination=Termination.ADJUDICATED, fault=CONCEDED_FAULT, moves=bytes([4])
            ),
        ]
    )
    assert "begins as soon as both bots are free" in await page_of_cup(arena)
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW))
    page = await page_of_cup(arena)
    assert "Cancelled in the semifinals: 1 game finished, 1 stopped</p>" in page
    assert re.search(r"\w+, the organiser, cancelled it. There is no winner.", page)
    assert re.search(r"(ann|bob|cy|dee) is a bot of \w+, so it loses every stopped game, also for ratings.", page)
    bracket, _, rest = page.partition('id="bracket"')[2].partition("</section>")
    assert ">1 game, 1 stopped</a>" in bracket
    assert re.findall(r'<span class="points">([^<]*)</span>', bracket)[:4] == ["½", "½", "", ""]
    assert "no game was finished" in bracket
    assert "not played" in bracket
    assert not re.search("games over|to be decided|extra pairs|playing|winner", bracket)
    assert "stopped by the organiser" not in rest
    assert "The points include 1 stopped game. The bracket does not count it." in rest
    assert re.findall(r'<td class="number">([^<]*)</td> <th', rest) == ["–"] * 4
    assert re.findall(r'<td class="reached">([^<]*)<', rest) == ["Semifinals"] * 4
    assert "Tie broken" not in page
    assert "cancelled <time" in page


async def test_all_games_that_the_organiser_stopped_are_counted(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament_pages, "_STOPPED_A_PAGE", 1)
    games = await arena.play(await arena.tournament(bots=BOTS[:3], games_per_pair=4))
    await arena.commit(
        game._replace(
            result=Result.FIRST_WINS,
            termination=Termination.ADJUDICATED,
            fault=CONCEDED_FAULT if game.ordinal in (5, 8, 11) else "was withdrawn",
        )
        for game in games[:11]
    )
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW))
    assert "3 stopped</p>" in await page_of_cup(arena)


async def test_crosstable_is_below_live_boards_until_there_are_last_games(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=ROUND_ROBIN)
    board: Document = {
        "name": "tournaments/cup/games/9",
        "state": "running",
        "board": None,
        "moves": [],
        "first": "ann",
        "second": "bob",
        "result": None,
        "first_clock_us": None,
        "second_clock_us": None,
    }
    await commit_results(arena, dict.fromkeys((1, 2, 3), Result.FIRST_WINS))
    page = await page_of_cup(arena, boards=[board])
    assert 'id="last"' not in page
    assert page.index('id="standings"') < page.index('class="across"') < page.index('id="crosstable"')
    await commit_results(arena, {4: Result.FIRST_WINS})
    page = await page_of_cup(arena, boards=[board])
    assert page.index('id="last"') < page.index('id="standings"') < page.index('id="crosstable"')
    assert 'class="across"' not in page


async def test_bots_without_a_result_have_no_place_and_are_last(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=ROUND_ROBIN)

    async def places(tab: str = "standings") -> list[tuple[str, str]]:
        page = await page_of_cup(arena, tab)
        return re.findall(r'<tr> <td class="number">([^<]+)</td> <th[^>]* title="([^"]+)"', page)

    assert await places() == [("–", "ann"), ("–", "bob"), ("–", "cy"), ("–", "dee")]
    await commit_results(arena, {1: Result.SECOND_WINS})
    tournament = await arena.store.read(partial(get_tournament, slug="cup"))
    (game,) = (await arena.store.read(partial(list_games, slug=tournament.slug))).items
    loser, winner = game.first, game.second
    others = [("–", label) for label in BOTS[:4] if label not in (loser, winner)]
    assert await places() == [("1", winner), ("2", loser), *others]


async def test_entries_of_a_tournament_that_never_began_are_in_order_of_joining(arena: Arena) -> None:
    await arena.tournament(bots=("dee", "ann", "cy"), start=False)
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW))
    page = await page_of_cup(arena, "standings")
    assert re.findall(r'<tr> <th scope="row" title="([^"]+)"', page) == ["dee", "ann", "cy"]


async def test_cancelled_tournament_says_who_led_or_that_nothing_began(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:3])
    await commit_results(arena, {1: Result.FIRST_WINS})
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW))
    page = re.sub("<[^>]+>", "", await page_of_cup(arena))
    assert "Cancelled: 1 of 6 games finished" in page
    assert re.search(r"\w+, the organiser, cancelled it. There is no winner.", page)
    assert re.search("(ann|bob|cy) led with 1 point in 1 game. The 1 game with a result counts", page)


async def test_tournament_that_is_cancelled_before_its_start_did_not_end(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:3], start=False)
    await arena.tournament("later", bots=BOTS[:3], start=False)
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW))
    page = await page_of_cup(arena)
    assert "Cancelled before the start" in page
    assert re.findall('<li><a href="/tournaments/([^"]+)">', page.partition("Upcoming starts")[2]) == ["later"]
    assert "No game was played, and no rating changed." in page
    assert "ended <time" not in page
    assert 'href="/tournaments">All tournaments<' in page
    assert not re.search("Export|>Games<|0 of 0", page)
    assert '<div class="overview">' in page.partition("Cancelled before the start")[0]  # next to the entries


async def test_pairings_of_a_round_show_the_score_so_far(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=SWISS)
    await commit_results(arena, {1: Result.FIRST_WINS})
    page = await page_of_cup(arena, "rounds", 2)
    assert re.search('<a class="now" href="/tournaments/cup/games/2">[01]–[01]</a>', page)
    assert "to play" in page


@pytest.mark.parametrize("schedule", [KNOCKOUT, SWISS, ROUND_ROBIN, LADDER], ids=str)
async def test_pages_of_all_formats_render_in_all_states(arena: Arena, schedule: TournamentFormat) -> None:
    await arena.tournament(bots=BOTS, schedule=schedule, start=False)
    page = await page_of_cup(arena)
    assert "Sign in to join" in page
    assert "alice organises this tournament and starts it." in page
    tournament = await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    tabs = ("overview", "standings", "bracket", "rounds", "chart", "crosstable", "rules")
    for tab in tabs:
        assert "</html>" in await page_of_cup(arena, tab, 1)
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    paused = await page_of_cup(arena)
    assert "Paused: no new games begin" in paused
    assert "It was paused <time" in paused
    assert "The organiser, alice, can resume it." in paused
    assert ("A bot that enters now plays 2 games against every other bot." in paused) is (schedule is ROUND_ROBIN)
    assert ("/signin?next=/tournaments/cup" in paused) is (schedule is not KNOCKOUT)
    assert ("Authors can enter bots while it is paused." in paused) is (schedule is not KNOCKOUT)
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    if schedule is LADDER:
        assert "and the bot with the most points is first." in await page_of_cup(arena)
        return
    while (await arena.store.read(partial(get_tournament, slug="cup"))).state is TournamentState.RUNNING:
        await arena.commit(await arena.play(tournament))
    for tab in tabs:
        assert "</html>" in await page_of_cup(arena, tab)
    assert ("lost in the semifinals" in await page_of_cup(arena)) is (schedule is KNOCKOUT)


async def test_better_seed_is_on_top_in_the_first_round(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.FIRST_WINS, 3: Result.FIRST_WINS})
    first_round = (await page_of_cup(arena, "bracket")).partition('id="bracket-2"')[0]
    assert re.findall(r'<span class="seed">(\d)</span>', first_round) == ["1", "4", "2", "3"]


async def test_bots_with_equal_results_have_one_place_in_all_tables(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:3], schedule=ROUND_ROBIN)
    await commit_results(arena, dict.fromkeys(range(1, 7), Result.FIRST_WINS))
    page = await page_of_cup(arena)
    for table in ("standings", "crosstable"):
        rows = page.partition(f'id="{table}"')[2].partition("</table>")[0]
        assert re.findall(r'<tr> <td class="number">([^<]+)</td>', rows) == ["1"] * 3, table


async def test_a_cell_of_the_crosstable_is_a_score_and_no_fraction(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:3], schedule=ROUND_ROBIN)
    await commit_results(arena, dict.fromkeys(range(1, 7), Result.FIRST_WINS))
    cells = (await page_of_cup(arena)).partition('id="crosstable"')[2]
    assert set(re.findall(r'<td class="heat-\d"><a[^>]*>(.*?)</a>', cells)) == {"1<small>–1</small>"}


async def test_a_tournament_without_live_games_shows_two_rows_of_last_games(arena: Arena) -> None:
    games = await arena.play(await arena.tournament(bots=BOTS[:4], games_per_pair=4))
    await arena.commit(games[:10])
    assert (await page_of_cup(arena)).count('<li><a href="/tournaments/cup/games/') == 8


async def test_page_says_when_play_ended_if_the_time_of_a_pause_is_unknown(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS[:3])
    await commit_results(arena, {1: Result.FIRST_WINS})
    await arena.store.write(partial(change_tournament, tournament=tournament, state=TournamentState.PAUSED))
    page = await page_of_cup(arena)
    assert "It was paused" not in page
    assert "The last game ended <time" in page


async def test_running_tournament_says_about_how_long_it_takes(arena: Arena) -> None:
    games = await arena.play(await arena.tournament(bots=BOTS[:3], games_per_pair=4))
    await arena.commit(games[:4])
    assert "min left" not in await page_of_cup(arena, "overview", 5)
    await arena.commit(games[4:6])
    assert ", about 1 min left" in await page_of_cup(arena, "overview", 7)


async def test_rounds_of_a_live_bracket_are_in_their_order(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=KNOCKOUT)
    await commit_results(arena, {1: Result.FIRST_WINS, 2: Result.DRAW, 3: Result.FIRST_WINS, 4: Result.DRAW})
    page = await page_of_cup(arena, "bracket", 5)
    assert "<b>Final</b>" in page
    assert re.findall('<div class="round" id="bracket-([0-9])">', page) == ["1", "2"]
