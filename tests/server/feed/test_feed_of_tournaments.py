"""The live feed of tournaments and of featured games, watched over the network while real bots play."""

from collections import Counter

from noughts_proto.v1 import challenges_pb2, tournaments_pb2
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.feed.observer import PLAYED, GameEvent, ScheduledGameKey
from tests.support.client import bearer

from .cinema import CUP, GAME, WatchedServer


async def test_messages_of_a_tournament_are_serialised_once_for_all_watchers(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=False, games_per_pair=300, concurrency=8):
        watching = [cinema.watch(CUP) for _ in range(20)]
        for watcher in watching:
            await watcher.read_to_the_end()
    counts = cinema.client.server.feed.counts
    increments = max(watcher.sequence for watcher in watching)
    # A snapshot for each watcher, and each increments message once.
    assert counts.events <= increments + len(watching)
    assert counts.frames == sum(len(watcher.messages) for watcher in watching)
    assert (counts.watchers, counts.resyncs) == (0, 0)
    cup = await cinema.client.get()
    for watcher in watching:
        tournament = watcher.view.tournaments[CUP]
        assert (tournament.state, tournament.games_done, tournament.games_running) == (
            tournaments_pb2.TOURNAMENT_STATE_FINISHED,
            300,
            0,
        )
        assert [row.standing for row in tournament.standings] == list(cup.standings)
        assert [row.rank for row in tournament.standings] == [1, 2]


async def test_a_tournaments_boards_carry_every_ply(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=False, games_per_pair=200, concurrency=8):
        watching = await cinema.watch(CUP).read_to_the_end()
        boards = {}
        for message in watching.messages:
            for game in (*message.snapshot.games, *message.increments.games):
                boards[game.name] = list(enumerate(game.moves))
        ended = {end.game for message in watching.messages for end in message.increments.ends}
        assert ended
        for name in ended:
            stored = await cinema.game(int(name.rpartition("/")[2]))
            assert boards[name] + watching.plies(name) == list(enumerate(stored.moves))
        assert max(len(message.snapshot.games) for message in watching.messages) <= 4


async def test_a_frame_has_only_the_newest_state_of_a_board(cinema: WatchedServer, token: str) -> None:
    bus, slot = cinema.client.server.bus, ScheduledGameKey(1, 1)

    def publish(*events: pb.WatchedGame | pb.WatchedPly) -> None:
        for event in events:
            bus.publish(PLAYED, GameEvent(slot, event))

    async with cinema.playing(token, gated=True, games_per_pair=1):
        watching = cinema.watch(CUP)
        while GAME not in watching.view.games:
            await watching.read_message()
        # In a cluster, events can be lost. A new state of the game replaces them, possibly twice in one frame.
        five, seven = (pb.WatchedGame(name=GAME, moves=range(plies), times_us=[1] * plies) for plies in (5, 7))
        ply = pb.WatchedPly(game=GAME, ply=7, cell=8, time_us=1)
        publish(five, pb.WatchedPly(game=GAME, ply=5, cell=5), seven, ply)
        while len(watching.view.games[GAME].moves) < 8:
            await watching.read_message()
        increments = watching.messages[-1].increments
        assert [len(game.moves) for game in increments.games] == [7]
        assert [watched_ply.cell for watched_ply in increments.plies] == [8]
        assert list(watching.view.games[GAME].moves) == [*range(7), 8]


async def test_pause_and_cancel_are_seen_and_cancel_ends_the_stream(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=10, concurrency=1):
        watching = cinema.watch(CUP)
        await watching.read_message()
        await cinema.client.pause(token)
        while watching.view.tournaments[CUP].state != tournaments_pb2.TOURNAMENT_STATE_PAUSED:
            await watching.read_message()
        await cinema.client.cancel(token)
        await watching.read_to_the_end()
        assert watching.view.tournaments[CUP].state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert (await cinema.watch(CUP).read_to_the_end()).kinds() == ["snapshot"]


async def test_watched_tournament_stays_after_its_last_entry_has_withdrawn(cinema: WatchedServer, token: str) -> None:
    async with cinema.bots(token):
        await cinema.client.create(token)
        await cinema.client.join(token, "ada")
        watching = cinema.watch(CUP)
        await watching.read_message()
        assert len(watching.view.tournaments[CUP].standings) == 1
        withdrawal = tournaments_pb2.WithdrawTournamentRequest(name=CUP, label="ada")
        await cinema.client.tournaments.WithdrawTournament(withdrawal, metadata=bearer(token))
        while watching.view.tournaments[CUP].standings:
            await watching.read_message()
        assert watching.view.tournaments[CUP].state == tournaments_pb2.TOURNAMENT_STATE_OPEN


