"""The fork server of built-in bots, and the program of the processes that it forks: see `noughts_proto.fork_server`.

Commands such as `noughts match` start it before their own server, so that both load at the same time.
"""

# ruff: noqa: E402  # the collector's limits are set before the imports
import asyncio
import gc
import signal
import sys

# Importing modules leaves nothing to collect.
gc.set_threshold(100_000, 20, 20)

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.process import tune_collector
from noughts_bots.connection.session import BotRefused, Login, play
from noughts_bots.reference.specs import make_built_in, parse_spec
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotError
from noughts_proto.forking import serve

_LAST_ENDS_SECONDS = 1.0
"""Seconds after SIGTERM in which the ends of games can still arrive."""
_CHECK_SECONDS = 0.01
"""Seconds between two checks."""


def main(arguments: list[str]) -> int:
    """Play the bot of the first argument until the server ends the session.

    The second argument is the number of concurrent games. The process waits for a line on standard input with the
    server's address and the ticket. If the input ends without a line, the process ends.
    """
    spec, games = arguments
    try:
        bot = make_built_in(parse_spec(spec))
        bot.max_games = int(games)
        bot.prepare()
        tune_collector()
        try:
            if line := sys.stdin.readline():
                address, ticket = line.split()
                run_loop(_play(bot, Login(address, ticket, reconnect=False)))
        finally:
            bot.close()
    except (BotError, BotRefused) as error:
        print(error, file=sys.stderr)  # noqa: T201  # for the parent process
        return 1
    return 0


async def _play(bot: BuiltInBot, login: Login) -> None:
    """Play until the server ends the session.

    If the bot's class has a `close` of its own, SIGTERM does not kill the process at once: the bot first gets the ends
    of its games.
    """
    if type(bot).close is BuiltInBot.close:
        return await play(bot, login)
    loop, terminated = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, terminated.set)
    async with asyncio.TaskGroup() as tasks:
        play_task = tasks.create_task(play(bot, login))
        end_task = tasks.create_task(_end(bot, play_task, terminated))
        play_task.add_done_callback(lambda _: end_task.cancel())
    return None


async def _end(bot: BuiltInBot, play_task: "asyncio.Task[None]", terminated: asyncio.Event) -> None:
    """End the play after SIGTERM. The last frames can still arrive, because a server delays ends a little."""
    await terminated.wait()
    loop = asyncio.get_running_loop()
    latest = loop.time() + _LAST_ENDS_SECONDS
    while bot.busy and loop.time() < latest:  # noqa: ASYNC110  # its hooks can run in a thread
        await asyncio.sleep(_CHECK_SECONDS)
    play_task.cancel()


if __name__ == "__main__":
    serve(int(sys.argv[1]), main)
