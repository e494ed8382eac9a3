"""Protocol messages of bots, their versions and submitted programs."""

from collections.abc import Iterable

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.competition.seeks import Seek
from noughts_server.convert.seeks import seek_message
from noughts_server.convert.times import timestamp
from noughts_server.core.resource_names import bot_name
from noughts_server.store.people.bot_lists import ListedBot
from noughts_server.store.people.bots import Bot
from noughts_server.store.people.submissions import Submission


def bot_message(
    bot: Bot,
    *,
    online: bool,
    seek: Seek | None = None,
    summary: pb.BotSummary | None = None,
    declared_variants: Iterable[str] = (),
) -> pb.Bot:
    return pb.Bot(
        name=bot_name(bot.name),
        owner=bot.owner,
        latest_version=bot_name(bot.name, bot.latest_version),
        online=online,
        create_time=timestamp(bot.created_at),
        retire_time=timestamp(bot.retired_at),
        open_to_organisers=bot.open_to_organisers,
        open_to_tests=bot.open_to_tests,
        description=bot.description,
        link=bot.link,
        seek=seek_message(seek),
        summary=summary,
        declared_variants=declared_variants,
    )


def listed_bot_message(
    listed: ListedBot, *, online: bool, seek: Seek | None, declared_variants: Iterable[str]
) -> pb.Bot:
    """Return a bot of a list, with a summary of its rated games."""
    summary = pb.BotSummary(
        games=listed.games,
        rating_list=listed.rating_list,
        rating=listed.rating,
        provisional=listed.provisional,
        variants=listed.variants,
        variants_total=listed.variants_total,
    )
    return bot_message(listed.bot, online=online, seek=seek, summary=summary, declared_variants=declared_variants)


def bot_version_message(bot: str, version: str, created_ms: int, submission: Submission | None) -> pb.BotVersion:
    """Return a version of a bot, with its program if the owner submitted one."""
    return pb.BotVersion(
        name=bot_name(bot, version),
        create_time=timestamp(created_ms),
        submission=None if submission is None else _submission_message(bot, submission),
    )


def _submission_message(bot: str, submission: Submission) -> pb.Submission:
    return pb.Submission(
        bot=bot,
        version=submission.version,
        kind=submission.kind,
        entry=submission.entry,
        size=submission.size,
        sha256=submission.hash,
        file_name=submission.file_name,
    )
