"""Sessions of bots over HTTP: restarts, idle bots, revoked tokens, and limits."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from noughts_proto.v1 import tokens_pb2, types_pb2
from noughts_server.client.stubs import Stubs
from noughts_server.store.engine.database import Store
from noughts_server.store.people.tokens import create_token
from noughts_server.testing import ServerUnderTest, serving
from noughts_server.web.http_play.session import PlaySettings
from noughts_server.web.visitors import SiteLimits
from tests.support.arena import NOW
from tests.support.background import server_in_thread
from tests.support.client import bearer
from tests.support.databases import make_file, url_of
from tests.support.http_bots import PLAY, HttpBot, Organiser, bots, organiser_at, play_together, send
from tests.support.leaping_loop import LeapingLoop
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, site_of


async def tokens_in(path: Path, *owners: str) -> dict[str, str]:
    """Create a database, and return a token of each of these owners."""
    make_file(path)
    store = await Store.open(url_of(path))
    try:
        return {owner: (await store.write(partial(create_token, owner=owner, now_ms=NOW))).secret for owner in owners}
    finally:
        await store.close()


@contextmanager
def leaping_site(server: str) -> Iterator[tuple[Site, Callable[[float], object]]]:
    """The site of the server at this address, and a function that moves the time of the site forward by seconds."""
    loop = LeapingLoop()

    def run(site: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(site)

    with site_of(server, run=run) as site:
        yield site, lambda seconds: loop.call_soon_threadsafe(loop.leap, seconds)


def test_a_new_session_continues_the_games_of_the_older_one(
    site: Site, server: ServerUnderTest, organiser: Organiser
) -> None:
    pair = bots(site, server, "newer-a", "newer-b")
    cup = organiser.start("newer", *pair, variant="tictactoe", games_per_pair=1)
    pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 4})
    pair[1].moves({"turn": pair[1].next_turn()["turn"], "move": 0})
    older = pair[0]
    older.next_turn()
    newer = HttpBot(site.address, older.token, "newer-a")
    assert newer.next_turn()["moves"] == [4, 0]
    replaced = older.turns()
    assert replaced.status == 410
    assert "newer session" in replaced.document["error"]["message"]
    play_together(newer, pair[1], games=1)
    assert organiser.games(cup)[0].moves[:2] == [4, 0]


def test_a_game_continues_after_a_restart_of_the_website(server: ServerUnderTest, organiser: Organiser) -> None:
    with site_of(server.address) as before:
        names = ("restart-a", "restart-b")
        pair = bots(before, server, *names)
        cup = organiser.start("restart", *pair, variant="tictactoe", games_per_pair=1)
        pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 4})
        pair[1].next_turn()
    with site_of(server.address) as after:
        for bot in pair:
            bot.address = after.address
            gone = bot.turns()
            assert gone.status == 404
            assert "Open a session again" in gone.document["error"]["hint"]
        pair = [HttpBot(after.address, bot.token, name) for bot, name in zip(pair, names, strict=True)]
        assert pair[1].next_turn()["moves"] == [4]
        play_together(*pair, games=1)
        assert organiser.games(cup)[0].moves[0] == 4


def test_a_session_and_its_game_continue_after_a_restart_of_the_server(tmp_path: Path) -> None:
    database, tokens = url_of(tmp_path / "x.sqlite"), asyncio.run(tokens_in(tmp_path / "x.sqlite", "ada", "bob"))
    with ExitStack() as stack:
        with server_in_thread(database, reconnect_timeout=60.0) as server:
            site = stack.enter_context(site_of(server))
            wish = "variant=tictactoe,time=60/move,rating=+-300"
            pair = [HttpBot(site.address, token, f"bot-of-{owner}", seek=wish) for owner, token in tokens.items()]
            with ThreadPoolExecutor(2) as pool:
                turns = [pool.submit(bot.next_turn) for bot in pair]
                done, _ = wait(turns, PATIENCE, FIRST_COMPLETED)
                first, second = sorted(pair, key=lambda bot: turns[pair.index(bot)] not in done)
                first.moves({"turn": done.pop().result()["turn"], "move": 4})
                open_turn = turns[pair.index(second)].result(PATIENCE)
        eventually(lambda: second.turns(wait=0).document["connected"] is False)
        # The server gets this answer when it repeats the question.
        assert second.moves({"turn": open_turn["turn"], "move": 0}).document["moves"][0]["status"] == "accepted"
        stack.enter_context(server_in_thread(database, listen=server, reconnect_timeout=60.0))
        assert first.next_turn()["moves"] == [4, 0]
        play_together(*pair, games=1)


def test_a_bot_without_requests_goes_offline_and_loses(server: ServerUnderTest) -> None:
    with ExitStack() as stack:
        short = stack.enter_context(serving(reconnect_timeout=0.2))
        site, leap = stack.enter_context(leaping_site(short.address))
        organiser = stack.enter_context(organiser_at(short))
        pair = bots(site, short, "away", "here")
        assert site.get("/api/v1/bots/away").document["online"]
        cup = organiser.start("idle", *pair, variant="tictactoe", games_per_pair=1)
        # The bot that owes nothing asks nothing; the other one waits for its move.
        pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 0})
        turn = pair[1].next_turn()
        leap(PlaySettings().idle)
        assert organiser.games(cup)[0].termination == types_pb2.TERMINATION_DISCONNECTED
        idle = pair[0].turns()
        assert idle.status == 404
        assert "no request came for 30 s" in idle.document["error"]["message"]
        (end,) = eventually(lambda: pair[1].turns(after=turn["turn"]).document["ended"])
        assert (end["termination"], end["points"]) == ("disconnected", 1)
        assert pair[1].moves({"turn": turn["turn"], "move": 1}).document["moves"][0]["status"] == "late"


def test_a_bot_that_thinks_about_a_move_is_not_idle(server: ServerUnderTest) -> None:
    with ExitStack() as stack:
        site, leap = stack.enter_context(leaping_site(server.address))
        organiser = stack.enter_context(organiser_at(server))
        pair = bots(site, server, "thinker", "other")
        time = types_pb2.TimeControl(move_us=60_000_000)
        organiser.start("thinking", *pair, variant="tictactoe", games_per_pair=1, time=time)
        turn = pair[0].next_turn()
        bots(site, server, "sleeper")
        leap(PlaySettings().idle)
        eventually(lambda: not site.get("/api/v1/bots/sleeper").document["online"])
        assert pair[0].moves({"turn": turn["turn"], "move": 0}).status == 200


def test_a_bot_that_thinks_for_too_long_reads_its_limit(server: ServerUnderTest) -> None:
    with ExitStack() as stack:
        site, leap = stack.enter_context(leaping_site(server.address))
        organiser = stack.enter_context(organiser_at(server))
        pair = bots(site, server, "ponderer", "partner")
        organiser.start("pondering", *pair, variant="tictactoe", games_per_pair=1)
        pair[0].next_turn()
        leap(PlaySettings().idle_thinking)
        eventually(lambda: not site.get("/api/v1/bots/ponderer").document["online"])
        assert "no request came for 600 s" in pair[0].turns().document["error"]["message"]


def test_a_revoked_token_ends_its_sessions_at_once(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "revoked", "honest")
    cup = organiser.start("revocation", *pair, variant="tictactoe", games_per_pair=1)
    turn = pair[0].next_turn()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pair[0].turns, after=turn["turn"])
        with grpc.insecure_channel(server.address) as channel:
            Stubs(channel).tokens.RevokeToken(
                tokens_pb2.RevokeTokenRequest(name="tokens/self"), metadata=bearer(pair[0].token)
            )
        assert waiting.result(PATIENCE).status == 401
    refused = (pair[0].turns(), pair[0].moves({"turn": turn["turn"], "move": 0}))
    assert [answer.status for answer in refused] == [401, 401]
    assert "revoked" in refused[0].document["error"]["message"]
    assert send(site.address, "POST", PLAY, pair[0].token, {"bot": "revoked"}).status == 401
    assert organiser.games(cup)[0].result == types_pb2.RESULT_SECOND_WINS
    assert pair[1].turns().status == 200


def test_sessions_and_names_of_others_are_refused(site: Site, server: ServerUnderTest) -> None:
    (bot,) = bots(site, server, "guarded")
    stranger = server.token("stranger")
    refused = send(site.address, "POST", PLAY, stranger, {"bot": "guarded"})
    assert refused.status == 403
    assert "guarded" in refused.document["error"]["message"]
    for token, status in ((stranger, 404), ("", 401), ("nonsense", 401), ("nou_nonsense", 404)):
        for method, path in (("GET", "/turns"), ("POST", "/moves"), ("DELETE", "")):
            answer = send(site.address, method, f"{bot.path}{path}", token, {"moves": []})
            assert answer.status == status, (method, path, token)
    assert send(site.address, "POST", PLAY, "nou_nonsense", {"bot": "guarded"}).status == 401
    assert send(site.address, "POST", PLAY, server.token("reader", "organise"), {"bot": "new"}).status == 403
    assert bot.turns(wait=0).status == 200


def test_leaving_is_idempotent_and_takes_the_bot_offline(site: Site, server: ServerUnderTest) -> None:
    (bot,) = bots(site, server, "leaver")
    assert [bot.leave().status, bot.leave().status] == [204, 204]
    gone = bot.turns()
    assert gone.status == 410
    assert "has left" in gone.document["error"]["message"]
    eventually(lambda: not site.get("/api/v1/bots/leaver").document["online"])


def test_sessions_of_owners_addresses_and_in_all_are_limited(server: ServerUnderTest) -> None:
    limits = PlaySettings(most=4, address_most=3, owner_most=2)
    with site_of(server.address, play=limits) as site:
        token, other = server.token("many"), server.token("other")

        def status(name: str, token: str, source: str = "127.0.0.1") -> int:
            return send(site.address, "POST", PLAY, token, {"bot": name}, source).status

        assert [status(name, token) for name in ("many-1", "many-2", "many-3")] == [201, 201, 429]
        # A bot that opens its session again is not one more.
        assert status("many-2", token) == 201
        assert [status("other-1", other), status("other-2", other)] == [201, 429]
        assert status("other-2", other, "127.0.0.2") == 201
        # Now all places are taken, and the owners with two sessions make room for others.
        assert status("third-1", server.token("third"), "127.0.0.3") == 201
        assert status("fourth-1", server.token("fourth"), "127.0.0.4") == 201
        assert status("fifth-1", server.token("fifth"), "127.0.0.5") == 429


def test_idle_sessions_of_one_owner_keep_no_others_away(server: ServerUnderTest, organiser: Organiser) -> None:
    with site_of(server.address, play=PlaySettings(most=2)) as site:
        hoarder, newcomer = server.token("hoarder"), server.token("newcomer")
        pair = [HttpBot(site.address, hoarder, f"hoard-{number}") for number in range(2)]
        organiser.start("hoarded", *pair, variant="tictactoe", games_per_pair=1)
        pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 0})
        pair[1].next_turn()
        # Sessions with running games stay.
        assert send(site.address, "POST", PLAY, newcomer, {"bot": "new"}).status == 429
        play_together(*pair, games=1)
        pair[1].turns(wait=0)
        new = HttpBot(site.address, newcomer, "new")
        eventually(lambda: pair[0].turns(wait=0).status == 404)
        message = pair[0].turns(wait=0).document["error"]["message"]
        assert "made room for a bot of another owner: hoarder had the most" in message
        assert [pair[1].turns(wait=0).status, new.turns(wait=0).status] == [200, 200]
        assert send(site.address, "POST", PLAY, hoarder, {"bot": "hoard-0"}).status == 429


def test_many_waiting_requests_end_the_oldest_ones(server: ServerUnderTest) -> None:
    with site_of(server.address, play=PlaySettings(most_requests=2)) as site, ThreadPoolExecutor(3) as pool:
        (bot,) = bots(site, server, "waiting")
        answers = [pool.submit(bot.turns) for _ in range(3)]
        first = next(as_completed(answers, PATIENCE))
        assert first.result().document["turns"] == []
        assert bot.leave().status == 204
        assert sorted(answer.result(PATIENCE).status for answer in answers) == [200, 410, 410]


def test_games_run_on_next_to_500_idle_sessions(server: ServerUnderTest, organiser: Organiser) -> None:
    limits = PlaySettings(most=502, address_most=502, idle=120.0)
    with site_of(server.address, play=limits, limits=SiteLimits(address_requests=1_000)) as site:
        crowd = [server.token(f"crowd-{number}") for number in range(2)]
        with ThreadPoolExecutor(8) as pool:
            idle = [
                pool.submit(HttpBot, site.address, token, f"idle-{owner}-{number}")
                for owner, token in enumerate(crowd)
                for number in range(250)
            ]
            for session in idle:
                session.result(PATIENCE)
        pair = bots(site, server, "busy-a", "busy-b")
        assert send(site.address, "POST", PLAY, crowd[0], {"bot": "one-more"}).status == 429
        bots(site, server, "late")
        time = types_pb2.TimeControl(move_us=20_000_000)
        cup = organiser.start("crowded", *pair, variant="connect4", games_per_pair=2, time=time)
        play_together(*pair, games=2)
        assert {game.termination for game in organiser.games(cup)} == {types_pb2.TERMINATION_LINE}
