"""The command `noughts play`."""

import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from noughts_bots.reference.specs import make_bot, parse_spec, unique_labels
from noughts_referee.clock import TimeControl
from noughts_referee.rules import Variant
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.game import (
    AnyVariantOption,
    GamesFileOption,
    OpeningRuleOption,
    SeedOption,
    own_variant,
    read_seed,
    read_variant,
)
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.time import TimeOfPlayerOption, read_time
from noughts_server.cli.screens.play.match import Match, Participant
from noughts_server.cli.screens.play.status_line import score_line
from noughts_server.cli.screens.shown_game import YOU
from noughts_server.competition.tournament_settings import TournamentSettings

if TYPE_CHECKING:
    from noughts_server.store.games.exports import ExportedGame

_DEFAULT_SPEC = "nextstep"
_PERSON = "person"
_SERVERS_TIME = "900+10"


class First(StrEnum):
    """The values of --first."""

    ME = "me"
    OPPONENT = "opponent"
    RANDOM = "random"
    LOT = "lot"
    """The former name of RANDOM."""


class Mark(StrEnum):
    """The values of --mark."""

    X = "X"
    O = "O"  # noqa: E741  # the name of the mark
    RANDOM = "random"
    LOT = "lot"
    """The former name of RANDOM."""


@command(
    example="""
$ noughts play first-free --first me --mark X
...
   a       b       c ...
...
2      │[     ]│
...
 Your turn (X).
...
""",
    extra="play",
)
def play(
    spec: Annotated[
        str,
        Argument(
            metavar="SPEC",
            help="Reference bot, or `person`: two people at this keyboard. Default: `nextstep`",
            autocompletion=completion.specs,
        ),
    ] = "",
    variant: AnyVariantOption = None,
    opening_rule: OpeningRuleOption = None,
    first: Annotated[
        First | None,
        Option(
            "--first",
            metavar="<me|opponent|random>",
            help="Player who starts. Default: random, then alternating",
            rich_help_panel="Game",
        ),
    ] = None,
    mark: Annotated[
        Mark,
        Option(
            "--mark",
            metavar="<X|O|random>",
            help="Your mark on the screen, whichever side moves first",
            rich_help_panel="Game",
        ),
    ] = Mark.RANDOM,
    opponent: Annotated[
        str | None,
        Option(
            "--with",
            metavar="bot:NAME",
            autocompletion=completion.opponents,
            help="Bot or person to challenge on a server; must be online",
        ),
    ] = None,
    wait: Annotated[bool, Option("--wait", help="Wait on a server until someone challenges you")] = False,
    name: Annotated[str, Option("--name", metavar="NAME", help="Your name on a server. Default: OWNER-person")] = "",
    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=1,
            max=100,
            help="Games per pair (you and the --with bot)",
            rich_help_panel="Game",
        ),
    ] = 1,
    time: Annotated[
        str | None,
        Option(
            "--time",
            metavar="T",
            help="Clock (--with; default: 900+10), or the bot's limit, e.g. `2/move`",
            rich_help_panel="Time control",
        ),
    ] = None,
    time_of: TimeOfPlayerOption = None,
    seed: SeedOption = None,
    games_file: GamesFileOption = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Play unrated games against a bot or another person, on a board in the terminal.

    Choose a cell with the arrow keys and Enter, coordinates such as h8, the numeric keypad on 3x3, or the mouse. `u`
    takes back a move, `n` starts a new game, `q` quits, `?` shows all keys. With --with or --wait you play on a
    server, which treats you as a slow bot.
    """
    parsed_variant = read_variant(variant or _own_variant(spec), opening_rule)
    parsed_seed = read_seed(seed, secret=opponent is not None)
    own_mark = mark.value if mark in (Mark.X, Mark.O) else None
    if opponent is not None or wait:
        _check_online(spec, opponent, wait=wait, first=first, games_file=games_file)
        _check_terminal()
        from noughts_server.cli.screens.play.online import OnlineMatchPlan, play_online

        if time_of and opponent is None:
            raise UsageProblem("--time-of: works only with --with, not with --wait: the challenger chooses the times")
        settings = TournamentSettings(
            variant=parsed_variant.name,
            time=read_time(time or _SERVERS_TIME),
            games_per_pair=games,
            seed=parsed_seed,
        )
        _report(
            output, play_online(OnlineMatchPlan(opponent, settings, time_of), name, own_mark, server), at_server=True
        )
        return
    if time_of:
        raise UsageProblem("--time-of: works only with --with; use --time to limit the bot: you have no clock here")
    if server.server is not None:
        raise UsageProblem("--server: got no opponent, expected --with bot:NAME or --wait as well")
    if parsed_variant.agreement:
        raise UsageProblem(
            f"--opening-rule: got {parsed_variant.agreement}, expected pro or long-pro on one machine",
            "Leave it out, or play on a server (--with, --wait), which supports this rule.",
        )
    move_us = _move_limit(time)
    players, bot = _participants(spec or _DEFAULT_SPEC, parsed_variant)
    _check_terminal()
    from noughts_server.cli.screens.application import run_mode
    from noughts_server.cli.screens.play.controllers import BotGameController, GameController
    from noughts_server.cli.screens.play.mode import PlayMode

    always_first = {First.ME: 0, First.OPPONENT: 1}.get(first or First.RANDOM)
    match = Match(parsed_variant, players, parsed_seed, always_first, own_mark)
    controller = GameController(match) if bot is None else BotGameController(match, bot, move_us)
    with ExitStack() as closing:
        if bot is not None:
            bot.prepare()
            closing.callback(bot.close)
        closing.callback(controller.close)
        if games_file is None:
            run_mode(PlayMode(controller))
        else:
            # Imported before the first game, so that a missing package is reported before games are played, not after.
            from noughts_server.records.games_file import GamesFile
            from noughts_server.store.games.exports import ExportedGame

            with GamesFile(games_file) as file:
                run_mode(PlayMode(controller))
                file.write(_exported_games(match, ExportedGame))
    _report(output, match)


def _check_online(spec: str, opponent: str | None, *, wait: bool, first: First | None, games_file: Path | None) -> None:
    if opponent is not None and wait:
        raise UsageProblem("--wait: got --with as well, expected only one of the two")
    if spec:
        raise UsageProblem(
            f"SPEC: got {spec!r} for a game on a server, expected the opponent after --with",
            "Connect the reference bot first: noughts bot run SPEC",
        )
    if first is not None:
        raise UsageProblem("--first: not available on a server, where the challenger moves first in the first game")
    if games_file is not None:
        raise UsageProblem(
            "-o: not available on a server, which stores the games itself", "Read them there: noughts bot games NAME."
        )


def _check_terminal() -> None:
    """Raise Problem without a terminal. The screen is drawn on stderr, so that stdout is free for the result."""
    streams = {"stdin": sys.stdin, "stderr": sys.stderr}
    for stream, file in streams.items():
        if not file.isatty():
            raise Problem(
                f"noughts play needs a terminal, and {stream} is not one",
                "Use a terminal; from a pipe, `noughts bot ask` suggests moves and `noughts match` plays games.",
            )


def _move_limit(time: str | None) -> int:
    """Return the bot's time limit for each move in microseconds, 0 for none. Raises UsageProblem."""
    control: TimeControl = read_time(time or "none")
    if control.bank_us or control.increment_us:
        raise UsageProblem(
            f"--time {time!r}: got a base time without a server, expected `none` or a limit such as `2/move`",
            "Write a limit for the bot only, e.g. 2/move: you have no clock here.",
        )
    return control.move_us


