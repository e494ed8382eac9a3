"""Options of an engine in its spec: `gomocup{restart=on,threads=2,info.evaluate=1}:COMMAND`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from noughts_bots.sdk.errors import BotSpecError

MEMORY_BYTES = 367_001_600
"""The default of the option `memory`: 350 MiB, Gomocup's limit and the default of managers."""

_INFO = "info."
_INFO_KEY = re.compile(r"[A-Za-z0-9_\-]{1,40}")
_MEMORY = re.compile(r"(\d{1,9})(m|mib|mb|g|gib|gb)?", re.IGNORECASE)
_MIB = 1024 * 1024
_MOST_MEMORY_MIB = 1 << 20
"""A terabyte: larger numbers are typing errors."""
_LONGEST_PAUSE_US = 1_000_000


class Restart(StrEnum):
    """How an engine prepares for its next game."""

    AUTO = "auto"
    """RESTART, or a new process if RESTART is refused twice or not answered."""
    ON = "on"
    """A new process for each game."""
    OFF = "off"
    """RESTART only: an engine that refuses it has crashed."""


class Swap2(StrEnum):
    """Whether and how the engine chooses openings by agreement."""

    OFF = "off"
    """The engine does not choose: the server makes the usual choices for it."""
    ON = "on"
    """The engine gets SWAP2BOARD with stones as `x,y`."""
    COLOURS = "colours"
    """The engine gets SWAP2BOARD with stones as `x,y,c`."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The options of an engine."""

    restart: Restart = Restart.AUTO
    board: bool = False
    """Whether every question sends the whole board (BOARD), not only the opponent's last move (TURN)."""
    memory_bytes: int = MEMORY_BYTES
    """The memory limit sent to the engine (`max_memory`)."""
    infos: Mapping[str, str] = field(default_factory=dict)
    """Other INFO keys and values for the engine, in this order."""
    swap2: Swap2 = Swap2.OFF
    in_own_folder: bool = False
    """Whether it runs in its program's folder, and not in an empty folder of its own."""
    score: str = ""
    """The word before the score in its messages; empty: the usual ones."""
    settle_us: int | None = None
    """The pause between the engine's last line and the next question in microseconds.

    None: the pause grows while the engine loses parts of questions.
    """
    margin: str = ""
    """The time margin of the engine's moves, as for `--margin`; empty: that of the tournament."""
    time: str = ""
    """The engine's time control, as for `--time`; empty: that of the tournament."""


def read_options(options: Mapping[str, str], subject: str) -> EngineOptions:
    """Return the options of a spec. `subject` names the engine in errors. Raises BotSpecError."""
    fields: dict[str, Any] = {}
    infos: dict[str, str] = {}
    for key, value in options.items():
        if key.startswith(_INFO):
            name = key.removeprefix(_INFO)
            if not _INFO_KEY.fullmatch(name):
                expected = "letters, digits, - and _"
                advice = "as in info.evaluate=1"
                raise BotSpecError(f"{subject}, option {key}", repr(name), expected, advice)
            infos[name] = value
            continue
        if key not in _OPTIONS:
            advice = "write gomocup{KEY=VALUE,...}:COMMAND"
            raise BotSpecError(subject, f"option {key}", f"one of {', '.join(_OPTIONS)} or {_INFO}KEY", advice)
        name, read, expected, advice = _OPTIONS[key]
        try:
            parsed = read(value)
        except (KeyError, ValueError):
            raise BotSpecError(f"{subject}, option {key}", value, expected, advice) from None
        if name.startswith(_INFO):
            infos[name.removeprefix(_INFO)] = parsed
        else:
            fields[name] = parsed
    return EngineOptions(**fields, infos=infos)


def _read_count(text: str) -> str:
    """Return the text of a number of at least 1. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 31:
        raise ValueError
    return text


def read_size(text: str) -> int:
    """Return the bytes of a size in MiB, or in GiB with a `g`. Raises ValueError."""
    match = _MEMORY.fullmatch(text.strip())
    mib = 0
    if match is not None:
        is_gib = (match[2] or "").lower().startswith("g")
        mib = int(match[1]) * (1024 if is_gib else 1)
    if not 0 < mib <= _MOST_MEMORY_MIB:
        raise ValueError(f"got {text!r}, expected a size such as 512 or 2g")
    return mib * _MIB


def _read_pause(text: str) -> int:
    """Return the microseconds of a pause in milliseconds, such as `2ms` or `2`. Raises ValueError."""
    microseconds = round(float(text.strip().lower().removesuffix("ms")) * 1000)
    if not 0 <= microseconds <= _LONGEST_PAUSE_US:
        raise ValueError(f"got {text!r}, expected 0 to {_LONGEST_PAUSE_US // 1000} ms")
    return microseconds


_A_NUMBER = "a whole number from 1"
_OPTIONS: dict[str, tuple[str, Callable[[str], Any], str, str]] = {
    "restart": ("restart", Restart, "on, off or auto", "on: a new process for each game; off: only RESTART"),
    "swap2": ("swap2", Swap2, "on, off or colours", "on: SWAP2BOARD with stones as x,y; colours: as x,y,c"),
    "board": (
        "board", {"on": True, "off": False}.__getitem__,
        "on or off", "on: the whole board with every question, not the last move alone",
    ),
    "depth": ("info.max_depth", _read_count, _A_NUMBER, "it is sent as INFO max_depth"),
    "nodes": ("info.max_node", _read_count, _A_NUMBER, "it is sent as INFO max_node"),
    "threads": ("info.thread_num", _read_count, _A_NUMBER, "it is sent as INFO thread_num"),
    "memory": ("memory_bytes", read_size, "a size such as 350 (MiB) or 2g", "it is sent as INFO max_memory, in bytes"),
    "cwd": (
        "in_own_folder", {"engine": True, "scratch": False}.__getitem__,
        "engine or scratch", "engine: the folder of its program; scratch: an empty one of its own",
    ),
    "score": ("score", str, "", ""),
    "settle": (
        "settle_us", _read_pause,
        "milliseconds from 0 to 1000, as in 2ms", "it is the pause before each question",
    ),
    "margin": ("margin", str, "", ""),
    "time": ("time", str, "", ""),
}  # fmt: skip
"""For each option: the field or info that it sets, its parser, the values that it can have, and advice."""