async def test_featured_shows_running_tournaments_and_their_boards(cinema: WatchedServer, token: str) -> None:
    watching = cinema.watch("featured")
    assert not (await watching.read_message()).snapshot.tournaments
    async with cinema.playing(token, gated=True, games_per_pair=10, concurrency=8):
        while len(watching.view.games) < 4:
            await watching.read_message()
        assert set(watching.view.tournaments) == {CUP}
        await cinema.client.cancel(token)
        while watching.view.tournaments[CUP].state != tournaments_pb2.TOURNAMENT_STATE_CANCELLED:
            await watching.read_message()
        while CUP in watching.view.tournaments:
            await watching.read_message()
        assert not watching.view.games


async def test_featured_leaves_challenges_out(cinema: WatchedServer, token: str) -> None:
    watching = cinema.watch("featured")
    await watching.read_message()
    request = challenges_pb2.CreateChallengeRequest(
        challenger="bots/ada", opponent="bots/bob", variant="tictactoe", games=1
    )
    async with cinema.bots(token):
        created = await cinema.client.challenges.CreateChallenge(request, metadata=bearer(token))
        game = f"{created.tournament.name}/games/1"
        challenge_watcher = cinema.watch(game)
        while challenge_watcher.view.games.get(game, pb.WatchedGame()).state != pb.GAME_STATE_RUNNING:
            await challenge_watcher.read_message()
        await cinema.client.create(token, games_per_pair=1)
        for name in ("ada", "bob"):
            await cinema.client.join(token, name)
        await cinema.client.start(token)
        while GAME not in watching.view.games:
            await watching.read_message()
        assert {*watching.view.games, *watching.view.tournaments} == {GAME, CUP}


async def test_featured_boards_are_shared_by_tournaments(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=8, concurrency=8):
        await cinema.client.create(token, "rival", games_per_pair=8, concurrency=8)
        for name in ("ada", "bob"):
            await cinema.client.join(token, name, "rival")
        await cinema.client.start(token, "rival")
        boards = await cinema.featured_boards({CUP: 2, "tournaments/rival": 2})
        slugs = sorted(game.name.split("/")[1] for game in boards)
        assert slugs == ["cup", "cup", "rival", "rival"]


async def test_featured_boards_are_shared_by_variants(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=8, concurrency=8):
        for slug, variant in (("drop", "connect4"), ("rival", "tictactoe")):
            await cinema.client.create(token, slug, variant=variant, games_per_pair=8, concurrency=8)
            for name in ("ada", "bob"):
                await cinema.client.join(token, name, slug)
            await cinema.client.start(token, slug)
        boards = await cinema.featured_boards({CUP: 2, "tournaments/rival": 2, "tournaments/drop": 2})
        assert Counter(game.variant for game in boards) == {"tictactoe": 2, "connect4": 2}


async def test_each_tournament_has_a_board_before_any_has_two(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=8, concurrency=8):
        for slug, variant in (("drop", "connect4"), ("rival", "tictactoe"), ("third", "tictactoe")):
            await cinema.client.create(token, slug, variant=variant, games_per_pair=8, concurrency=8)
            for name in ("ada", "bob"):
                await cinema.client.join(token, name, slug)
            await cinema.client.start(token, slug)
        slugs = ("cup", "drop", "rival", "third")
        boards = await cinema.featured_boards({f"tournaments/{slug}": 2 for slug in slugs})
        assert sorted(game.name.split("/")[1] for game in boards) == sorted(slugs)


async def test_boards_are_shared_by_the_pairs_of_a_tournament(cinema: WatchedServer, token: str) -> None:
    names = ("ada", "bob", "cleo", "dora")
    async with cinema.bots(token, names):
        schedule = tournaments_pb2.SCHEDULE_KNOCKOUT
        await cinema.client.create(token, schedule=schedule, games_per_pair=6, concurrency=12)
        for name in names:
            await cinema.client.join(token, name)
        await cinema.client.start(token)
        boards = await cinema.featured_boards({CUP: 12})
        pairs = Counter(frozenset((game.first, game.second)) for game in boards)
        assert sorted(pairs.values()) == [2, 2]
