"""Bots as WebAssembly modules: `wasm:./player.wasm`. Their interface is `noughts_bots/include/noughts_bot.h`.

Pointers are 32-bit numbers, and structs have the layout that the header has for wasm32. The cost of a move is counted
in fuel, roughly one unit for each instruction: see `fuel_of`.
"""

import struct
import sys
from array import array
from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from noughts_bots.hosts import folder
from noughts_bots.hosts.c_rules import RulesInC, rules_in_c, table_size, written_options
from noughts_bots.sdk.bot import Bot, Exhausted, Resign
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position, Variant

if TYPE_CHECKING:
    from noughts_bots.hosts.sandbox import Instance, Program

CRASHED = 70
"""The exit code of a host whose module has trapped."""
FUEL_PER_MICROSECOND = 1_000_000
"""Fuel for each microsecond of a time limit: more than any machine uses, so that the clock ends slow moves first."""
UNTIMED_FUEL = 20_000_000_000
"""Fuel for a move without a time limit: enough for at least about ten seconds."""

_API = struct.Struct("<7I")  # `noughts_bot_api`
_VARIANT = struct.Struct("<19I")  # `noughts_variant`
_TURN = struct.Struct("<4IQqqI4x")  # `noughts_turn`
_WORD = 4
"""Bytes of a number of 32 bits."""
_FUEL = "fuel"


def load(target: str, options: Mapping[str, str]) -> "WasmBot":
    """Load the module at the path `target`. Raises BotSpecError."""
    subject = f"bot 'wasm:{target}'"
    path = folder() / Path(target).expanduser()
    try:
        from noughts_bots.hosts.sandbox import LARGEST_MODULE, Program
    except ModuleNotFoundError:
        advice = "run this in a checkout of Noughts: pip install '.[wasm]'"
        raise BotSpecError(subject, "no wasmtime", "the package wasmtime", advice) from None
    try:
        with path.open("rb") as file:
            module = file.read(LARGEST_MODULE + 1)
    except OSError as error:
        got, expected = f"{path}: {error.strerror}", "a WebAssembly module"
        raise BotSpecError(subject, got, expected, "build it, or fix the path") from None
    return WasmBot(Program(module, subject), options)


def fuel_of(position: Position) -> int:
    """Return the fuel of a move: the tournament's, or enough that only the clock ends moves of timed games."""
    if position.fuel:
        return position.fuel
    return position.limit_us * FUEL_PER_MICROSECOND if position.own_clock_us else UNTIMED_FUEL


class _Api(NamedTuple):
    """The module's table `noughts_bot_api`: numbers, and addresses of functions and texts. Missing entries are 0."""

    size: int
    version: int
    play: int
    create: int
    destroy: int
    name: int
    variants: int


class _Prepared(NamedTuple):
    """A variant that the module has prepared."""

    address: int
    """Address of the rules in the module's memory."""
    bot: int
    """The result of the module's `create`; 0 without that function, or if the module does not play the variant."""
    plays: bool


