"""TournamentService: creates, lists, changes and repeats tournaments, and lets bots join them."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_proto.v1 import tournaments_pb2_grpc
from noughts_server.convert.settings import settings_of
from noughts_server.convert.times import milliseconds
from noughts_server.convert.tournaments import crosstable_message, season_message, tournament_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import bot_version_id, tournament_id, tournament_name
from noughts_server.runtime.director import Director
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.tournament_play import stop_reason
from noughts_server.services.access import LARGE_REQUEST, Access, Context, current_caller, open_to, require_scope
from noughts_server.services.answers import answer_in_turn, build_each, page_rows
from noughts_server.services.creations import Creation
from noughts_server.services.finished_tournaments import FinishedTournaments
from noughts_server.services.limiter import Limiter
from noughts_server.services.new_tournaments import check_and_advise, check_in_turn, check_tournament, with_priority_of
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.idempotency import idempotent
from noughts_server.store.engine.schema import Kind, TournamentState
from noughts_server.store.games.standings import crosstable, standings
from noughts_server.store.people.bots import get_version
from noughts_server.store.people.scopes import ORGANISE, play_as
from noughts_server.store.seeds import SeedKind
from noughts_server.store.tournaments.entries import entry_owners, join_tournament
from noughts_server.store.tournaments.join_window import FEWEST_ENTRIES, MOST_ENTRIES, Joining
from noughts_server.store.tournaments.leagues import MOST_EMPTY, WEEK_MS, League, create_league, league_of, list_seasons
from noughts_server.store.tournaments.tournaments import (
    NewTournament,
    Tournament,
    create_tournament,
    entry_counts,
    get_tournament,
    list_tournaments,
    months_of_ends,
    update_tournament,
)
from noughts_server.tables.standings import Standing


@dataclass(eq=False)
class TournamentServicer(tournaments_pb2_grpc.TournamentServiceServicer):
    """Checks the caller, and calls the store and the director."""

    store: Store
    sessions: Sessions
    director: Director
    limiter: Limiter
    rate_own_games: bool
    inactivity_timeout: float
    """The inactivity timeout: the seconds for which an entry can keep its games waiting; 0: unlimited."""
    problems: Mapping[int, str] = field(default_factory=dict)
    """The reasons why tournaments are stopped, by database key."""
    finished: FinishedTournaments = field(default_factory=FinishedTournaments)

    @open_to(Access.ORGANISE, most_bytes=LARGE_REQUEST)
    async def CreateTournament(
        self, request: pb.CreateTournamentRequest, context: Context
    ) -> pb.CreateTournamentResponse:
        caller = current_caller()
        now = self.store.now_ms()
        requested = request.tournament
        interval_ms = _interval_ms(requested)
        new = replace(await self._requested(requested), own_rated=self.rate_own_games)

        def create(connection: Connection) -> str:
            tournament = with_priority_of(caller, check_tournament(new, now))
            created = create_tournament(
                connection, tournament, owner_id=caller.owner_id, now_ms=now, limits=self.limiter.limits
            )
            if interval_ms:
                create_league(connection, created, interval_ms, now_ms=now)
            return created.slug

        copies = MOST_EMPTY if interval_ms else 1
        creation = Creation(caller, request, new.settings, create, copies)
        created = await creation.execute(self.director, self.limiter, now_ms=now)
        return pb.CreateTournamentResponse(tournament=await self.with_standings(created.slug))

    @open_to(Access.ORGANISE, most_bytes=LARGE_REQUEST)
    async def UpdateTournament(
        self, request: pb.UpdateTournamentRequest, context: Context
    ) -> pb.UpdateTournamentResponse:
        caller = current_caller()
        now = self.store.now_ms()
        new = await self._requested(request.tournament)

        def update(connection: Connection) -> str:
            checked = with_priority_of(caller, check_tournament(new, now))
            changed = update_tournament(
                connection, checked, owner_id=caller.only_owner, keep_openings=request.keep_openings
            )
            return changed.slug

        change = Creation(caller, request, new.settings, update)
        changed = await change.execute(self.director, self.limiter, now_ms=now)
        return pb.UpdateTournamentResponse(tournament=await self.with_standings(changed.slug))

    async def _requested(self, message: pb.Tournament) -> NewTournament:
        """Return the tournament of a request. Checks that can take seconds wait for the owner's turn."""
        if message.sprt or message.openings.kind or message.own_times:
            owner_id = current_caller().owner_id
            return await check_in_turn(self.limiter, owner_id, lambda: check_and_advise(_new_tournament(message)))
        return _new_tournament(message)

    @open_to(Access.ANYONE)
    async def GetTournament(self, request: pb.GetTournamentRequest, context: Context) -> pb.GetTournamentResponse:
        slug = tournament_id("name", request.name)
        return pb.GetTournamentResponse(tournament=await self.with_standings(slug, show_story=request.show_story))

    @open_to(Access.ANYONE)
    async def ListTournaments(self, request: pb.ListTournamentsRequest, context: Context) -> pb.ListTournamentsResponse:
        kind = Kind.CHALLENGE if request.challenges else Kind.ORGANISED
        size = page_rows(request.page_size)

        def read(connection: Connection) -> pb.ListTournamentsResponse:
            page = list_tournaments(
                connection,
                size=size,
                page_token=request.page_token,
                kind=kind,
                owner=request.owner,
                search=request.search,
                state=request.state,
                month=request.month,
            )
            counts = entry_counts(connection, [tournament.id for tournament in page.items])

            def listed(tournament: Tournament) -> pb.Tournament:
                message = self._message(tournament)
                message.entries = counts.get(tournament.id, 0)
                message.winners.extend(self.finished.winners(connection, tournament))
                return message

            months: Mapping[str, int] = {}
            if request.show_months:
                months = months_of_ends(
                    connection, kind, owner=request.owner, search=request.search, state=request.state
                )
            return pb.ListTournamentsResponse(
                tournaments=build_each(listed, page.items),
                next_page_token=page.next_page_token,
                months=[pb.TournamentMonth(month=month, tournaments=count) for month, count in months.items()],
            )

        return await answer_in_turn(self.store, read)

    @open_to(Access.TOKEN)
    async def JoinTournament(self, request: pb.JoinTournamentRequest, context: Context) -> pb.JoinTournamentResponse:
        slug = tournament_id("name", request.name)
        bot, version = bot_version_id("bot", request.bot)
        caller = current_caller()
        now = self.store.now_ms()
        entering = await self.store.read(lambda connection: get_version(connection, bot, version))
        # An organiser can enter a bot of another owner if that owner has opened it to organisers. The store checks
        # this; its error says how the owner can open the bot.
        is_guest = caller.owner_id != entering.owner_id
        if not is_guest:
            require_scope(caller, play_as(bot))
        elif entering.open_to_organisers:
            require_scope(caller, ORGANISE)
        else:
            require_scope(caller, ORGANISE, play_as(bot))

        def join(connection: Connection) -> str:
            entering = get_version(connection, bot, version)
            variant = get_tournament(connection, slug).settings.variant
            self.sessions.check_plays(connection, entering.id, "bot", variant)
            entry = join_tournament(
                connection,
                slug,
                bot=bot,
                version=version,
                label=request.label,
                owner_id=caller.only_owner,
                now_ms=now,
                limits=self.limiter.limits,
                online=self.sessions.online(entering.id),
            )
            return f"{entry.label} {entry.bot_version}"

        answer = await self.store.write(idempotent(caller.token_id, request, join, now_ms=now))
        # Labels contain no spaces.
        label, _, pinned = answer.partition(" ")
        joined = await self.store.read(lambda connection: get_tournament(connection, slug))
        if joined.state is TournamentState.RUNNING:
            self.director.play_running(joined)  # A ladder that waited for entries resumes.
        return pb.JoinTournamentResponse(label=label, bot_version=pinned)

    @open_to(Access.TOKEN)
    async def WithdrawTournament(
        self, request: pb.WithdrawTournamentRequest, context: Context
    ) -> pb.WithdrawTournamentResponse:
        caller = current_caller()
        slug = tournament_id("name", request.name)
        entry = await self.store.read(lambda connection: entry_owners(connection, slug, request.label))
        is_owner = caller.owner_id == entry.owner_id
        is_organiser = caller.owner_id == entry.organiser_id
        # The store refuses other callers, unless they are admins.
        if is_owner and not is_organiser:
            require_scope(caller, play_as(entry.bot))
        elif is_organiser and not is_owner:
            require_scope(caller, ORGANISE)
        else:
            require_scope(caller, play_as(entry.bot), ORGANISE)
        await self.director.run_uncancelled(
            lambda: self.director.withdraw(slug, request.label, owner_id=caller.only_owner)
        )
        return pb.WithdrawTournamentResponse()

    @open_to(Access.ORGANISE)
    async def ExtendTournament(
        self, request: pb.ExtendTournamentRequest, context: Context
    ) -> pb.ExtendTournamentResponse:
        extend = partial(self.director.extend, games_per_pair=request.games_per_pair, rounds=request.rounds)
        return pb.ExtendTournamentResponse(tournament=await self._change(request.name, extend))

    @open_to(Access.ORGANISE)
    async def StartTournament(self, request: pb.StartTournamentRequest, context: Context) -> pb.StartTournamentResponse:
        return pb.StartTournamentResponse(tournament=await self._change(request.name, self.director.start))

    @open_to(Access.ORGANISE)
    async def PauseTournament(self, request: pb.PauseTournamentRequest, context: Context) -> pb.PauseTournamentResponse:
        pause = partial(self.director.pause, now=request.now)
        return pb.PauseTournamentResponse(tournament=await self._change(request.name, pause))

    @open_to(Access.TOKEN)
    async def CancelTournament(
        self, request: pb.CancelTournamentRequest, context: Context
    ) -> pb.CancelTournamentResponse:
        slug = tournament_id("name", request.name)
        tournament = await self.store.read(lambda connection: get_tournament(connection, slug))
        # A challenge needs no scope here: the owner who created it may cancel it.
        if tournament.kind is not Kind.CHALLENGE:
            require_scope(current_caller(), ORGANISE)
        return pb.CancelTournamentResponse(tournament=await self._change(request.name, self.director.cancel))

    @open_to(Access.ANYONE)
    async def GetCrosstable(self, request: pb.GetCrosstableRequest, context: Context) -> pb.GetCrosstableResponse:
        slug = tournament_id("name", request.name)

        def read(connection: Connection) -> pb.GetCrosstableResponse:
            tournament = get_tournament(connection, slug)
            return crosstable_message(
                crosstable(connection, tournament, page_token=request.page_token, top=request.top)
            )

        return await answer_in_turn(self.store, read)

    @open_to(Access.ANYONE)
    async def ListSeasons(self, request: pb.ListSeasonsRequest, context: Context) -> pb.ListSeasonsResponse:
        slug = tournament_id("name", request.name)
        size = page_rows(request.page_size)

        def read(connection: Connection) -> pb.ListSeasonsResponse:
            league = league_of(connection, get_tournament(connection, slug).id)
            page = list_seasons(connection, league, size=size, page_token=request.page_token)
            if league is None:
                return pb.ListSeasonsResponse()
            return pb.ListSeasonsResponse(
                league=tournament_name(league.slug),
                repeat=pb.REPEAT_WEEKLY,
                stopped=league.stopped_at is not None,
                reason=league.stop_reason,
                seasons=[season_message(number, each, standings(connection, each)) for number, each in page.items],
                next_page_token=page.next_page_token,
            )

        return await answer_in_turn(self.store, read)

    @open_to(Access.ORGANISE)
    async def StopRepeating(self, request: pb.StopRepeatingRequest, context: Context) -> pb.StopRepeatingResponse:
        slug = tournament_id("name", request.name)
        owner = current_caller().only_owner
        stopped = await self.director.run_uncancelled(lambda: self.director.stop_league(slug, owner_id=owner))
        return pb.StopRepeatingResponse(tournament=await self.with_standings(stopped.slug))

    async def _change(self, name: str, change: Callable[..., Awaitable[object]]) -> pb.Tournament:
        """Call `change`, a method of the director, for a tournament of the caller, and return the tournament."""
        slug = tournament_id("name", name)
        owner = current_caller().only_owner
        await self.director.run_uncancelled(lambda: change(slug, owner_id=owner))
        return await self.with_standings(slug)

    async def with_standings(self, slug: str, *, show_story: bool = False) -> pb.Tournament:
        """Return the tournament with its standings, the entries that are offline, and on request its story."""

        def read(connection: Connection) -> tuple[Tournament, list[Standing], League | None, pb.Tournament]:
            tournament = get_tournament(connection, slug)
            table = standings(connection, tournament)
            league = league_of(connection, tournament.id)
            message = self._message(tournament, table)
            if show_story:
                message.MergeFrom(pb.Tournament(story=self.finished.story(connection, tournament)))
            return tournament, table, league, message

        tournament, table, league, message = await answer_in_turn(self.store, read)
        if league is not None:
            message.league = tournament_name(league.slug)
            message.season = league.season
            message.repeat = pb.REPEAT_UNSPECIFIED if league.stopped_at else pb.REPEAT_WEEKLY
        if tournament.state is TournamentState.RUNNING:
            online = self.sessions.online
            message.offline.extend(row.label for row in table if not online(row.bot_version_id))
        if self.inactivity_timeout:
            message.absence_limit.FromMicroseconds(round(self.inactivity_timeout * 1e6))
        return message

    def _message(self, tournament: Tournament, table: Sequence[Standing] = ()) -> pb.Tournament:
        message = tournament_message(tournament, table)
        message.reason = stop_reason(tournament, self.problems, self.store.outage)
        return message


