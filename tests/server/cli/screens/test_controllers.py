"""Opponents of a person who plays: a bot in this process, or a bot or person on a server."""

import asyncio
from pathlib import Path

from noughts_bots.reference.first_free import FirstFree
from noughts_bots.reference.learner import Learner, load_learnt
from noughts_bots.reference.levels.bot import LevelBot
from noughts_bots.sdk.bot import GameEnd, GameInfo
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_referee.rules import Position, Result, Termination, parse_variant
from noughts_server.cli.screens.play.controllers import BotGameController
from noughts_server.cli.screens.play.match import Match, Participant
from noughts_server.cli.screens.play.person_bot import OnlineGameController
from tests.support.patience import PATIENCE

TICTACTOE = parse_variant("tictactoe")
YOU, BOT = Participant("You", person=True), Participant("bot", person=False)


class RecordingBot(FirstFree):
    """Records its side, the result and the moves of each game that ends."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[tuple[int, Result, tuple[int, ...]]] = []

    def start(self, game: GameInfo) -> None:
        assert (game.variant, game.opponent) == (TICTACTOE, "You")
        self.side = game.side

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self.ends.append((self.side, end.result, end.moves))


async def play_cells(controller: BotGameController, *cells: int) -> None:
    """Play the moves of the person. Before each one, wait for the bot's reply."""
    for cell in cells:
        async with asyncio.timeout(PATIENCE):
            while not controller.match.players[controller.match.turn].person:
                position_changed = asyncio.Event()
                controller.on_change = position_changed.set
                await position_changed.wait()
        controller.play(cell)


async def play_three_games(bot: BuiltInBot) -> None:
    """Play three games. In the first, the person wins, undoes the win and wins again; the second has no end."""
    controller = BotGameController(Match(TICTACTOE, (YOU, BOT), always_first=0), bot)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(controller.run())
        await play_cells(controller, 4, 2, 6)
        controller.undo()
        await play_cells(controller, 3, 6)
        controller.new()
        await play_cells(controller, 8)
        controller.new()
        await play_cells(controller, 4, 2, 6)
        running.cancel()
    controller.close()


def test_bot_learns_of_an_end_only_when_it_cannot_be_undone() -> None:
    bot = RecordingBot()
    asyncio.run(play_three_games(bot))
    assert bot.ends == [
        (1, Result.FIRST_WINS, (4, 0, 2, 1, 3, 5, 6)),
        (1, Result.FIRST_WINS, (4, 0, 2, 1, 6)),
    ]


def test_a_bot_without_scores_plays() -> None:
    async def reply() -> list[int]:
        controller = BotGameController(Match(TICTACTOE, (YOU, BOT), always_first=0), LevelBot(elo=1500))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(controller.run())
            await play_cells(controller, 4)
            await play_cells(controller, controller.match.position.free[0])
            running.cancel()
        return controller.match.moves

    assert len(asyncio.run(reply())) >= 3


def test_learner_learns_from_games_with_people(tmp_path: Path) -> None:
    file = tmp_path / "learner.table"
    bot = Learner(file, learn=True)
    controller = BotGameController(Match(TICTACTOE, (YOU, BOT), always_first=0), bot)
    bot.prepare()
    for cell in (4, 0, 2, 1, 6):
        controller.match.play(cell)
    controller.close()
    bot.close()
    learnt = load_learnt(file)
    assert learnt.games == 1
    # The person's reply to the learner's last move completed a line, so the learner rates that move 0.
    position = Position.after(TICTACTOE, (4, 0, 2))
    assert learnt.rows[position.own, position.opponent].ratings[1] == 0


def test_a_resignation_does_not_end_a_later_game() -> None:
    async def resign_and_start_again() -> tuple[OnlineGameController, list[asyncio.Future[int]]]:
        controller = OnlineGameController(Match(TICTACTOE, (YOU, BOT)), "Waiting.")
        answers: list[asyncio.Future[int]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
        one, two = (GameInfo(f"games/{number}", TICTACTOE, number, "bot") for number in range(2))
        controller.start_game(one)
        controller.start_turn([], (900.0, 900.0), answers[0])
        controller.give_up()
        controller.end_game(one, GameEnd(Result.SECOND_WINS, Termination.RESIGNED, ()))
        controller.start_game(two)
        controller.start_turn([4], (900.0, 900.0), answers[1])
        return controller, answers

    controller, (first, second) = asyncio.run(resign_and_start_again())
    assert first.exception() is not None
    assert not second.done()
    assert (controller.ended_games, controller.match.score.losses) == (1, 1)


def test_notice_about_challenges_disappears_when_a_game_begins() -> None:
    controller = OnlineGameController(Match(TICTACTOE, (YOU, BOT)), "Waiting.")
    controller.notice = "noughts play --with bot:ada-person"
    controller.start_game(GameInfo("games/1", TICTACTOE, 0, "bot"))
    assert controller.notice == ""
