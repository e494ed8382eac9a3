"""Tables at which visitors play in their browsers.

The website logs in a bot for each of its players: a person, whose moves come from a browser, or a reference bot. The
bots play challenges, so each game has a page and a feed like all other games.
"""

import asyncio
import contextlib
import secrets
import time
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from noughts_bots.connection.session import Login
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.bot import Bot, GameEnd, Move
from noughts_bots.sdk.unhurried import Unhurried
from noughts_proto.v1 import tokens_pb2, tournaments_pb2, types_pb2
from noughts_referee.rules import Result, VariantError, base_name, parse_variant
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import challenge_message
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import bot_name
from noughts_server.web.bot_login import NAME_TAKEN, log_in
from noughts_server.web.browser_player import BrowserPlayer
from noughts_server.web.forms import wrong
from noughts_server.web.house_bots import HOUSE_BOTS, STRONGEST, best_fit, main_bots
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.visitors import Recent, add
from noughts_server.web.words import game, or_words

HOUSE_KIND, PERSON, SAME_SCREEN = "house:", "person", "screen"
YOU, THEY, LOT = "you", "they", "lot"
BEGINS, CROSS, NOUGHT = "begins", "x", "o"

_LOGIN_VERSION = "1"
_MOST_NAMES = 100
"""Numbers that the website tries for one table."""
_SWEEP_SECONDS = 5.0
"""The longest time between two searches for idle games."""
_LONGEST_OWNER = 40
_ALL = "on this website"
_POINTS = {Result.FIRST_WINS: (1.0, 0.0), Result.SECOND_WINS: (0.0, 1.0), Result.DRAW: (0.5, 0.5)}
"""The points of both sides by the result of a game. A cancelled game has none."""

_HINT_SPECS = {"minimax": "minimax:faster=true"}
"""Specs for hints of bots that play otherwise: a hint is the fastest win."""


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Limits of tables. Times in seconds."""

    most: int = 32
    """Tables at a time."""
    kept: float = 60.0
    """If all tables are in use, a visitor without a table can get one that had no move for this many seconds."""
    browser_most: int = 2
    """Tables opened from one browser."""
    address_most: int = 16
    """Tables opened from one address, which a class or a household shares."""
    away: float = 60.0
    """A table whose page has sent nothing for this long makes room for a new one of its browser or address.

    The page of a live game asks every 20 seconds.
    """
    idle: float = 600.0
    """A table is removed when its visitors have been inactive for this long."""
    left: float = 30.0
    """Seconds after which a table is removed whose page was closed.

    Until then, the visitor can return or reload the page.
    """
    games_a_minute: int = 60
    """Games that can start in a minute at all tables; if they are the first of their address, twice as many."""
    address_games: int = 30
    """Games that can start in a minute at the tables of one address."""
    longest_move: int = 60
    """Seconds for a move, and of an increment."""
    longest_base: int = 900
    """Seconds of base time."""
    pause: float = 0.4
    """Pause before each move of a reference bot, so that a person can follow."""


class Wish(NamedTuple):
    """The game that a visitor wants to play."""

    opponent: str
    """`house:SPEC`, `bots/NAME`, `person` (in another browser) or `screen` (another person at this screen)."""
    variant: str
    begins: str
    """`you`, `they` or `lot` (at random)."""
    mark: str
    """The first person's mark: `x`, `o`, `lot` (at random), or `begins`: the first to move has X."""
    time: types_pb2.TimeControl
    moves: tuple[int, ...] = ()
    """The moves before the start position. `begins` says who moves next."""


class _Seat(NamedTuple):
    """A bot of the website that is logged in."""

    name: str
    bot: Bot
    session: "asyncio.Task[None]"


