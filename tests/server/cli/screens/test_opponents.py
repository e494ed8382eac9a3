"""Opponents of a person who plays: a bot in this process, or a bot or person on a server."""

import asyncio
from pathlib import Path

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.first_free import FirstFree
from noughts_bots.reference.learner import Learner, load_learnt
from noughts_bots.sdk.bot import GameEnd, GameInfo
from noughts_referee.rules import Position, Result, Termination, parse_variant
from noughts_server.cli.screens.play.match import Match, Participant
from noughts_server.cli.screens.play.opponents import BotSeating
from noughts_server.cli.screens.play.person_bot import OnlineSeating
from tests.support.patience import PATIENCE

TICTACTOE = parse_variant("tictactoe")
YOU, BOT = Participant("You", person=True), Participant("bot", person=False)


class Hearing(FirstFree):
    """Notes what it hears of its games."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, Result, tuple[int, ...]]] = []

    def start(self, game: GameInfo) -> None:
        assert (game.variant, game.opponent) == (TICTACTOE, "You")
        self.side = game.side

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self.heard.append((self.side, end.result, end.moves))


async def plays(seating: BotSeating, *cells: int) -> None:
    """The person's moves, each after the bot's reply."""
    for cell in cells:
        async with asyncio.timeout(PATIENCE):
            while not seating.match.players[seating.match.turn].person:
                replied = asyncio.Event()
                seating.changed = replied.set
                await replied.wait()
        seating.play(cell)


async def evening(bot: CachingBot) -> None:
    """A person wins, takes that back, wins all the same; then a game is broken off, and one is won at its end."""
    seating = BotSeating(Match(TICTACTOE, (YOU, BOT), always_first=0), bot)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(seating.run())
        await plays(seating, 4, 2, 6)
        seating.undo()
        await plays(seating, 3, 6)
        seating.new()
        await plays(seating, 8)
        seating.new()
        await plays(seating, 4, 2, 6)
        running.cancel()
    seating.close()


def test_bot_hears_how_its_games_ended_once_they_cannot_be_taken_back() -> None:
    bot = Hearing()
    asyncio.run(evening(bot))
    assert bot.heard == [
        (1, Result.FIRST_WINS, (4, 0, 2, 1, 3, 5, 6)),
        (1, Result.FIRST_WINS, (4, 0, 2, 1, 6)),
    ]


def test_learner_learns_from_games_with_people(tmp_path: Path) -> None:
    file = tmp_path / "it.match"
    bot = Learner(file, learn=True)
    seating = BotSeating(Match(TICTACTOE, (YOU, BOT), always_first=0), bot)
    bot.prepare()
    for cell in (4, 0, 2, 1, 6):
        seating.match.play(cell)
    seating.close()
    bot.close()
    learnt = load_learnt(file)
    assert learnt.games == 1
    # Its last move lost: the person's reply to it completed a line.
    position = Position.after(TICTACTOE, (4, 0, 2))
    assert learnt.rows[position.own, position.opponent].ratings[1] == 0


def test_a_resignation_loses_no_game_that_began_later() -> None:
    async def leaves() -> tuple[OnlineSeating, list[asyncio.Future[int]]]:
        seating = OnlineSeating(Match(TICTACTOE, (YOU, BOT)), "Waiting.")
        answers: list[asyncio.Future[int]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
        one, two = (GameInfo(f"games/{number}", TICTACTOE, number, "bot") for number in range(2))
        seating.start_game(one)
        seating.start_turn([], (900.0, 900.0), answers[0])
        seating.give_up()
        seating.end_game(one, GameEnd(Result.SECOND_WINS, Termination.RESIGNED, ()))
        seating.start_game(two)
        seating.start_turn([4], (900.0, 900.0), answers[1])
        return seating, answers

    seating, (first, second) = asyncio.run(leaves())
    assert first.exception() is not None
    assert not second.done()
    assert (seating.ended_games, seating.match.score.losses) == (1, 1)


def test_how_to_be_challenged_is_not_told_any_more_once_a_game_has_begun() -> None:
    seating = OnlineSeating(Match(TICTACTOE, (YOU, BOT)), "Waiting.")
    seating.notice = "noughts play --with bot:ada-person"
    seating.start_game(GameInfo("games/1", TICTACTOE, 0, "bot"))
    assert seating.notice == ""
