"""ChallengeService: a few unrated games between two bots that are online."""

from collections.abc import Mapping

from noughts_proto.v1 import challenges_pb2 as pb
from noughts_proto.v1 import challenges_pb2_grpc
from noughts_referee.clock import TimeControl
from noughts_server.errors import InvalidArgument, PermissionDenied, WrongState
from noughts_server.limits import Limits
from noughts_server.messages.conversions import tournament_message
from noughts_server.messages.resource_names import bot_version_id
from noughts_server.messages.settings_codec import openings_value, time_control
from noughts_server.runtime.director import Director
from noughts_server.runtime.sessions import OnlineBot, Sessions
from noughts_server.services.access import Access, Context, caller_as, open_to
from noughts_server.services.idempotency import idempotent
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.bots import BotVersion, get_bot, get_version, get_version_by_id, version_name
from noughts_server.store.people.scopes import play_as
from noughts_server.store.tournaments.challenges import NewChallenge, create_challenge
from noughts_server.store.tournaments.settings_checks import canonical_variant
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament

_DEFAULT_GAMES = 2


class ChallengeServicer(challenges_pb2_grpc.ChallengeServiceServicer):
    """Checks whether the two bots can play, and starts their games."""

    def __init__(self, store: Store, sessions: Sessions, director: Director, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._sessions = sessions
        self._director = director

    @open_to(Access.PLAY)
    async def CreateChallenge(self, request: pb.CreateChallengeRequest, context: Context) -> pb.CreateChallengeResponse:
        name, version = bot_version_id("challenger", request.challenger)
        who, now = caller_as(play_as(name)), self._store.now_ms()
        online = self._sessions.logins_online()
        seed = request.seed if request.HasField("seed") else None

        def begin(connection: Connection) -> str:
            challenger = _online(connection, online, name, version)
            if who.only_owner not in (None, challenger.owner_id):
                raise PermissionDenied(f"bots/{name}")
            opponent = _online(connection, online, *bot_version_id("opponent", request.opponent))
            if opponent.id == challenger.id:
                raise InvalidArgument.of("opponent", request.opponent, "another bot than the challenger")
            if online[opponent.id].declines_challenges and opponent.owner_id != who.owner_id:
                hint = "Others may accept: noughts bot list --server HOST:PORT --online"
                raise WrongState(
                    f"bots/{opponent.bot}", got="declining challenges", expected="one that accepts", hint=hint
                )
            variant = canonical_variant(request.variant or "tictactoe", field="variant")
            online[challenger.id].check_plays("challenger", variant)
            online[opponent.id].check_plays("opponent", variant)
            new = NewChallenge(
                challenger=challenger,
                opponent=opponent,
                variant=variant,
                time=time_control(request.time),
                own_times=_own_times(request, challenger, opponent),
                games=request.games or _DEFAULT_GAMES,
                seed=seed,
                opponent_begins=request.opponent_begins,
                openings=openings_value("openings", request.openings),
            )
            return create_challenge(connection, new, owner_id=who.owner_id, now_ms=now, limits=self._limits).slug

        async def play() -> Tournament:
            slug = await self._store.write(idempotent(who, request.request_id, request, begin, now_ms=now))
            tournament = await self._store.read(lambda connection: get_tournament(connection, slug))
            self._director.play_on(tournament)
            return tournament

        tournament = await self._director.uncancelled(play)
        return pb.CreateChallengeResponse(tournament=tournament_message(tournament))


def _own_times(
    request: pb.CreateChallengeRequest, challenger: BotVersion, opponent: BotVersion
) -> dict[str, TimeControl]:
    """Return the time controls by label, the bot's name. Raises InvalidArgument for a bot that does not play."""
    names = (challenger.bot, opponent.bot)
    for name in request.own_times:
        if name not in names:
            raise InvalidArgument.of("own_times", name, " or ".join(names))
    return {name: time_control(time) for name, time in request.own_times.items()}


def _online(connection: Connection, online: Mapping[int, OnlineBot], bot: str, version: str) -> BotVersion:
    """Return the online version of the bot, by default the newest one. Raises NotFound, WrongState."""
    if version:
        wanted = get_version(connection, bot, version)
        if wanted.id in online:
            return wanted
    else:
        key = get_bot(connection, bot).id
        versions = [each for each, login in online.items() if login.bot == key]
        if versions:
            return get_version_by_id(connection, max(versions))
    name = version_name(bot, version) if version else f"bots/{bot}"
    hint = "It must be logged in to play. Those that are: noughts bot list --server HOST:PORT --online"
    raise WrongState(name, got="offline", expected="online", hint=hint)
