"""A process that is one reference bot: `python -m noughts_bots.reference_process SPEC GAMES`.

This is what `noughts match` and its like start for each of their specs: before their server is there, so that all load
their modules at once.
"""

# ruff: noqa: E402  # the collector waits for the imports
import asyncio
import gc
import signal
import sys

# There is nothing to collect in modules that are being loaded.
gc.set_threshold(100_000, 20, 20)

from noughts_bots.errors import BotError
from noughts_bots.event_loop import run_loop
from noughts_bots.process import die_with_parent, tune_collector
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.session import BotRefused, Login, play
from noughts_bots.specs import make_bot, parse_spec

_LAST_ENDS_SECONDS = 1.0
_LOOK_SECONDS = 0.01


def main(arguments: list[str]) -> int:
    """Plays as the bot of the first argument until the server ends the session.

    The second argument is the number of games at once. Where to play is a line of standard input: the server's address
    and the ticket; its end without that line ends the process.
    """
    die_with_parent()
    spec, games = arguments
    try:
        bot = make_bot(parse_spec(spec))
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
        print(error, file=sys.stderr)  # noqa: T201  # whoever started this process reads it
        return 1
    return 0


async def _play(bot: CachingBot, login: Login) -> None:
    """Plays. A bot with something to save is not killed by SIGTERM: it hears the ends of its games, and is closed."""
    if type(bot).close is CachingBot.close:
        return await play(bot, login)
    loop, terminated = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, terminated.set)
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(play(bot, login))
        ending = tasks.create_task(_end(bot, playing, terminated))
        playing.add_done_callback(lambda _: ending.cancel())
    return None


async def _end(bot: CachingBot, playing: "asyncio.Task[None]", terminated: asyncio.Event) -> None:
    """Ends the play on SIGTERM. The last frames may still be on their way: a server keeps ends back for a moment."""
    await terminated.wait()
    loop = asyncio.get_running_loop()
    latest = loop.time() + _LAST_ENDS_SECONDS
    while bot.busy and loop.time() < latest:  # noqa: ASYNC110  # its hooks may run in a thread
        await asyncio.sleep(_LOOK_SECONDS)
    playing.cancel()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
