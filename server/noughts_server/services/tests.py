"""TestService: tests of versions of bots against each other, each played by a tournament with the same ID."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from noughts_proto.v1 import tests_pb2 as pb
from noughts_proto.v1 import tests_pb2_grpc, tournaments_pb2
from noughts_referee.rules import parse_variant
from noughts_server.competition.tournament_settings import LONGEST_TITLE
from noughts_server.convert.settings import settings_of
from noughts_server.convert.tournaments import tournament_message
from noughts_server.core.errors import InvalidArgument, PermissionDenied, WrongState
from noughts_server.core.resource_names import bot_name, bot_version_id, short, test_id, test_name
from noughts_server.openings.sufficiency import usual_openings
from noughts_server.runtime.sessions import Sessions
from noughts_server.services.access import LARGE_REQUEST, Access, Context, current_caller, open_to, require_scope
from noughts_server.services.answers import answer_in_turn, page_rows
from noughts_server.services.creations import Creation
from noughts_server.services.new_tournaments import (
    canonical_variant,
    check_and_advise,
    check_guest_clocks,
    check_in_turn,
    check_tournament,
    common_variant,
    with_priority_of,
)
from noughts_server.services.tournaments import TournamentServicer
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.bots import BotVersion, get_version
from noughts_server.store.people.scopes import play_as
from noughts_server.store.people.tokens import Caller
from noughts_server.store.seeds import SeedKind
from noughts_server.store.tournaments.entries import Entry
from noughts_server.store.tournaments.tests import NewTest, create_test, get_test, list_tests, tested_versions
from noughts_server.store.tournaments.tournaments import NewTournament, Tournament
from noughts_server.store.validation import check_slug

_DEFAULT_SPRT = "elo0=0,elo1=5"
_DEFAULT_THROUGHPUT = 100
"""In percent, see `TournamentSettings.throughput`."""
_UNNAMED = "unnamed"
"""A valid ID for the checks of a test without a name, before the server chooses its ID."""


@dataclass(eq=False)
class TestServicer(tests_pb2_grpc.TestServiceServicer):
    """Checks the two versions, and creates, reads, stops and resumes the tournaments that play the tests."""

    tournaments: TournamentServicer

    @open_to(Access.ORGANISE, most_bytes=LARGE_REQUEST)
    async def CreateTest(self, request: pb.CreateTestRequest, context: Context) -> pb.CreateTestResponse:
        caller = current_caller()
        test_request = request.test
        service = self.tournaments
        new_bot, _ = bot_version_id("test.new_version", test_request.new_version)
        require_scope(caller, play_as(new_bot))
        variant = test_request.tournament.variant or await service.store.read(
            partial(self._common_variant, test=test_request)
        )
        match = await check_in_turn(service.limiter, caller.owner_id, partial(_match, test_request, variant))
        now = service.store.now_ms()

        def create(connection: Connection) -> str:
            new, base = _versions(connection, test_request)
            tournament = with_priority_of(caller, check_tournament(match, now))
            _check_versions(service.sessions, caller, new, base)
            if base.owner_id != new.owner_id:
                check_guest_clocks(tournament.settings, service.limiter.limits)
            for field, version in (("test.new_version", new), ("test.base_version", base)):
                service.sessions.check_plays(connection, version.id, field, tournament.settings.variant)
            usual_title = f"{new.bot}@{new.version} against {base.bot}@{base.version}"[:LONGEST_TITLE]
            slug = tournament.slug if test_request.name else ""
            settings = replace(tournament.settings, title=tournament.settings.title or usual_title)
            test = NewTest(replace(tournament, slug=slug, settings=settings), new, base)
            return create_test(
                connection, test, owner_id=caller.owner_id, now_ms=now, limits=service.limiter.limits
            ).slug

        creation = Creation(caller, request, match.settings, create)
        created = await creation.execute(service.director, service.limiter, now_ms=now)
        return pb.CreateTestResponse(test=await self._test_with_standings(created.slug))

    @open_to(Access.ANYONE)
    async def GetTest(self, request: pb.GetTestRequest, context: Context) -> pb.GetTestResponse:
        return pb.GetTestResponse(test=await self._test_with_standings(await self._existing_slug(request.name)))

    @open_to(Access.ANYONE)
    async def ListTests(self, request: pb.ListTestsRequest, context: Context) -> pb.ListTestsResponse:
        size = page_rows(request.page_size)

        def read(connection: Connection) -> tuple[list[pb.Test], str]:
            page = list_tests(
                connection,
                size=size,
                page_token=request.page_token,
                owner=request.owner,
                search=request.search,
                state=request.state,
            )
            entries = tested_versions(connection, [tournament.id for tournament in page.items])
            tests = [_message_of_entries(tournament, entries[tournament.id]) for tournament in page.items]
            return tests, page.next_page_token

        tests, next_page_token = await answer_in_turn(self.tournaments.store, read)
        return pb.ListTestsResponse(tests=tests, next_page_token=next_page_token)

    @open_to(Access.ORGANISE)
    async def StopTest(self, request: pb.StopTestRequest, context: Context) -> pb.StopTestResponse:
        slug = await self._existing_slug(request.name)
        director = self.tournaments.director
        await director.run_uncancelled(
            partial(director.pause, slug, owner_id=current_caller().only_owner, now=request.now)
        )
        return pb.StopTestResponse(test=await self._test_with_standings(slug))

    @open_to(Access.ORGANISE)
    async def ResumeTest(self, request: pb.ResumeTestRequest, context: Context) -> pb.ResumeTestResponse:
        slug = await self._existing_slug(request.name)
        director = self.tournaments.director
        await director.run_uncancelled(partial(director.start, slug, owner_id=current_caller().only_owner))
        return pb.ResumeTestResponse(test=await self._test_with_standings(slug))

    def _common_variant(self, connection: Connection, test: pb.Test) -> str:
        """Return the first variant that both versions play, for a test without a variant.

        Raises InvalidArgument, NotFound.
        """
        return common_variant(
            "test.tournament.variant",
            {
                version.resource: self.tournaments.sessions.variants(connection, version.id)
                for version in _versions(connection, test)
            },
        )

    async def _existing_slug(self, name: str) -> str:
        """Return the ID of a test that exists. Raises InvalidArgument, NotFound."""
        return (await answer_in_turn(self.tournaments.store, partial(get_test, slug=test_id("name", name)))).slug

    async def _test_with_standings(self, slug: str) -> pb.Test:
        tournament = await self.tournaments.with_standings(slug)
        versions = {row.label: row.bot_version for row in tournament.standings}
        return _message(tournament, [versions[label] for label in tournament.match.labels])


def _versions(connection: Connection, test: pb.Test) -> tuple[BotVersion, BotVersion]:
    """Return the new and the base version of a requested test. Raises InvalidArgument, NotFound."""
    new_bot, new_version = bot_version_id("test.new_version", test.new_version)
    base_bot, base_version = bot_version_id("test.base_version", test.base_version)
    return get_version(connection, new_bot, new_version), get_version(connection, base_bot, base_version)


def _match(test: pb.Test, variant: str) -> NewTournament:
    """Return the tournament that plays the test in this variant, with the defaults of tests. Raises InvalidArgument.

    This can take seconds; see `check_and_advise`.
    """
    tournament = tournaments_pb2.Tournament()
    tournament.CopyFrom(test.tournament)
    tournament.schedule = tournaments_pb2.SCHEDULE_MATCH
    tournament.rated = False
    tournament.variant = variant
    tournament.throughput = tournament.throughput or _DEFAULT_THROUGHPUT
    if not tournament.games_per_pair:
        tournament.sprt = tournament.sprt or _DEFAULT_SPRT
    slug = check_slug("test.name", test_id("test.name", test.name)) if test.name else _UNNAMED
    seed_kind = SeedKind.GIVEN if tournament.HasField("seed") else SeedKind.DRAWN
    settings = settings_of(tournament, seed=secrets.randbits(64))
    if not tournament.HasField("openings"):
        board = parse_variant(canonical_variant(settings.variant))
        settings = replace(settings, openings=usual_openings(board, settings.games_per_pair // 2))
    return check_and_advise(NewTournament(slug, settings, seed_kind=seed_kind))


def _check_versions(sessions: Sessions, caller: Caller, new: BotVersion, base: BotVersion) -> None:
    """Raise an error unless the caller may test these versions."""
    if caller.only_owner not in (None, new.owner_id):
        raise PermissionDenied(bot_name(new.bot))
    if new.id == base.id:
        raise InvalidArgument.of("test.base_version", base.resource, "a version other than the new one")
    for version in (new, base):
        login = sessions.login(version.id)
        if caller.only_owner not in (None, version.owner_id):
            if login is None:
                hint = "Test against a version of your own, or wait until it is online."
                raise WrongState(version.resource, got="offline", expected="online, as it is not yours", hint=hint)
            if not version.open_to_tests:
                hint = f"Its owner can open it: noughts bot register {version.bot} --open-to-tests"
                raise WrongState(version.resource, got="closed to tests of others", expected="open to them", hint=hint)


def _message_of_entries(tournament: Tournament, entries: Sequence[Entry]) -> pb.Test:
    message = tournament_message(tournament, labels=[entry.label for entry in entries])
    return _message(message, [entry.bot_version for entry in entries])


def _message(tournament: tournaments_pb2.Tournament, versions: Sequence[str]) -> pb.Test:
    new, base = versions
    name = test_name(short(tournament.name))
    return pb.Test(name=name, new_version=new, base_version=base, tournament=tournament)
