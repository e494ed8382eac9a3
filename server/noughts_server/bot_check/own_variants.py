"""The variants that a bot declares: commands play the first one if the user names none."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from noughts_bots.gomocup.protocol import NAMED_VARIANTS
from noughts_bots.reference.specs import BotSpec, connects_itself, make_built_in
from noughts_bots.sdk.errors import BotError
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import Launcher
from noughts_server.bot_check.child_session import child_session
from noughts_server.bot_check.inviting import inviting


async def declared_by(spec: BotSpec, launcher: Launcher, times: ChildSettings) -> tuple[str, ...]:
    """Return the variants that a bot declares, in its order; empty for a bot that declares none.

    Start a plugin or program for its hello. Raises BotError.
    """
    kind = spec.child_kind
    if kind is None:
        return tuple(make_built_in(spec).variants)
    if not kind.speaks_frames:
        return NAMED_VARIANTS
    async with AsyncExitStack() as stack:
        invite = await stack.enter_async_context(inviting()) if connects_itself(spec) else None
        new_session = child_session(spec, launcher, times, move_seconds=times.start, invite=invite)
        session = await stack.enter_async_context(new_session)
        await session.greet()
        return session.variants


async def declared_by_each(specs: Sequence[BotSpec], launcher: Launcher, times: ChildSettings) -> list[tuple[str, ...]]:
    """Return the variants that each of several bots declares.

    For a bot that does not start, return no variants: its games show the error.
    """

    async def variants_of(spec: BotSpec) -> tuple[str, ...]:
        try:
            return await declared_by(spec, launcher, times)
        except BotError:
            return ()

    return await asyncio.gather(*map(variants_of, specs))