class PlayTable:
    """A table: two sides that play one game after the other."""

    def __init__(self, number: int, wish: Wish, address: str = "", browser: str = "") -> None:
        self.number = number
        self.address = address
        """The address of the visitor who opened it."""
        self.browser = browser
        """The id of the browser that opened it; empty if unknown."""
        self.wish = wish
        self.keys = tuple(secrets.token_urlsafe(12) for _ in range(2 if wish.opponent == PERSON else 1))
        """A key for each browser: for the first person and, if there is one, for a second person on another device."""
        self.seats: tuple[_Seat, ...] = ()
        """The website's bots; the challenger is the first."""
        self.game = ""
        """`tournaments/ID/games/1`; empty before the first game."""
        self.opening = wish.moves
        """The moves that the game began with: those before the start position, and more after moves were taken back."""
        self.first_is_challenger = True
        """Whether the challenger, who is the first person, moves first."""
        self.earlier_points = (0.0, 0.0)
        """The points in the games before this one: those of the first person and those of the other side."""
        self._mark = secrets.choice((CROSS, NOUGHT)) if wish.mark == LOT else wish.mark
        self.seen = time.monotonic()
        self.joined = False
        """Whether the second person has joined, if there is one."""
        self.hints: dict[tuple[str, int], int] = {}
        """The last hint, by its game and ply."""
        self.busy = asyncio.Lock()
        """Held while a game is started or cancelled."""

    @property
    def guests(self) -> list[BrowserPlayer]:
        """The persons at the table, the first one first."""
        return [seat.bot for seat in self.seats if isinstance(seat.bot, BrowserPlayer)]

    def sides(self, key: str) -> tuple[int, ...]:
        """Return the sides that the holder of this key plays: 0 moves first."""
        first = 0 if self.first_is_challenger else 1
        if self.wish.opponent == SAME_SCREEN:
            return (0, 1)
        return (first if key == self.keys[0] else 1 - first,)

    @property
    def has_hints(self) -> bool:
        """Whether the person can ask for hints: only against a bot of the website."""
        return self.wish.opponent.startswith(HOUSE_KIND)

    @property
    def noughts_begin(self) -> bool:
        """Whether the side that moves first has the noughts."""
        return self._mark != BEGINS and (self._mark == CROSS) != self.first_is_challenger

    @property
    def points(self) -> tuple[float, float]:
        """The points of each side in all games of this table; the side that moves first in this game comes first."""
        first, second = self.all_points()
        return (first, second) if self.first_is_challenger else (second, first)

    def all_points(self) -> tuple[float, float]:
        """Return the points in all games of this table: those of the first person and those of the other side."""
        end = self.over if self.guests else None
        gained = _POINTS.get(end.result, (0.0, 0.0)) if end else (0.0, 0.0)
        if not self.first_is_challenger:
            gained = gained[::-1]
        return self.earlier_points[0] + gained[0], self.earlier_points[1] + gained[1]

    def guest(self, side: int) -> BrowserPlayer:
        """Return the player of this side, which must be a person."""
        return self.guests[0 if (side == 0) == self.first_is_challenger else 1]

    @property
    def last_move_time(self) -> float:
        """The time of the last move of a person."""
        return max((guest.last_move_time for guest in self.guests), default=self.seen)

    @property
    def over(self) -> GameEnd | None:
        """The end of the game; None while it is live."""
        return self.guests[0].game_end


