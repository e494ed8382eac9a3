"""ChallengeService: a few unrated games between two bots that are online."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from noughts_proto.v1 import challenges_pb2 as pb
from noughts_proto.v1 import challenges_pb2_grpc
from noughts_server.convert.settings import challenge_settings
from noughts_server.convert.tournaments import tournament_message
from noughts_server.core.errors import InvalidArgument, NoughtsError, PermissionDenied, WrongState
from noughts_server.core.resource_names import bot_name, bot_version_id
from noughts_server.runtime.director import Director
from noughts_server.runtime.sessions import OnlineBot, Sessions
from noughts_server.services.access import LARGE_REQUEST, Access, Context, caller_with_scope, open_to
from noughts_server.services.creations import Creation
from noughts_server.services.limiter import Limiter
from noughts_server.services.new_tournaments import (
    canonical_variant,
    check_guest_clocks,
    check_in_turn,
    check_openings_of,
    check_settings,
    common_variant,
)
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.bots import BotVersion, get_bot, get_version, get_version_by_id
from noughts_server.store.people.scopes import SITE, play_as
from noughts_server.store.seeds import SeedKind
from noughts_server.store.tournaments.challenges import NewChallenge, create_challenge
from noughts_server.store.validation import check_number

_MOST_GAMES = 100
_MOST_OPEN_OF_SITE = 100
"""Limit of the open challenges of a website."""


class ChallengeServicer(challenges_pb2_grpc.ChallengeServiceServicer):
    """Checks whether the two bots can play, and starts their games."""

    def __init__(self, store: Store, sessions: Sessions, director: Director, limiter: Limiter) -> None:
        self._store = store
        self._limiter = limiter
        self._limits = limiter.limits
        self._sessions = sessions
        self._director = director

    @open_to(Access.PLAY, most_bytes=LARGE_REQUEST)
    async def CreateChallenge(self, request: pb.CreateChallengeRequest, context: Context) -> pb.CreateChallengeResponse:
        name, version = bot_version_id("challenger", request.challenger)
        caller = caller_with_scope(play_as(name))
        now = self._store.now_ms()
        online = self._sessions.logins_online()
        requested = challenge_settings(request, seed=secrets.randbits(64))

        # The variant for which the openings are checked, before the transaction below.
        variant_of_openings = ""

        def new_challenge(connection: Connection) -> NewChallenge:
            challenger = _online(connection, online, name, version)
            if caller.only_owner not in (None, challenger.owner_id):
                raise PermissionDenied(bot_name(name))
            opponent_name, opponent_version = bot_version_id("opponent", request.opponent)
            opponent = _online(connection, online, opponent_name, opponent_version)
            if opponent.id == challenger.id:
                raise InvalidArgument.of("opponent", request.opponent, "a bot other than the challenger")
            # An admin can challenge with another owner's bot. The opponent consents to the caller, and the limits of
            # clocks are those between the two bots.
            if opponent.owner_id != caller.owner_id:
                online[opponent.id].check_accepts()
            if opponent.owner_id != challenger.owner_id:
                check_guest_clocks(requested, self._limits)
            declared = {login.name: login.variants for login in (online[challenger.id], online[opponent.id])}
            variant = request.variant or common_variant("variant", declared)
            settings = replace(requested, variant=canonical_variant(variant, field="variant"))
            online[challenger.id].check_plays("challenger", settings.variant)
            online[opponent.id].check_plays("opponent", settings.variant)
            names = (challenger.bot, opponent.bot)
            for label in settings.own_times:
                if label not in names:
                    raise InvalidArgument.of("own_times", label, " or ".join(names))
            check_number("games", settings.games_per_pair, 1, _MOST_GAMES)
            check_settings(settings)
            seed_kind = SeedKind.GIVEN if request.HasField("seed") else SeedKind.DRAWN
            return NewChallenge(challenger, opponent, settings, seed_kind, request.opponent_begins)

        def create(connection: Connection) -> str:
            new = new_challenge(connection)
            # `online` is a snapshot. So only a name that now belongs to another bot changes the variant, or lets a
            # check succeed that failed before.
            if new.settings.openings and new.settings.variant != variant_of_openings:
                hint = "Try again: one of the bots has another name since the request arrived."
                raise WrongState(bot_name(name), got="renamed", expected="unchanged", hint=hint)
            # A website has limits of its own for all visitors together.
            limits = self._limits
            if SITE in caller.scopes:
                limits = limits.with_changes(challenges=max(_MOST_OPEN_OF_SITE, limits.challenges))
            return create_challenge(connection, new, owner_id=caller.owner_id, now_ms=now, limits=limits).slug

        if request.HasField("openings"):
            # Ignore an error here: the transaction raises it again, except for a repeated request, which gets the
            # stored answer.
            with suppress(NoughtsError):
                new = await self._store.read(new_challenge)
                variant_of_openings = new.settings.variant
            if variant_of_openings:
                await check_in_turn(self._limiter, caller.owner_id, partial(check_openings_of, new.settings))
        tournament = await Creation(caller, request, requested, create).execute(
            self._director, self._limiter, now_ms=now
        )
        return pb.CreateChallengeResponse(tournament=tournament_message(tournament))


def _online(connection: Connection, online: Mapping[int, OnlineBot], bot: str, version: str) -> BotVersion:
    """Return the online version of the bot, by default the newest one. Raises NotFound, WrongState."""
    if version:
        stored_version = get_version(connection, bot, version)
        if stored_version.id in online:
            return stored_version
    else:
        row_id = get_bot(connection, bot).id
        version_ids = [version_id for version_id, login in online.items() if login.bot == row_id]
        if version_ids:
            return get_version_by_id(connection, max(version_ids))
    hint = "It must be logged in to play. List online bots: noughts bot list --server HOST:PORT --online"
    agent_hint = "It must be logged in to play. List online bots: `list_bots` with `online`"
    name = bot_name(bot, version)
    raise WrongState(name, got="offline", expected="online", hint=hint, agent_hint=agent_hint)
