"""BotService: the registered bots, and which of them are online."""

from collections.abc import AsyncIterator
from functools import partial

import structlog

from noughts_proto.v1 import bots_pb2 as pb
from noughts_proto.v1 import bots_pb2_grpc
from noughts_server.convert.bots import bot_message, bot_version_message, listed_bot_message
from noughts_server.core.errors import WrongState
from noughts_server.core.resource_names import bot_id
from noughts_server.runtime.hosting import Hosting
from noughts_server.runtime.sessions import OnlineBot, Sessions
from noughts_server.services.access import Access, Context, caller_with_scope, open_to, require_scope
from noughts_server.services.answers import answer_in_turn, build_each, page_rows
from noughts_server.services.first_entries import FirstEntries
from noughts_server.services.leaderboard_views import LeaderboardViews
from noughts_server.services.limiter import Limiter
from noughts_server.services.uploads import read_announcement, read_upload
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.pages import Page
from noughts_server.store.people.bot_lists import ListedBot, list_bots
from noughts_server.store.people.bots import (
    Bot,
    BotVersion,
    Version,
    describe_bot,
    get_bot,
    list_versions,
    register_bot,
    rename_bot,
    retire_bot,
)
from noughts_server.store.people.scopes import SUBMIT, play_as
from noughts_server.store.people.submissions import (
    Stored,
    Submission,
    check_submission,
    store_submission,
    submissions_of,
)
from noughts_server.store.people.tokens import ended_tokens
from noughts_server.store.tournaments.entries import entered_by

logger = structlog.get_logger("noughts.submitted")

_MOST_VERSIONS = 100
"""Versions in the message of a bot, the newest ones."""