class PlayTables:
    """All tables of the website. Its bots log in with `token`, which must permit to play."""

    def __init__(
        self, upstream: Upstream, tasks: asyncio.TaskGroup, token: str, settings: TableSettings | None = None
    ) -> None:
        self.settings = settings or TableSettings()
        self._upstream = upstream
        self._tasks = tasks
        self._token = token
        self._tables: dict[str, PlayTable] = {}
        self._addresses: Counter[str] = Counter()
        """The number of tables by address, including those that are being opened."""
        self._browsers: Counter[str] = Counter()
        """The number of tables by browser, as by address."""
        self._numbers: set[int] = set()
        self._taken_numbers: set[int] = set()
        """Numbers whose bot names belong to another owner."""
        self._recent_games = Recent()
        """Recent games by the address that started them."""
        self._sweep_task: asyncio.Task[None] | None = None
        self._hint_lock = asyncio.Lock()
        """Held while a hint is computed: one at a time, because other visitors play meanwhile."""

    def is_seat(self, name: str) -> bool:
        """Return whether `bots/NAME` is a bot of the website."""
        return any(seat.name == name for table in self._tables.values() for seat in table.seats)

    def find(self, key: str) -> PlayTable:
        """Return the table with this key, and record the visit. Raises Failure."""
        table = self._tables.get(key)
        if table is None:
            raise Failure(404, "There is no such table, or it was cleared.", "Start again: open the Play page.")
        table.seen = time.monotonic()
        table.joined = table.joined or key != table.keys[0]
        return table

    async def note_left(self, table: PlayTable) -> None:
        """Record that a visitor has closed the page."""
        table.seen = min(table.seen, time.monotonic() - self.settings.idle + self.settings.left)

    def tables_of(self, browser: str) -> list[PlayTable]:
        """Return the tables that this browser has opened, the newest last."""
        return [table for table in self._opened_tables() if browser and table.browser == browser]

    def _opened_tables(self) -> list[PlayTable]:
        return list(dict.fromkeys(self._tables.values()))

    async def shut(self, table: PlayTable) -> None:
        """Remove a table at the wish of its visitor. Its live game is cancelled."""
        if table.keys[0] in self._tables:
            await self._clear(table)

    async def open(self, wish: Wish, address: str = "", browser: str = "") -> PlayTable:
        """Open a table for a visitor with this browser and address, and start a game there. Raises Failure.

        If the browser or the address has all its tables, one whose game is over or whose page is closed makes room.
        """
        self._check(wish)
        # Count the table before the first await, because a visitor can send many requests at once.
        add(self._addresses, address, 1)
        add(self._browsers, browser, 1)
        try:
            if browser and self._browsers[browser] > self.settings.browser_most:
                refusal = f"You already play at {self.settings.browser_most} tables."
                await self._clear_unused(self.tables_of(browser), refusal)
            if self._addresses[address] > self.settings.address_most:
                refusal = f"{self.settings.address_most} tables are in use at your address."
                at_address = [table for table in self._opened_tables() if table.address == address]
                await self._clear_unused(at_address, refusal)
            owner = await self.owner()
            if len(self._numbers) >= self.settings.most:
                await self._clear(self._table_to_take(address))
            if len(self._numbers) >= self.settings.most:
                raise self._full()
        except BaseException:
            add(self._addresses, address, -1)
            add(self._browsers, browser, -1)
            raise
        table = PlayTable(self._free_number(), wish, address, browser)
        self._numbers.add(table.number)
        try:
            await self._log_in_bots(table, owner)
            you_begin = wish.begins == YOU or (wish.begins == LOT and secrets.randbelow(2) == 0)
            await self._begin(
                table,
                wish.moves,
                first_is_challenger=you_begin != bool(len(wish.moves) % 2),
                earlier_points=table.earlier_points,
            )
        except BaseException:
            await self._clear(table)
            raise
        self._tables.update(dict.fromkeys(table.keys, table))
        if self._sweep_task is None:
            self._sweep_task = self._tasks.create_task(self._sweep(), name="sweep tables")
        return table

    async def again(self, table: PlayTable, game: str, *, swap: bool) -> None:
        """Start the next game after this one, which is cancelled if it is live. Idempotent. Raises Failure."""
        async with table.busy:
            if table.game != game:
                return
            await self._call_off(table)
            await self._begin(
                table,
                table.wish.moves,
                first_is_challenger=table.first_is_challenger ^ swap,
                earlier_points=table.all_points(),
            )

    async def take_back(self, table: PlayTable, key: str, game: str, ply: int | None = None) -> None:
        """Return to the position after `ply` moves, in which the person with this key must be to move. Raises Failure.

        Without `ply`, return to the last such position.
        """
        async with table.busy:
            if table.game != game:
                return
            if table.wish.opponent == PERSON:
                raise Failure(409, "Moves against a person on another device cannot be taken back.")
            moves = max((guest.moves for guest in table.guests), key=len)
            sides = table.sides(key)
            later_plies = range(len(table.wish.moves), len(moves))
            turns = [each for each in later_plies if each % 2 in sides]
            if not turns:
                raise Failure(409, "You have not moved yet.")
            if ply is not None and ply not in turns:
                raise Failure(409, "You can return only to a position in which you were to move.")
            await self._call_off(table)
            await self._begin(
                table,
                tuple(moves[: turns[-1] if ply is None else ply]),
                first_is_challenger=table.first_is_challenger,
                earlier_points=table.earlier_points,
            )

    async def hint(self, table: PlayTable, ply: int) -> int:
        """Return the move of the website's strongest bot for the person who plays ply number `ply`. Raises Failure."""
        if not table.has_hints:
            raise Failure(409, "Only games against bots of the website have hints.")
        game = table.game  # another one can begin while this one waits
        position = await table.guest(ply % 2).position_to_move(ply)
        if (game, ply) not in table.hints:
            spec = best_fit(table.wish.variant, STRONGEST).spec
            bot = make_bot(parse_spec(_HINT_SPECS.get(spec, spec)))
            async with self._hint_lock:
                move = await asyncio.to_thread(bot.choose, position)
            cell = move.cell if isinstance(move, Move) else move
            assert isinstance(cell, int)
            table.hints = {(game, ply): cell}
        return table.hints[game, ply]

    async def close(self) -> None:
        """Remove all tables."""
        if self._sweep_task is not None:
            self._sweep_task.cancel()
        await asyncio.gather(*map(self._clear, dict.fromkeys(self._tables.values())))

    # Opening tables.

    async def _clear_unused(self, tables: list[PlayTable], refusal: str) -> None:
        """Remove the least recently used of these tables that nobody plays at. Raises Failure if there is none."""
        latest = time.monotonic() - self.settings.away
        unused = [table for table in tables if table.seen <= latest or (table.guests and table.over is not None)]
        if not unused:
            raise Failure(429, refusal, "Close one of them.")
        await self._clear(min(unused, key=lambda table: table.seen))

    def _table_to_take(self, address: str) -> PlayTable:
        """Return the table without a move for the longest time, for a visitor whose address has no table.

        Raises Failure if the address has one, or if all tables had a move lately.
        """
        latest = time.monotonic() - self.settings.kept
        unused_tables = [table for table in self._opened_tables() if table.last_move_time <= latest]
        # The address counts the table that is being opened, too.
        if self._addresses[address] > 1 or not unused_tables:
            raise self._full()
        return min(unused_tables, key=lambda table: table.last_move_time)

    def _full(self) -> Failure:
        return Failure(429, f"All {self.settings.most} tables are taken.", "Try again in a few minutes.")

    def _free_number(self) -> int:
        return next(number for number in count(1) if number not in self._numbers | self._taken_numbers)

    async def _log_in_bots(self, table: PlayTable, owner: str) -> None:
        """Log in the bots of a table. If a name belongs to another owner, try another number. Raises Failure."""
        for _ in range(_MOST_NAMES):
            try:
                for label, bot in self._players(table.wish):
                    table.seats += (await self._log_in(f"{owner}-{label}-{table.number}", bot),)
            except Failure as failure:
                if failure.status != NAME_TAKEN:
                    raise
                await self._leave(table)
                self._taken_numbers.add(table.number)
                self._numbers.discard(table.number)
                table.number = self._free_number()
                self._numbers.add(table.number)
            else:
                return
        message = f"The bots {owner}-guest-N of the website belong to another owner."
        raise Failure(409, message, "Give the website a token of another owner.")

    async def owner(self) -> str:
        """Return the owner of the token. The bots' names begin with it because a bot's name belongs to one owner."""
        try:
            token_response = await self._upstream.ask(
                self._upstream.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self"), self._token
            )
        except Failure as failure:
            if failure.status != 401:
                raise
            # The status is not 401, because the error is not about the visitor's token.
            raise Failure(409, f"The website's own token is not valid: {failure.message}", failure.hint) from failure
        return str(token_response["token"]["owner"])[:_LONGEST_OWNER]

    def _check(self, wish: Wish) -> None:
        try:
            variant = parse_variant(wish.variant)
        except VariantError as error:
            raise wrong("variant", wish.variant, error.expected) from error
        if base_name(variant.name) != variant.name:
            message = f"{variant.name}: opening rules are not supported in a browser."
            raise Failure(400, message, "Leave out the opening rule.", field="variant")
        if wish.begins not in (YOU, THEY, LOT):
            raise wrong("who moves first", wish.begins, "you, they or lot")
        if wish.mark not in (BEGINS, CROSS, NOUGHT, LOT):
            raise wrong("mark", wish.mark, "begins, x, o or lot")
        for field, time_us, most in (
            ("move", wish.time.move_us, self.settings.longest_move),
            ("increment", wish.time.increment_us, self.settings.longest_move),
            ("bank", wish.time.bank_us, self.settings.longest_base),
        ):
            if time_us > most * 1_000_000:
                raise wrong(field, f"{time_us / 1e6:g}", f"at most {most:,} seconds")
        kind, _, spec = wish.opponent.partition(":")
        if kind == "house":
            bot = next((bot for bot in HOUSE_BOTS if bot.spec == spec), None)
            if bot is None:
                raise wrong("opponent", spec, f"one of {', '.join(bot.spec for bot in HOUSE_BOTS)}")
            if not bot.plays(variant.name):
                hint = f"Choose {or_words(other.name for other in main_bots(variant.name).values())}."
                raise Failure(400, f"{bot.name} does not play {game(variant.name)}.", hint, field="opponent")
        elif wish.opponent not in (PERSON, SAME_SCREEN) and not wish.opponent.startswith("bots/"):
            raise wrong("opponent", wish.opponent, "a bot, or a person")

    def _players(self, wish: Wish) -> list[tuple[str, Bot]]:
        """Return the label and bot of each player of the website, the first person first."""
        players: list[tuple[str, Bot]] = [("guest", BrowserPlayer())]
        if wish.opponent in (PERSON, SAME_SCREEN):
            players.append(("second-guest", BrowserPlayer()))
        elif wish.opponent.startswith(HOUSE_KIND):
            spec = parse_spec(wish.opponent.removeprefix(HOUSE_KIND))
            players.append((spec.target, Unhurried(make_bot(spec), self.settings.pause, accepts_challenges=False)))
        return players

    async def _log_in(self, name: str, bot: Bot) -> _Seat:
        login = Login(self._upstream.address, self._token, name, _LOGIN_VERSION, self._upstream.dialling)
        return _Seat(bot_name(name), bot, await log_in(bot, login, self._tasks))

    # Games.

    async def _begin(
        self,
        table: PlayTable,
        opening: tuple[int, ...],
        *,
        first_is_challenger: bool,
        earlier_points: tuple[float, float],
    ) -> None:
        """Start a game after the moves of `opening`. If the server refuses it, the table stays as it is."""
        self._count_game(table.address)
        wish = table.wish
        challenge = challenge_message(
            TournamentSettings(variant=wish.variant, time=time_control(wish.time), games_per_pair=1),
            challenger=table.seats[0].name,
            opponent=table.seats[1].name if len(table.seats) > 1 else wish.opponent,
            opponent_begins=not first_is_challenger,
            seed=None,
        )
        if opening:
            cells = " ".join(map(str, opening))
            name = "start position" if opening == wish.moves else "taken back"
            challenge.openings.CopyFrom(tournaments_pb2.Openings(kind="list", name=name, text=cells))
        response = await self._upstream.call(self._upstream.challenges.CreateChallenge, challenge, self._token)
        table.game = f"{response.tournament.name}/games/1"
        table.opening = opening
        table.first_is_challenger = first_is_challenger
        table.earlier_points = earlier_points
        try:
            for guest in table.guests:
                await guest.wait_for_game(table.game)
        except TimeoutError:
            raise Failure(503, "The game did not start.", "Try again in a moment.") from None

    def _count_game(self, address: str) -> None:
        """Limit the games of unauthenticated visitors, because the server never deletes a game. Raises Failure."""
        here = f"from {address}"
        limits = {_ALL: self.settings.games_a_minute, here: self.settings.address_games}
        if not self._recent_games.count(here):
            # A few addresses must not keep others from their first game.
            limits[_ALL] *= 2
        for origin, limit in limits.items():
            if self._recent_games.count(origin) >= limit:
                raise Failure(429, f"{limit} games have been started {origin} in the last minute.", "Wait a moment.")
        for origin in limits:
            self._recent_games.add(origin)

    async def _call_off(self, table: PlayTable) -> None:
        """Cancel the live game, if there is one."""
        if table.over is None and table.game:
            name = table.game.rpartition("/games/")[0]
            try:
                await self._upstream.ask(
                    self._upstream.tournaments.CancelTournament,
                    tournaments_pb2.CancelTournamentRequest(name=name),
                    self._token,
                )
            except Failure as failure:
                # The game is already over, because the server ended it after a player's timeout.
                if failure.status != 409:
                    raise

    # Removing tables.

    async def _sweep(self) -> None:
        """Remove the tables that have been inactive for too long."""
        while True:
            await asyncio.sleep(min(_SWEEP_SECONDS, self.settings.idle / 10))
            latest = time.monotonic() - self.settings.idle
            for table in self._opened_tables():
                # It can have been removed while another one was being removed.
                if table.keys[0] in self._tables and self._last_use(table) < latest:
                    await self._clear(table)

    def _last_use(self, table: PlayTable) -> float:
        """Return the time of the last use. Against a bot of another owner only moves count, not an open page."""
        return min(table.seen, table.last_move_time) if table.wish.opponent.startswith("bots/") else table.seen

    async def _clear(self, table: PlayTable) -> None:
        for key in table.keys:
            self._tables.pop(key, None)
        try:
            with contextlib.suppress(Failure):
                if table.guests:
                    await self._call_off(table)
        finally:
            await self._leave(table)
            self._numbers.discard(table.number)
            add(self._addresses, table.address, -1)
            add(self._browsers, table.browser, -1)

    async def _leave(self, table: PlayTable) -> None:
        """End the sessions of a table's bots."""
        seats = table.seats
        table.seats = ()
        for seat in seats:
            seat.session.cancel()
        await asyncio.gather(*(seat.session for seat in seats), return_exceptions=True)