class WasmBot(Bot):
    """A bot whose moves a module chooses. A module that has run out of fuel restarts with a fresh memory."""

    def __init__(self, program: "Program", options: Mapping[str, str]) -> None:
        self._program = program
        self._fuel = _read_fuel(options, program.subject)
        self._options = written_options({key: value for key, value in options.items() if key != _FUEL})
        self._prepared: dict[Variant, _Prepared] = {}
        self._begin()
        self.name = self._instance.text(self._api.name)
        """The module's own name; can be empty."""
        self.variants = tuple(self._instance.text(self._api.variants).split())

    def _begin(self) -> None:
        """Start the module. Raises BotSpecError."""
        from noughts_bots.hosts.sandbox import Trapped

        subject = self._program.subject
        self._prepared.clear()
        self._instance = instance = self._program.start()
        try:
            self._api = _read_api(instance, subject)
            self._turn = instance.reserve(_TURN.size + _WORD)  # the address of the question
            self._moves = 0  # the address of the game's moves; 0 before the first variant is prepared
            self._moves_size = 0
        except Trapped as error:
            raise BotSpecError(subject, str(error), "its table of functions", "return a noughts_bot_api") from None
        self._play = instance.function(self._api.play)
        create = self._api.create
        self._create: Callable[..., int] | None = instance.function(create) if create else None

    def choose(self, position: Position) -> int:
        prepared = self._prepared.get(position.variant) or self._prepare(position.variant)
        if not prepared.plays:
            raise Resign(f"the module does not play {position.variant.name}")
        self._write_turn(position, prepared)
        fuel = self._fuel or fuel_of(position)
        cell = self._run(self._play, fuel, prepared.bot, self._turn)
        if cell < 0:
            raise Resign
        return cell

    def _write_turn(self, position: Position, prepared: _Prepared) -> None:
        self._instance.write(self._moves, array("I", position.moves).tobytes())
        self._instance.write(
            self._turn,
            _TURN.pack(
                _TURN.size,
                position.side,
                len(position.moves),
                self._moves,
                position.seed,
                position.limit_us // 1000 if position.own_clock_us else -1,
                position.opponent_clock_us // 1000 if position.opponent_clock_us else -1,
                prepared.address,
            ),
        )

    def _run(self, function: Callable[..., int], fuel: int, *numbers: int) -> int:
        from noughts_bots.hosts.sandbox import OutOfFuel, Trapped

        try:
            return function(fuel, *numbers)
        except OutOfFuel:
            # The module stopped at an arbitrary place, so its memory cannot be trusted.
            self._begin()
            raise Exhausted(f"the module used up its fuel of {fuel:,}") from None
        except Trapped as error:
            self._exit(error)

    def _exit(self, error: Exception) -> NoReturn:
        """End this process, so that the referee sees a crash."""
        print(f"the module trapped: {error}", file=sys.stderr, flush=True)  # noqa: T201  # the bot's author reads it
        raise SystemExit(CRASHED)

    def _prepare(self, variant: Variant) -> _Prepared:
        from noughts_bots.hosts.sandbox import START_FUEL, Trapped

        try:
            address, options = self._write_rules(rules_in_c(variant))
        except Trapped as error:
            self._exit(error)
        bot = 0 if self._create is None else self._run(self._create, START_FUEL, address, options)
        plays = self._create is None or bool(bot)
        if not plays:
            options_text = f" with {self._options.decode()}" if self._options else ""
            print(f"the module does not play {variant.name}{options_text}: it resigns", file=sys.stderr)  # noqa: T201  # as above
        prepared = self._prepared[variant] = _Prepared(address, bot, plays)
        return prepared

    def _write_rules(self, rules: RulesInC) -> tuple[int, int]:
        """Write the rules and the options into new memory of the module, and return their two addresses.

        The new memory also has space for the moves of a game.
        """
        sets = (rules.lines, rules.beside, rules.below, rules.shut)
        arrays = [numbers.tobytes() for cell_sets in sets for numbers in cell_sets]
        parts = [*arrays, _c_text(rules.name), _c_text(self._options)]
        moves_size = _WORD * rules.cells
        address = self._instance.reserve(_VARIANT.size + sum(map(len, parts)) + moves_size)
        # The address of each part, and the address after the last one, where the moves of a game have their place.
        *part_addresses, moves_address = accumulate(map(len, parts), initial=address + _VARIANT.size)
        lines = part_addresses[0:2]
        beside = part_addresses[2:4]
        below = part_addresses[4:6]
        shut = part_addresses[6:8]
        name, options = part_addresses[8:]
        numbers = (rules.columns, rules.rows, rules.layers, rules.cells, rules.k, rules.gravity, rules.exact)
        words = (_VARIANT.size, *numbers, rules.lines_count, *lines, *beside, *below, name, *shut, rules.forbids)
        self._instance.write(address, _VARIANT.pack(*words) + b"".join(parts))
        if moves_size > self._moves_size:
            self._moves = moves_address
            self._moves_size = moves_size
        return address, options


def _c_text(text: bytes) -> bytes:
    """Return the text with its NUL, padded to whole words."""
    words = len(text) // _WORD + 1
    return text.ljust(words * _WORD, b"\0")


def _read_api(instance: "Instance", subject: str) -> _Api:
    entry = instance.entry
    start = struct.unpack("<II", instance.read(entry, 2 * _WORD)) if entry else None
    size = table_size(start, 3 * _WORD, subject)
    return _Api(*_API.unpack(instance.read(entry, min(size, _API.size)).ljust(_API.size, b"\0")))


def _read_fuel(options: Mapping[str, str], subject: str) -> int:
    """Return the value of the option `fuel`; 0 without it. Raises BotSpecError."""
    text = options.get(_FUEL, "")
    if not text:
        return 0
    if not text.isdecimal() or not int(text):
        advice = "fuel counts the instructions of a move; leave it out to use the time control instead"
        raise BotSpecError(f"{subject}, option fuel", text, "a whole number, at least 1", advice)
    return int(text)