class BotServicer(bots_pb2_grpc.BotServiceServicer):
    """Reads bots; lets their owners register, submit, rename and retire them."""

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        hosting: Hosting | None,
        limiter: Limiter,
        first_entries: FirstEntries,
        views: LeaderboardViews,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._hosting = hosting
        self._first_entries = first_entries
        self._limiter = limiter
        self._views = views

    @open_to(Access.ANYONE)
    async def GetBot(self, request: pb.GetBotRequest, context: Context) -> pb.GetBotResponse:
        name = bot_id("name", request.name)

        def read(connection: Connection) -> tuple[Bot, list[Version], dict[int, Submission], list[str]]:
            bot = get_bot(connection, name)
            versions = list_versions(connection, bot.id, most=_MOST_VERSIONS)
            submissions = submissions_of(connection, [row.id for row in versions])
            by_version = {submission.bot_version_id: submission for submission in submissions}
            return bot, versions, by_version, entered_by(connection, bot.id)

        bot, versions, submissions, entered = await answer_in_turn(self._store, read)
        version_messages = (
            bot_version_message(bot.name, version.version, version.created_at, submissions.get(version.id))
            for version in versions
        )
        running_game = self._sessions.running_game(version.id for version in versions)
        return pb.GetBotResponse(
            bot=self._message(bot), versions=version_messages, running_game=running_game, entered=entered
        )

    @open_to(Access.ANYONE)
    async def ListBots(self, request: pb.ListBotsRequest, context: Context) -> pb.ListBotsResponse:
        online = self._sessions.bots_online()
        seeks = self._sessions.seeks()
        declared = self._sessions.declared_variants()
        size = page_rows(request.page_size)

        def read(connection: Connection) -> tuple[Page[ListedBot], list[pb.Bot]]:
            page = list_bots(
                connection,
                size=size,
                page_token=request.page_token,
                owner=request.owner,
                search=request.search,
                retired=request.show_retired,
                bot_ids=set(seeks) if request.seeking_only else online if request.online_only else None,
                order=request.order,
                rating_list=request.rating_list,
                exclude_guests_of=request.exclude_guests_of,
                exclude_anchors=request.exclude_anchors,
            )
            messages = build_each(
                lambda item: listed_bot_message(
                    item,
                    online=item.bot.id in online,
                    seek=seeks.get(item.bot.id),
                    declared_variants=declared.get(item.bot.id, ()),
                ),
                page.items,
            )
            return page, list(messages)

        page, bots = await answer_in_turn(self._store, read)
        if request.with_view_ratings:
            names = {item.rating_list for item in page.items if item.rating_list}
            places = {name: await self._views.default_places(name) for name in names}
            for item, bot in zip(page.items, bots, strict=True):
                if place := places.get(item.rating_list, {}).get(item.bot.id):
                    bot.summary.view_rating = place.estimate.view_rating
        return pb.ListBotsResponse(bots=bots, next_page_token=page.next_page_token)

    @open_to(Access.PLAY)
    async def UpdateBot(self, request: pb.UpdateBotRequest, context: Context) -> pb.UpdateBotResponse:
        name = bot_id("name", request.name)
        description = request.description if request.HasField("description") else None
        link = request.link if request.HasField("link") else None
        is_described = description is not None or link is not None
        renames = bool(request.new_name) or not is_described
        new_name = request.new_name if renames else name
        caller = caller_with_scope(play_as(name))
        # Without this check, a token for one bot could give the bot a name that the token does not permit.
        require_scope(caller, play_as(new_name))
        now = self._store.now_ms()
        limits = self._limiter.limits

        def update(connection: Connection) -> Bot:
            owner_id = caller.only_owner
            if is_described:
                describe_bot(connection, name, description=description, link=link, owner_id=owner_id)
            if not renames:
                return get_bot(connection, name)
            return rename_bot(connection, name, new_name, now_ms=now, owner_id=owner_id, limits=limits)

        bot = await self._store.write(update)
        return pb.UpdateBotResponse(bot=self._message(bot))

    @open_to(Access.PLAY)
    async def RetireBot(self, request: pb.RetireBotRequest, context: Context) -> pb.RetireBotResponse:
        name = bot_id("name", request.name)
        caller = caller_with_scope(play_as(name))
        now = self._store.now_ms()
        retire = partial(retire_bot, name=name, undo=request.undo, now_ms=now, owner_id=caller.only_owner)
        bot = await self._store.write(retire)
        if self._hosting is not None:
            await self._hosting.refresh()
        return pb.RetireBotResponse(bot=self._message(bot))

    @open_to(Access.PLAY)
    async def RegisterBot(self, request: pb.RegisterBotRequest, context: Context) -> pb.RegisterBotResponse:
        name = bot_id("name", request.name)
        now = self._store.now_ms()
        owner_id = caller_with_scope(play_as(name)).owner_id
        limits = self._limiter.limits
        open_to_organisers = request.open_to_organisers if request.HasField("open_to_organisers") else None
        open_to_tests = request.open_to_tests if request.HasField("open_to_tests") else None

        def register(connection: Connection) -> Bot:
            return register_bot(
                connection,
                owner_id=owner_id,
                name=name,
                version=request.version,
                open_to_organisers=open_to_organisers,
                open_to_tests=open_to_tests,
                now_ms=now,
                limits=limits,
            )

        bot = await self._store.write(register)
        return pb.RegisterBotResponse(bot=self._message(bot))

    @open_to(Access.SUBMIT)
    async def SubmitBot(self, requests: AsyncIterator[pb.SubmitBotRequest], context: Context) -> pb.SubmitBotResponse:
        caller = caller_with_scope(SUBMIT)
        limits = self._limiter.limits
        # Each check comes before the next, more costly step: a refused bot costs no other owner's time.
        with self._limiter.holding("owner_uploads", caller.owner_id, "concurrent submissions by you"):
            announcement = await read_announcement(requests, limits)
            hosting = self._hosting_of(announcement.kind)
            check = partial(
                check_submission,
                owner_id=caller.owner_id,
                bot=announcement.bot,
                size=announcement.size,
                now_ms=self._store.now_ms(),
                limits=limits,
            )
            await self._store.read(check)
            upload = await read_upload(requests, announcement)
            trial = await hosting.try_out(upload, announcement.variant, caller.owner_id)
            now = self._store.now_ms()

            def store(connection: Connection) -> Stored:
                # The token can end during the upload or the trial.
                for token_error in ended_tokens(connection, (caller.token_id,), now_ms=now).values():
                    raise token_error
                return store_submission(connection, trial, owner_id=caller.owner_id, now_ms=now, limits=limits)

            stored = await self._store.write(store)
        submission = stored.submission
        if stored.is_new:
            logger.info("bot_submitted", bot=submission.resource, owner=submission.owner, bytes=submission.size)
            await self._first_entries.enter(_version_of(submission), OnlineBot.submitted(submission))
            await hosting.refresh()
        version = bot_version_message(submission.bot, submission.version, now, submission)
        return pb.SubmitBotResponse(version=version, unchanged=not stored.is_new, variant=trial.variant)

    def _message(self, bot: Bot) -> pb.Bot:
        seek = self._sessions.seeks().get(bot.id)
        declared = self._sessions.declared_variants().get(bot.id, ())
        online = bot.id in self._sessions.bots_online()
        return bot_message(bot, online=online, seek=seek, declared_variants=declared)

    def _hosting_of(self, kind: str) -> Hosting:
        """Return the hosting of submitted bots. Raises WrongState if the server accepts no bots of this kind."""
        accepts = () if self._hosting is None else self._hosting.accepts
        if self._hosting is None or kind not in accepts:
            got = f"accepting bots of kind {' and '.join(accepts)}" if accepts else "accepting no submitted bots"
            hint = "The operator chooses the kinds: noughts serve --accept wasm,py"
            raise WrongState("the server", got=got, expected=f"one that accepts bots of kind {kind!r}", hint=hint)
        return self._hosting


def _version_of(submission: Submission) -> BotVersion:
    return BotVersion(
        id=submission.bot_version_id,
        bot_id=submission.bot_id,
        owner_id=submission.owner_id,
        bot=submission.bot,
        version=submission.version,
    )
