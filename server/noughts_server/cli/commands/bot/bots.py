"""JSON of bots, for the commands of `noughts bot`."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.cli.times import exact, iso, milliseconds
from noughts_server.core.resource_names import short


@dataclass(frozen=True, slots=True, kw_only=True)
class BotDocument:
    """A bot as JSON: a registered one, a reference bot or an installed one. Fields that its kind lacks are None."""

    name: str
    kind: Literal["registered", "reference", "package"]
    syntax: str
    description: str | None = None
    variants: str | None = None
    package: str | None = None
    owner: str | None = None
    latest_version: str | None = None
    online: bool | None = None
    open_to_organisers: bool | None = None
    open_to_tests: bool | None = None
    created: str | None = None
    retired: str | None = None
    link: str | None = None


def bot_document(bot: pb.Bot) -> dict[str, Any]:
    """Return a registered bot as JSON."""
    return asdict(
        BotDocument(
            name=short(bot.name),
            kind="registered",
            syntax=f"bot:{short(bot.name)}",
            description=bot.description or None,
            link=bot.link or None,
            owner=bot.owner,
            latest_version=bot.latest_version,
            online=bot.online,
            open_to_organisers=bot.open_to_organisers,
            open_to_tests=bot.open_to_tests,
            created=exact(bot.create_time),
            retired=iso(milliseconds(bot.retire_time)),
        )
    )