def _interval_ms(message: pb.Tournament) -> int:
    """Return the interval of a tournament that repeats; 0 if it does not. Raises InvalidArgument."""
    if not message.repeat:
        return 0
    if message.repeat not in pb.Repeat.values():
        raise InvalidArgument.of("tournament.repeat", message.repeat, "REPEAT_WEEKLY")
    if message.schedule == pb.SCHEDULE_LADDER:
        raise InvalidArgument.of(
            "tournament.repeat", "a ladder", "a format that ends, because seasons follow each other"
        )
    return WEEK_MS


def _new_tournament(message: pb.Tournament) -> NewTournament:
    slug = tournament_id("tournament.name", message.name)
    join_from = message.join_from if message.HasField("join_from") else None
    join_until = message.join_until if message.HasField("join_until") else None
    start_at = message.start_at if message.HasField("start_at") else None
    return NewTournament(
        slug=slug,
        settings=settings_of(message, seed=secrets.randbits(64)),
        seed_kind=SeedKind.GIVEN if message.HasField("seed") else SeedKind.DRAWN,
        joining=Joining(
            entries_min=message.entries_min or FEWEST_ENTRIES,
            entries_max=message.entries_max or MOST_ENTRIES,
            join_from=milliseconds("tournament.join_from", join_from),
            join_until=milliseconds("tournament.join_until", join_until),
            start_at=milliseconds("tournament.start_at", start_at),
        ),
    )
