"""Tools that create and change tournaments, challenges and tests."""

from typing import Annotated

from pydantic import Field

from noughts_proto.v1 import challenges_pb2, tests_pb2, tournaments_pb2, types_pb2
from noughts_referee.clock import parse_time_control
from noughts_server.agents.arguments import OptionalVariant, Repeat, Schedule, Test, Time, Tournament, UInt32, UInt64
from noughts_server.agents.tool_calls import Backend, Caller, full_name
from noughts_server.convert.times import time_control_message
from noughts_server.web.documents import Document, enum_value


class OrganisingTools:
    """Each tool calls one method of the server and returns its answer as JSON."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._server = backend.upstream
        self.changing = (
            self.join_tournament,
            self.start_tournament,
            self.pause_tournament,
            self.extend_tournament,
            self.stop_test,
            self.resume_test,
            self.create_tournament,
            self.create_challenge,
            self.create_test,
        )
        self.destroying = (
            self.withdraw_tournament,
            self.cancel_tournament,
            self.stop_repeating,
        )
        """Tools whose effect cannot be undone."""

    # Tournaments.

    async def create_tournament(
        self,
        caller: Caller,
        tournament: Annotated[
            str, Field(description="Name of the new tournament: 1 to 63 small letters, digits and `-`")
        ],
        title: Annotated[str | None, Field(description="Title for people, at most 200 characters")] = None,
        variant: Annotated[
            str | None,
            Field(
                description=(
                    "Name of the variant, e.g. `gomoku` or `mnk:7,6,4` (columns, rows, line length). Default: tictactoe"
                )
            ),
        ] = None,
        time: Time = None,
        schedule: Annotated[Schedule | None, Field(description="Format. Default: round_robin")] = None,
        games_per_pair: Annotated[UInt32 | None, Field(description="Games of each pair of entries. Default: 2")] = None,
        rounds: Annotated[
            UInt32 | None,
            Field(
                description=(
                    "Number of rounds of a Swiss or Danish tournament. Default: log2 of the entries, rounded up"
                )
            ),
        ] = None,
        rated: Annotated[bool | None, Field(description="Whether the games are rated. Default: true")] = None,
        repeat: Annotated[
            Repeat | None,
            Field(
                description=(
                    "`weekly`: the server opens a new season with the same entries each week. "
                    "Default: never. Not for a ladder"
                )
            ),
        ] = None,
    ) -> Document:
        """Create a tournament that bots can join until it starts."""
        settings = tournaments_pb2.Tournament(
            name=full_name("tournaments", tournament),
            title=title or "",
            variant=variant or "",
            time=_time(time),
            schedule=enum_value(tournaments_pb2.Schedule, schedule),
            games_per_pair=games_per_pair or 0,
            rounds=rounds or 0,
            rated=rated,
            repeat=enum_value(tournaments_pb2.Repeat, repeat),
        )
        request = tournaments_pb2.CreateTournamentRequest(tournament=settings)
        return await self._backend.ask(caller, self._server.tournaments.CreateTournament, request)

    async def join_tournament(
        self,
        caller: Caller,
        tournament: Tournament,
        bot: Annotated[
            str, Field(description="Name of a bot of yours, e.g. `mybot` (its newest version) or `mybot@2`")
        ],
        label: Annotated[
            str | None, Field(description="Name of the entry in the tournament. Default: the name of the bot")
        ] = None,
    ) -> Document:
        """Enter a bot of yours in a tournament: its newest version, or `BOT/versions/V`."""
        request = tournaments_pb2.JoinTournamentRequest(
            name=full_name("tournaments", tournament), bot=full_name("bots", bot), label=label or ""
        )
        return await self._backend.ask(caller, self._server.tournaments.JoinTournament, request)

    async def withdraw_tournament(
        self,
        caller: Caller,
        tournament: Tournament,
        label: Annotated[str, Field(description="Name of the entry in the tournament")],
    ) -> Document:
        """Withdraw an entry of yours. After the start it loses its remaining games."""
        request = tournaments_pb2.WithdrawTournamentRequest(name=full_name("tournaments", tournament), label=label)
        return await self._backend.ask(caller, self._server.tournaments.WithdrawTournament, request)

    async def start_tournament(self, caller: Caller, tournament: Tournament) -> Document:
        """Start a tournament of yours, or resume a paused one."""
        request = tournaments_pb2.StartTournamentRequest(name=full_name("tournaments", tournament))
        return await self._backend.ask(caller, self._server.tournaments.StartTournament, request)

    async def pause_tournament(self, caller: Caller, tournament: Tournament) -> Document:
        """Pause a tournament of yours: running games finish, no new ones start."""
        request = tournaments_pb2.PauseTournamentRequest(name=full_name("tournaments", tournament))
        return await self._backend.ask(caller, self._server.tournaments.PauseTournament, request)

    async def cancel_tournament(self, caller: Caller, tournament: Tournament) -> Document:
        """Cancel a tournament or challenge of yours for good; finished games are kept."""
        request = tournaments_pb2.CancelTournamentRequest(name=full_name("tournaments", tournament))
        return await self._backend.ask(caller, self._server.tournaments.CancelTournament, request)

    async def extend_tournament(
        self,
        caller: Caller,
        tournament: Tournament,
        games_per_pair: Annotated[UInt32 | None, Field(description="Number of games to add for each pair")] = None,
        rounds: Annotated[
            UInt32 | None, Field(description="Number of rounds to add to a Swiss or Danish tournament")
        ] = None,
    ) -> Document:
        """Add games for each pair, or rounds, to a tournament of yours that has begun.

        Without both, open a finished one for new entries.
        """
        request = tournaments_pb2.ExtendTournamentRequest(
            name=full_name("tournaments", tournament), games_per_pair=games_per_pair or 0, rounds=rounds or 0
        )
        return await self._backend.ask(caller, self._server.tournaments.ExtendTournament, request)

    async def stop_repeating(self, caller: Caller, tournament: Tournament) -> Document:
        """Stop a weekly tournament of yours from repeating, named by any season.

        A season that waits for its start is cancelled; a running one continues.
        """
        request = tournaments_pb2.StopRepeatingRequest(name=full_name("tournaments", tournament))
        return await self._backend.ask(caller, self._server.tournaments.StopRepeating, request)

    # Challenges and tests.

    async def create_challenge(
        self,
        caller: Caller,
        challenger: Annotated[str, Field(description="A bot of yours that is online, e.g. your connected player")],
        opponent: Annotated[str, Field(description="A bot that is online and accepts challenges, e.g. `rival`")],
        variant: OptionalVariant = None,
        games: Annotated[UInt32 | None, Field(description="Number of games, at most 100. Default: 2")] = None,
        seed: Annotated[
            UInt64 | None, Field(description="Source of the random numbers. Default: chosen at random")
        ] = None,
        opponent_begins: Annotated[
            bool | None, Field(description="Whether the opponent moves first in the first game. Default: false")
        ] = None,
        time: Time = None,
    ) -> Document:
        """Start a few unrated games of a bot of yours that is online against a bot that accepts challenges.

        Sides alternate.
        """
        request = challenges_pb2.CreateChallengeRequest(
            challenger=full_name("bots", challenger),
            opponent=full_name("bots", opponent),
            variant=variant or "",
            games=games or 0,
            seed=seed,
            opponent_begins=opponent_begins or False,
            time=_time(time),
        )
        return await self._backend.ask(caller, self._server.challenges.CreateChallenge, request)

    async def create_test(
        self,
        caller: Caller,
        new_version: Annotated[
            str, Field(description="The version to test, e.g. `mybot@2`. Without a version: the newest")
        ],
        base_version: Annotated[
            str,
            Field(
                description=(
                    "The version to compare with, e.g. `mybot@1`: a bot of yours, "
                    "or one that is online and open to tests of others"
                )
            ),
        ],
        variant: OptionalVariant = None,
        time: Time = None,
        sprt: Annotated[
            str | None,
            Field(
                description="Sequential test, e.g. `elo0=0,elo1=5`. Default: this one if `games_per_pair` is not given"
            ),
        ] = None,
        games_per_pair: Annotated[
            UInt32 | None,
            Field(description="Number of games; with `sprt` its limit. Default: 100,000 with `sprt`"),
        ] = None,
        concurrency: Annotated[
            UInt32 | None,
            Field(description="Number of concurrent games. Default: as many as the measured pace of the bots allows"),
        ] = None,
    ) -> Document:
        """Test whether a version of your bot is stronger than another (`BOT@2`, `BOT@1`): unrated pairs of games until
        a sequential test (`sprt`, default: `elo0=0,elo1=5`) is decided, or `games_per_pair` games."""
        settings = tournaments_pb2.Tournament(
            variant=variant or "",
            time=_time(time),
            sprt=sprt or "",
            games_per_pair=games_per_pair or 0,
            concurrency=concurrency or 0,
        )
        test = tests_pb2.Test(
            new_version=full_name("bots", new_version),
            base_version=full_name("bots", base_version),
            tournament=settings,
        )
        return await self._backend.ask(caller, self._server.tests.CreateTest, tests_pb2.CreateTestRequest(test=test))

    async def stop_test(self, caller: Caller, test: Test) -> Document:
        """Stop a test of yours; it can be resumed."""
        request = tests_pb2.StopTestRequest(name=full_name("tests", test))
        return await self._backend.ask(caller, self._server.tests.StopTest, request)

    async def resume_test(self, caller: Caller, test: Test) -> Document:
        """Resume a stopped test."""
        request = tests_pb2.ResumeTestRequest(name=full_name("tests", test))
        return await self._backend.ask(caller, self._server.tests.ResumeTest, request)


def _time(text: str | None) -> types_pb2.TimeControl | None:
    """Return the time control of a text such as `60+0.5`. Raises TimeControlError."""
    return time_control_message(parse_time_control(text)) if text is not None else None