def _participants(spec: str, variant: Variant) -> tuple[tuple[Participant, Participant], Any]:
    """Return both participants, and the bot; None instead of the bot if two persons play."""
    if spec == _PERSON:
        return (Participant("Person A", person=True), Participant("Person B", person=True)), None
    parsed = parse_spec(spec)
    bot = make_bot(parsed, variant)
    return (Participant(YOU, person=True), Participant(unique_labels((parsed,))[0], person=False)), bot


def _own_variant(spec: str) -> str:
    """Return the variant to play if the user names none: tictactoe, unless the bot does not play it."""
    return own_variant(() if spec in ("", _PERSON) else make_bot(parse_spec(spec)).variants).name


def _exported_games(match: Match, record: "type[ExportedGame]") -> "list[ExportedGame]":
    """Return the games that are over, as rows of the file of games."""
    names = [player.name.lower() if player.name == YOU else player.name for player in match.players]
    rows = []
    for game in match.games:
        row = record(
            variant=match.variant.name,
            first=names[game.first],
            second=names[1 - game.first],
            seed=game.seed,
            moves=list(game.moves),
            times_us=[],
            result=str(game.outcome.result),
            termination=str(game.outcome.termination),
        )
        rows.append(row)
    return rows


def _report(output: OutputOptions, match: Match, *, at_server: bool = False) -> None:
    """Print the score of the match, after the screen has closed."""
    games = match.score.games
    document = {
        "games": games,
        "you": {"wins": match.score.wins, "draws": match.score.draws, "losses": match.score.losses},
        "opponent": match.players[1].name,
        "variant": match.variant.name,
        **printing.seed_document(match.seed),
    }
    seed = "" if at_server else f"; seed {match.seed}"
    summary = f"{match.variant.name}, {printing.count(games, 'game')}: {score_line(match)}{seed}"
    output.show(document, printing.printable(summary) if games else "No game was finished.")
