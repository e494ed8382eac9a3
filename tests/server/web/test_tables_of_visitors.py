"""The tables at which visitors play: how many there are, when they are removed, and who can move at them."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from noughts_bots.reference.random_ import Random
from noughts_proto.security import Dialling
from noughts_proto.v1 import bots_pb2
from noughts_server.client.client import connected
from noughts_server.testing import ServerUnderTest
from noughts_server.web import browser_player
from noughts_server.web.browser_player import BrowserPlayer
from noughts_server.web.play_tables import TableSettings
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


def test_visitor_is_refused_if_all_tables_are_taken(server: ServerUnderTest) -> None:
    settings = TableSettings(most=1, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("crowded"), tables=settings) as site:
        assert site.post("/play", form).status == 303
        answer = site.post("/play", form)
        assert answer.status == 429
        assert "All 1 tables are taken." in answer.text


def test_guest_names_of_another_owner_are_skipped(server: ServerUnderTest) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with connected(server.address, server.token("mallory"), Dialling()) as client:
        for name in ("bots/shop-guest-1", "bots/shop-random-2"):
            client.call(client.bots.RegisterBot, bots_pb2.RegisterBotRequest(name=name))
    with site_of(server.address, token=server.token("shop")) as site:
        tables = [site.post("/play", form) for _ in range(2)]
        assert [answer.status for answer in tables] == [303, 303]
        assert "shop-guest-3" in site.get(tables[0].headers["location"]).text
        # The list of bots and the search are without those that stand for visitors.
        assert "shop-" not in site.get("/bots?search=-guest-3").text
        assert "bots/shop-guest-3" not in site.get("/search?q=-guest-3").text
        assert "bots/shop-guest-3" in site.get("/bots?owner=shop").text


def test_tables_and_games_of_one_visitor_are_limited(server: ServerUnderTest) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    settings = TableSettings(address_games=10)
    with site_of(server.address, token=server.token("greedy"), tables=settings, proxies=["127.0.0.1"]) as site:
        first = site.post("/play", form, x_real_ip="192.0.2.1")
        browser, _, flags = first.headers["set-cookie"].partition(";")
        assert "HttpOnly" in flags
        second, refused = (site.post("/play", form, x_real_ip="192.0.2.1", cookie=browser) for _ in range(2))
        assert (second.status, refused.status) == (303, 429)
        assert "You already play at 2 tables. Close one of them." in refused.text
        # Another browser behind the same address has tables of its own.
        assert site.post("/play", form, x_real_ip="192.0.2.1").status == 303
        listed = site.get("/play", cookie=browser).text
        place = first.headers["location"]
        assert f'href="{place}">Continue</a>' in listed
        assert place not in site.get("/play").text
        assert site.post(f"{place}/close", {}).headers["location"] == "/play"
        assert site.get(place).status == 404
        # A table whose game is over makes room.
        assert site.post("/play", form, x_real_ip="192.0.2.1", cookie=browser).status == 303
        place = second.headers["location"]
        game = site.get(f"{place}/state").document["game"]
        assert site.post(f"{place}/resign", {"game": game}).status == 200
        eventually(lambda: site.post("/play", form, x_real_ip="192.0.2.1", cookie=browser).status == 303)
        assert site.get(place).status == 404
        table = site.post("/play", form, x_real_ip="192.0.2.2").headers["location"]
        statuses = []
        for _ in range(10):
            game = site.get(f"{table}/state").document["game"]
            statuses.append(site.post(f"{table}/again", {"game": game}).status)
        assert statuses == [200] * 9 + [429]


def test_a_refused_next_game_leaves_the_table_as_it_is(server: ServerUnderTest) -> None:
    form = {"opponent": "house:first-free", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    settings = TableSettings(address_games=1, pause=0.0)
    with site_of(server.address, token=server.token("refused"), tables=settings) as site:
        table = site.post("/play", form).headers["location"]
        game = site.get(f"{table}/state").document["game"]
        for ply, cell in ((0, 4), (2, 8)):
            move = {"game": game, "cell": str(cell), "ply": str(ply)}
            assert site.post(f"{table}/move", move).status == 200
        assert site.post(f"{table}/resign", {"game": game}).status == 200
        state = eventually(lambda: site.get(f"{table}/state").document, lambda state: any(state["points"]))
        for action, fields in (("again", {"swap": "1"}), ("again", {}), ("back", {})):
            assert site.post(f"{table}/{action}", {"game": game, **fields}).status == 429
        assert site.get(f"{table}/state").document == state


def test_a_refusal_at_a_table_has_no_commands(server: ServerUnderTest) -> None:
    form = {"opponent": "bots/visited", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("host")) as site:
        with in_other_thread(bots_online(server.address, server.token("paula"), visited=Random())):
            table = site.post("/play", form).headers["location"]
        eventually(lambda: not site.get("/api/v1/bots/visited").document["online"])
        game = site.get(f"{table}/state").document["game"]
        refused = site.post(f"{table}/again", {"game": game})
        assert (refused.status, refused.document["hint"]) == (409, "")
        assert refused.document["message"].startswith("Bot “visited”")


def test_games_a_minute_are_limited(server: ServerUnderTest) -> None:
    settings = TableSettings(games_a_minute=3, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you"}
    with site_of(server.address, token=server.token("hasty"), tables=settings) as site:
        table = site.post("/play", form).headers["location"]
        statuses = []
        for _ in range(4):
            game = site.get(f"{table}/state").document["game"]
            statuses.append(site.post(f"{table}/again", {"game": game}).status)
        assert statuses == [200, 200, 429, 429]


def test_a_cancelled_game_is_not_listed_and_can_be_followed_by_another(server: ServerUnderTest) -> None:
    token = server.token("left")
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you"}
    with site_of(server.address, token=token) as site:
        table = site.post("/play", form).headers["location"]
        game = site.get(f"{table}/state").document["game"]
        cookie, csrf = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
        challenge = f"/{game.partition('/games')[0]}"
        assert challenge in site.get("/tournaments?challenges=true").text
        assert site.post(f"{challenge}/cancel", csrf, cookie=cookie).status == 303
        assert challenge not in site.get("/tournaments?challenges=true").text
        assert challenge in site.get("/tournaments?challenges=true&state=cancelled").text
        next_game = site.post(f"{table}/again", {"game": game}).document
        assert next_game["game"] != game


def test_site_stops_while_a_table_is_being_opened(
    server: ServerUnderTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = threading.Event()

    async def never(guest: BrowserPlayer, game: str) -> None:
        waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(BrowserPlayer, "wait_for_game", never)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with ThreadPoolExecutor(1) as visitor:
        with site_of(server.address, token=server.token("ending")) as site:
            opening = visitor.submit(site.post, "/play", form)
            assert waiting.wait(20)
            began = time.monotonic()
        assert time.monotonic() - began < 20
        assert opening.exception(20) or opening.result().status == 503
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def test_an_idle_table_is_removed(server: ServerUnderTest) -> None:
    settings = TableSettings(most=1, idle=0.5, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("idle"), tables=settings) as site:
        first = site.post("/play", form).headers["location"]
        eventually(lambda: site.post("/play", form).status == 303)
        assert site.get(first).status == 404


def test_game_can_be_repeated_only_from_an_own_turn(tables: Site) -> None:
    form = {"opponent": "house:first-free", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    table = tables.post("/play", form).headers["location"]
    game = tables.get(f"{table}/state").document["game"]
    assert tables.post(f"{table}/move", {"game": game, "cell": "4", "ply": "0"}).status == 200
    for ply, status in (("1", 409), ("7", 409), ("x", 400), ("0", 200)):
        assert tables.post(f"{table}/back", {"game": game, "ply": ply}).status == status, ply
    assert tables.get(f"{table}/state").document["opening"] == 0


def test_a_move_needs_the_key_of_the_table_and_the_turn(tables: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    created = tables.post(
        "/play", {"opponent": "house:first-free", "variant": "connect4", "begins": "you", "mark": "begins"}
    )
    assert created.status == 303, created.text
    table = created.headers["location"]
    game = tables.get(f"{table}/state").document["game"]
    move = {"game": game, "cell": "38", "ply": "0"}
    assert tables.post("/play/other/move", move).status == 404
    assert tables.post(f"{table}/move", {**move, "game": "tournaments/other/games/1"}).status == 409
    with monkeypatch.context() as patch:
        patch.setattr(browser_player, "_TIMEOUT_SECONDS", 0.1)
        for action in ("move", "hint"):
            refused = tables.post(f"{table}/{action}", {**move, "ply": "1"})
            assert (refused.status, refused.document["message"]) == (409, "It is not your turn.")
    assert "fall" in tables.post(f"{table}/move", {**move, "cell": "3"}).document["message"]
    assert tables.post(f"{table}/move", {**move, "cell": "4000"}).document["message"] == "There is no cell 4000."
    assert tables.post(f"{table}/move", {**move, "cell": "x"}).status == 400
    assert tables.post(f"{table}/move", move, origin="http://elsewhere.example").status == 403
    assert tables.post(f"{table}/move", move).status == 200
    assert tables.post(f"{table}/move", move).status == 409


def test_a_site_without_a_token_says_how_to_allow_games(site: Site) -> None:
    assert "--token-file" in site.get("/play").text
    answer = site.post("/play", {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"})
    assert answer.status == 404


def test_a_site_with_an_unknown_token_says_so(server: ServerUnderTest) -> None:
    with site_of(server.address, token="nou_worthless") as site:
        answer = site.post(
            "/play", {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
        )
    assert answer.status == 409
    assert "token" in answer.text
