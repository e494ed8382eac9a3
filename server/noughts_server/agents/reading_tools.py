"""Tools that read what the server stores: tournaments, games, tests, bots and ratings."""

from typing import Annotated

from pydantic import Field

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, status_pb2, tests_pb2, tournaments_pb2, types_pb2
from noughts_server.agents.arguments import (
    Bot,
    FaultsOnly,
    GameName,
    MinGames,
    NumberOfGame,
    OnlineFilter,
    OptionalVariant,
    OwnerFilter,
    PageSize,
    PageToken,
    ResultFilter,
    RetiredIncluded,
    SearchFilter,
    StateFilter,
    TerminationFilter,
    Test,
    TimeClass,
    Tournament,
    TournamentOfGame,
    UInt31,
    UInt32,
    UInt64,
    Variant,
)
from noughts_server.agents.tool_calls import Backend, Caller, full_name, tournament_and_number
from noughts_server.core.resource_names import game_name, tournament_name
from noughts_server.web.documents import Document, enum_value


class ReadingTools:
    """Each tool calls one method of the server and returns its answer as JSON."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._server = backend.upstream
        self.tools = (
            self.get_status,
            self.list_tournaments,
            self.get_tournament,
            self.get_crosstable,
            self.list_seasons,
            self.list_games_of_tournament,
            self.get_game,
            self.list_tests,
            self.get_test,
            self.list_bots,
            self.get_bot,
            self.list_games_of_bot,
            self.list_bot_ratings,
            self.get_rating_history,
            self.get_head_to_head,
            self.get_bot_statistics,
            self.list_rating_lists,
            self.get_leaderboard,
            self.get_batch_ratings,
            self.get_opening_moves,
        )

    async def get_status(self, caller: Caller) -> Document:
        """Return how the server is doing."""
        return await self._backend.ask(caller, self._server.status.GetStatus, status_pb2.GetStatusRequest())

    # Tournaments and their games.

    async def list_tournaments(
        self,
        caller: Caller,
        page_size: PageSize = None,
        page_token: PageToken = None,
        challenges: Annotated[bool | None, Field(description="List challenges instead of tournaments")] = None,
        owner: OwnerFilter = None,
        search: SearchFilter = None,
        state: StateFilter = None,
    ) -> Document:
        """List tournaments, newest first, without their standings."""
        request = tournaments_pb2.ListTournamentsRequest(
            page_size=page_size or 0,
            page_token=page_token or "",
            challenges=challenges or False,
            owner=owner or "",
            search=search or "",
            state=enum_value(tournaments_pb2.TournamentState, state),
        )
        return await self._backend.ask(caller, self._server.tournaments.ListTournaments, request)

    async def get_tournament(self, caller: Caller, tournament: Tournament) -> Document:
        """Return a tournament with its settings, state and standings."""
        request = tournaments_pb2.GetTournamentRequest(name=full_name("tournaments", tournament))
        answer = await self._backend.ask(caller, self._server.tournaments.GetTournament, request)
        document: Document = answer["tournament"]
        return document

    async def get_crosstable(
        self,
        caller: Caller,
        tournament: Tournament,
        page_token: PageToken = None,
        top: Annotated[
            UInt32 | None,
            Field(description="Only the cells among this number of entries at the top, at most 1,000. Default: all"),
        ] = None,
    ) -> Document:
        """Return the score of each bot against each other; of a knockout its bracket as well."""
        request = tournaments_pb2.GetCrosstableRequest(
            name=full_name("tournaments", tournament), page_token=page_token or "", top=top or 0
        )
        return await self._backend.ask(caller, self._server.tournaments.GetCrosstable, request)

    async def list_seasons(
        self, caller: Caller, tournament: Tournament, page_size: PageSize = None, page_token: PageToken = None
    ) -> Document:
        """List the seasons of a tournament that repeats, newest first."""
        request = tournaments_pb2.ListSeasonsRequest(
            name=full_name("tournaments", tournament), page_size=page_size or 0, page_token=page_token or ""
        )
        return await self._backend.ask(caller, self._server.tournaments.ListSeasons, request)

    async def list_games_of_tournament(
        self,
        caller: Caller,
        tournament: Tournament,
        page_size: PageSize = None,
        page_token: PageToken = None,
        faults_only: FaultsOnly = None,
        result: ResultFilter = None,
        termination: TerminationFilter = None,
        entry: Annotated[
            str | None,
            Field(description="Only games of the entry with this label, or of all entries of a bot, `bots/NAME`"),
        ] = None,
        won: Annotated[
            bool | None, Field(description="Together with `entry`: only games that it won (true) or lost (false)")
        ] = None,
        after: Annotated[UInt64 | None, Field(description="Only games with a higher number")] = None,
    ) -> Document:
        """List the games of a tournament that are over, in numerical order."""
        request = games_pb2.ListGamesRequest(
            parent=full_name("tournaments", tournament),
            page_size=page_size or 0,
            page_token=page_token or "",
            faults_only=faults_only or False,
            result=enum_value(types_pb2.Result, result),
            termination=enum_value(types_pb2.Termination, termination),
            entry=entry or "",
            won=won,
            after=after or 0,
        )
        return await self._backend.ask(caller, self._server.games.ListGames, request)

    async def get_game(
        self,
        caller: Caller,
        game: GameName = None,
        tournament: TournamentOfGame = None,
        number: NumberOfGame = None,
    ) -> Document:
        """Return a game that is over, with its moves and their times."""
        tournament_id, ordinal = tournament_and_number(game, tournament, number)
        request = games_pb2.GetGameRequest(name=game_name(tournament_name(tournament_id), ordinal))
        return await self._backend.ask(caller, self._server.games.GetGame, request)

    # Tests of versions.

    async def list_tests(
        self,
        caller: Caller,
        page_size: PageSize = None,
        page_token: PageToken = None,
        owner: OwnerFilter = None,
        search: SearchFilter = None,
        state: StateFilter = None,
    ) -> Document:
        """List tests of bot versions: first running ones (of each owner by priority and age), then stopped ones, then
        those that have ended, the newest first."""
        request = tests_pb2.ListTestsRequest(
            page_size=page_size or 0,
            page_token=page_token or "",
            owner=owner or "",
            search=search or "",
            state=enum_value(tournaments_pb2.TournamentState, state),
        )
        return await self._backend.ask(caller, self._server.tests.ListTests, request)

    async def get_test(self, caller: Caller, test: Test) -> Document:
        """Return a test with its state and statistics."""
        request = tests_pb2.GetTestRequest(name=full_name("tests", test))
        answer = await self._backend.ask(caller, self._server.tests.GetTest, request)
        document: Document = answer["test"]
        return document

    # Bots.

    async def list_bots(
        self,
        caller: Caller,
        page_size: PageSize = None,
        page_token: PageToken = None,
        online_only: OnlineFilter = None,
        show_retired: RetiredIncluded = None,
        owner: OwnerFilter = None,
        search: SearchFilter = None,
    ) -> Document:
        """List all bots, by name."""
        request = bots_pb2.ListBotsRequest(
            page_size=page_size or 0,
            page_token=page_token or "",
            online_only=online_only or False,
            show_retired=show_retired or False,
            owner=owner or "",
            search=search or "",
        )
        return await self._backend.ask(caller, self._server.bots.ListBots, request)

    async def get_bot(self, caller: Caller, bot: Bot) -> Document:
        """Return a bot, its newest version, and whether it is online."""
        request = bots_pb2.GetBotRequest(name=full_name("bots", bot))
        answer = await self._backend.ask(caller, self._server.bots.GetBot, request)
        document: Document = answer["bot"]
        return document

    async def list_games_of_bot(
        self,
        caller: Caller,
        bot: Bot,
        page_size: PageSize = None,
        page_token: PageToken = None,
        opponent: Annotated[str | None, Field(description="Only its games against this bot")] = None,
        tournament: Annotated[str | None, Field(description="Only its games in this tournament")] = None,
        faults_only: FaultsOnly = None,
        result: ResultFilter = None,
        termination: TerminationFilter = None,
        won: Annotated[bool | None, Field(description="Only games that the bot won (true) or lost (false)")] = None,
    ) -> Document:
        """List a bot's games in all its versions, newest first."""
        request = games_pb2.ListGamesRequest(
            parent=full_name("bots", bot),
            page_size=page_size or 0,
            page_token=page_token or "",
            opponent=full_name("bots", opponent) if opponent is not None else "",
            tournament=full_name("tournaments", tournament) if tournament is not None else "",
            faults_only=faults_only or False,
            result=enum_value(types_pb2.Result, result),
            termination=enum_value(types_pb2.Termination, termination),
            won=won,
        )
        return await self._backend.ask(caller, self._server.games.ListGames, request)

    async def get_head_to_head(
        self,
        caller: Caller,
        bot: Bot,
        opponent: Annotated[str, Field(description="Name of the opponent, e.g. `rival`")],
        last_games: Annotated[
            UInt31 | None, Field(description="Number of their newest games to return, at most 1,000. Default: 0")
        ] = None,
    ) -> Document:
        """Return what two bots have scored against each other."""
        request = leaderboards_pb2.GetHeadToHeadRequest(
            bot=full_name("bots", bot), opponent=full_name("bots", opponent), last_games=last_games or 0
        )
        return await self._backend.ask(caller, self._server.leaderboards.GetHeadToHead, request)

    async def get_bot_statistics(self, caller: Caller, bot: Bot) -> Document:
        """Return what a bot has scored against each opponent, how its newest games ended, how long its moves took."""
        request = leaderboards_pb2.GetBotStatisticsRequest(bot=full_name("bots", bot))
        return await self._backend.ask(caller, self._server.leaderboards.GetBotStatistics, request)

    # Ratings and openings.

    async def list_rating_lists(
        self, caller: Caller, page_size: PageSize = None, page_token: PageToken = None
    ) -> Document:
        """List the rating lists: variants and time classes in which there are rated games."""
        request = leaderboards_pb2.ListRatingListsRequest(page_size=page_size or 0, page_token=page_token or "")
        return await self._backend.ask(caller, self._server.leaderboards.ListRatingLists, request)

    async def get_leaderboard(
        self,
        caller: Caller,
        variant: Variant,
        time_class: TimeClass,
        page_size: PageSize = None,
        page_token: PageToken = None,
        owner: OwnerFilter = None,
        online_only: OnlineFilter = None,
        min_games: MinGames = None,
        exclude_provisional: Annotated[
            bool | None, Field(description="Leave out bots with a provisional rating")
        ] = None,
        show_retired: RetiredIncluded = None,
        search: SearchFilter = None,
        view: Annotated[
            str | None,
            Field(description="Kind of rating: `fit` (all games at once) or `live` (Elo, game by game)"),
        ] = None,
    ) -> Document:
        """Return a rating list, the strongest first."""
        request = leaderboards_pb2.GetLeaderboardRequest(
            variant=variant,
            time_class=time_class,
            page_size=page_size or 0,
            page_token=page_token or "",
            owner=owner or "",
            online_only=online_only or False,
            min_games=min_games or 0,
            exclude_provisional=exclude_provisional or False,
            show_retired=show_retired or False,
            search=search or "",
            view=view or "",
        )
        return await self._backend.ask(caller, self._server.leaderboards.GetLeaderboard, request)

    async def get_batch_ratings(
        self,
        caller: Caller,
        variant: Variant,
        time_class: TimeClass,
        min_games: MinGames = None,
        prior: Annotated[
            bool | None,
            Field(
                description=(
                    "Whether each bot gets two virtual draws against the mean, so that all ratings are on one scale"
                )
            ),
        ] = None,
    ) -> Document:
        """Return ratings from all games in the list at once, with their errors."""
        request = leaderboards_pb2.GetBatchRatingsRequest(
            variant=variant, time_class=time_class, min_games=min_games or 0, prior=prior or False
        )
        return await self._backend.ask(caller, self._server.leaderboards.GetBatchRatings, request)

    async def list_bot_ratings(
        self, caller: Caller, bot: Bot, page_size: PageSize = None, page_token: PageToken = None
    ) -> Document:
        """List a bot's place in each rating list in which it has a game."""
        request = leaderboards_pb2.ListBotRatingsRequest(
            bot=full_name("bots", bot), page_size=page_size or 0, page_token=page_token or ""
        )
        return await self._backend.ask(caller, self._server.leaderboards.ListBotRatings, request)

    async def get_rating_history(
        self,
        caller: Caller,
        bot: Bot,
        variant: OptionalVariant = None,
        time_class: Annotated[
            str | None,
            Field(description="`untimed`, `bullet`, `blitz`, `rapid` or `classical`. Default: untimed"),
        ] = None,
    ) -> Document:
        """Return how a bot's rating went in one list."""
        request = leaderboards_pb2.GetRatingHistoryRequest(
            bot=full_name("bots", bot), variant=variant or "", time_class=time_class or ""
        )
        return await self._backend.ask(caller, self._server.leaderboards.GetRatingHistory, request)

    async def get_opening_moves(
        self,
        caller: Caller,
        variant: Variant,
        time_class: TimeClass,
        moves: Annotated[
            list[UInt32] | None,
            Field(
                description=(
                    "Cells that lead to the position, as numbers: 0 is the top left cell, then row by row. "
                    "Default: the empty board"
                )
            ),
        ] = None,
    ) -> Document:
        """Return the moves in a position of a list's games, with their results."""
        request = leaderboards_pb2.GetOpeningMovesRequest(variant=variant, time_class=time_class, moves=moves)
        return await self._backend.ask(caller, self._server.leaderboards.GetOpeningMoves, request)
