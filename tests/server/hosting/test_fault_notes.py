"""The stderr of a submitted bot is stored with its lost games. Its owner and the organiser can read it."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from noughts_proto.v1 import challenges_pb2, games_pb2
from noughts_referee.rules import Result, Termination
from noughts_server.hosting.fault_notes import MOST_NOTES
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import game_notes
from noughts_server.store.games.notes import GameNote, add_notes, has_crashed, output_until
from tests.server.hosting.submitting import ALL_SCOPES, FIRST_CELL_BOT, hosting, submit, wait_for
from tests.support.arena import open_arena
from tests.support.client import Client, bearer
from tests.support.site import Site, site_of

FAULTY = """
import os, sys
from noughts_bots import Bot

class Mine(Bot):
    def start(self, game):
        self.is_trial = "sound" not in game.opponent

    def choose(self, position):
        if self.is_trial:
            return position.free[0]
        print("thinking about", position.free, file=sys.stderr, flush=True)
        {}
"""


async def notes_of(client: Client, number: int, token: str = "", slug: str = "cup") -> dict[str, str]:
    """Return the notes of a game that a caller with this token can read, by the name of the bot."""
    request = games_pb2.GetGameRequest(name=f"tournaments/{slug}/games/{number}")
    answer = await client.games.GetGame(request, metadata=bearer(token) if token else None)
    names = {1: answer.game.first, 2: answer.game.second}
    return {names[note.side]: note.text for note in answer.notes}


@pytest.mark.parametrize(
    "statement, deed",
    [
        ("raise ValueError('no idea')", "ValueError: no idea"),
        ("os._exit(7)", "ended with exit code 7"),
    ],
)
async def test_owner_and_organiser_read_why_a_game_was_lost(tmp_path: Path, statement: str, deed: str) -> None:
    async with hosting(tmp_path) as (client, _):
        author, organiser, stranger = [await client.token(name, *ALL_SCOPES) for name in ("ann", "olga", "eve")]
        await submit(client, author, "faulty", FAULTY.format(statement))
        await submit(client, stranger, "sound", FIRST_CELL_BOT)
        await client.create(organiser, games_per_pair=2)
        await client.join(author, "faulty")
        await client.join(stranger, "sound")
        await client.start(organiser)
        await client.until(lambda cup: cup.games_done == 2)
        await wait_for(lambda: notes_of(client, 1, author), bool)
        for token in (author, organiser):
            notes = await notes_of(client, 1, token)
            assert list(notes) == ["faulty"]
            assert deed in notes["faulty"]
            assert "thinking about" in notes["faulty"]
        assert await notes_of(client, 1, stranger) == {}
        assert await notes_of(client, 1) == {}
        with site_of(client.server.address) as site:
            await asyncio.to_thread(assert_page_has_note, site, author, stranger)


def assert_page_has_note(site: Site, author: str, stranger: str) -> None:
    """Assert that the author reads the note on the page and as a file, and that the stranger does not."""
    path = "/tournaments/cup/games/1"
    link = f"{path}/notes/first.txt"
    page = site.get(path, cookie=f"noughts_token={author}").text
    assert "What faulty printed" in page
    assert f'href="{link}"' in page
    file = site.get(link, cookie=f"noughts_token={author}")
    assert "thinking about" in file.text
    assert file.headers["content-disposition"] == 'attachment; filename="cup-1-first.txt"'
    assert "standard error" not in site.get(path, cookie=f"noughts_token={stranger}").text
    assert site.get(link, cookie=f"noughts_token={stranger}").status == 404


async def test_a_bot_that_fails_in_each_game_has_few_notes(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("ann", *ALL_SCOPES)
        await submit(client, token, "faulty", FAULTY.format("raise ValueError('no idea')"))
        await submit(client, token, "sound", FIRST_CELL_BOT)
        await client.create(token, games_per_pair=3 * MOST_NOTES)
        await client.join(token, "faulty")
        await client.join(token, "sound")
        await client.start(token)
        await client.until(lambda cup: cup.games_done == 3 * MOST_NOTES)
        await wait_for(lambda: client.server.store.read(count_notes), lambda count: count == MOST_NOTES)


async def test_challenger_does_not_read_what_the_other_bot_wrote(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        author, challenger = [await client.token(name, *ALL_SCOPES) for name in ("ann", "eve")]
        await submit(client, author, "faulty", FAULTY.format("os._exit(7)"))
        await submit(client, challenger, "sound", FIRST_CELL_BOT)
        request = challenges_pb2.CreateChallengeRequest(challenger="bots/sound", opponent="bots/faulty", games=1)
        created = await client.challenges.CreateChallenge(request, metadata=bearer(challenger))
        slug = created.tournament.name.removeprefix("tournaments/")
        await wait_for(lambda: client.get(slug), lambda challenge: challenge.games_done == 1)
        await wait_for(lambda: notes_of(client, 1, author, slug), bool)
        assert await notes_of(client, 1, challenger, slug) == {}


async def test_a_note_belongs_to_the_side_that_crashed(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        tournament = await arena.tournament(games_per_pair=1)
        (game,) = await arena.play(tournament)
        lost = game._replace(result=Result.SECOND_WINS, termination=Termination.CRASHED)
        await arena.commit([lost])
        notes = [GameNote(game.tournament, game.ordinal, side, "text") for side in (0, 1)]
        crashed = [await arena.store.read(partial(has_crashed, note=note)) for note in notes]
        assert crashed == [True, False]
        await arena.store.write(partial(add_notes, notes=[notes[0], notes[0]._replace(text="later text")]))
        assert arena.rows("SELECT side, text FROM game_notes") == [(0, "later text")]


def test_output_ends_with_the_last_line_that_names_the_exception() -> None:
    stderr = "game 1\nValueError: no idea\ngame 2\nValueError: no idea\ngame 3\n"
    assert output_until(stderr, "resigned: ValueError: no idea") == stderr.removesuffix("game 3\n")


def count_notes(connection: Connection) -> int:
    return len(connection.execute(game_notes.select()).all())
