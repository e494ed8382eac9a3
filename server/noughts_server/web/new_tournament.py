"""Reads the form for a new tournament."""

import re
import unicodedata
from functools import partial
from typing import Any

from noughts_proto.v1 import tournaments_pb2, types_pb2
from noughts_referee.clock import TimeControl, TimeControlError, parse_time_control
from noughts_referee.rules import OPENING_RULES, Variant, VariantError, parse_variant
from noughts_server.competition.formats import FORMATS, ROUND_ROBIN, TournamentFormat, format_named
from noughts_server.competition.formats.tournament_format import OWN_SETTINGS, FormatError
from noughts_server.competition.tournament_settings import LONGEST_TITLE, MOST_CONCURRENT, OPTIONS, TournamentSettings
from noughts_server.convert.settings import settings_message
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import tournament_name
from noughts_server.openings.books import BOOKS, book_lines
from noughts_server.openings.legality import OpeningError
from noughts_server.openings.reading import OpeningsFileError, Part, read_openings
from noughts_server.openings.settings import MOST_PLIES, Openings, OpeningsKind, OpeningsOrder
from noughts_server.web.documents import Document
from noughts_server.web.forms import (
    LARGEST_NUMBER,
    FormErrors,
    number_of,
    time_control_of,
    timestamp_of,
    whole_number,
    wrong,
)
from noughts_server.web.upstream import Failure

FORMAT_CHOICES = {str(kind).replace("-", "_"): kind for kind in FORMATS}
"""The formats by their values in the form."""
OPENING_CHOICES = {
    "": "none: the empty board",
    str(OpeningsKind.BALANCED): "at random, neither side ahead",
    str(OpeningsKind.RANDOM): "at random",
    **{book: f"the book {book}" for book in BOOKS},
    str(OpeningsKind.LIST): "my own, listed below",
}
"""The sources of openings, with their descriptions."""
KEEP_OPENINGS = "keep"
"""In the form for the changes of a tournament: its list of openings stays as it is."""
REPEAT_CHOICES = {
    "": ("no", tournaments_pb2.REPEAT_UNSPECIFIED),
    "weekly": ("every week at this time", tournaments_pb2.REPEAT_WEEKLY),
}
"""How often a tournament can repeat: the words and the value of the message, by the value in the form."""
OPENING_RULE_CHOICES = {"": "none", **{rule: rule for rule in OPENING_RULES}}
"""The opening rules, with their names."""
_DEFAULTS = {
    "variant": "gomoku",
    "schedule": "round_robin",
    "games_per_pair": "2",
    "bots": "8",
    "bank": "60",
    "increment": "1",
    "rated": "on",
}
_FIELDS = (
    "variant",
    "other",
    "schedule",
    "games_per_pair",
    "rounds",
    "sprt",
    "stop_when_decided",
    "bank",
    "increment",
    "move",
    "title",
    "id",
    "start_at",
    "join_from",
    "join_until",
    "entries_min",
    "entries_max",
    "opening_rule",
    "openings",
    "plies",
    "openings_order",
    "openings_text",
    "symmetries",
    "own_times",
    "concurrency",
    "seed",
    "repeat",
    "rated",
    "bots",
)
"""The fields that stand first in the form; the other options follow."""
EMPTY_FORM: Document = {name: _DEFAULTS.get(name, "") for name in dict.fromkeys((*_FIELDS, *OPTIONS))}
"""The values of the empty form: the default of each field, in the order of the form."""
FORM_FIELDS = {"name": "id", "kind": "openings", "openings": "plies", "order": "openings_order"}
"""The fields of the form for fields of the API that have another name there."""
ADVANCED_FIELDS = {*OPTIONS, "concurrency", "seed"} - {*OWN_SETTINGS}
"""The fields of a part of the form that is folded up until one of them has a value."""
_NUMBERS = dict.fromkeys(("games_per_pair", "concurrency"), LARGEST_NUMBER)
"""Numeric fields of the settings, with their largest values; an empty one means the default."""
_NUMBERS.update({name: option.most for name, option in OPTIONS.items() if type(option.default) is int})
_SWITCHES = tuple(name for name, option in OPTIONS.items() if type(option.default) is bool)
_TEXTS = tuple(name for name, option in OPTIONS.items() if type(option.default) is str)
_COPY = "Copy of "
_LARGEST_SEED = 2**64 - 1
_LONGEST_ADDRESS = 63
# The usual limits of entries, which the form leaves empty.
FEWEST_ENTRIES = 2
MOST_ENTRIES = 4_096


def tournament_in(values: Document) -> tournaments_pb2.Tournament:
    """Return the tournament that the form describes. Raises Failure with all wrong fields."""
    errors = FormErrors()
    if not values["id"]:
        if values["title"]:
            errors.add(wrong("id", values["title"], "letters and digits for the address"))
        else:
            errors.add(Failure(400, "Give it a title.", "The address follows from it.", field="title"))
    elif not re.fullmatch(r"[a-z0-9-]{1,63}", values["id"]):
        errors.add(wrong("id", values["id"], "1 to 63 characters from a-z, 0-9 and -"))
    settings = settings_in(values, errors)
    seed = errors.read(partial(_seed, values), None)
    tournament = settings_message(settings, seed=seed)
    tournament.name = tournament_name(values["id"])
    tournament.entries_min = errors.read(partial(number_of, values, "entries_min"), 0)
    tournament.entries_max = errors.read(partial(number_of, values, "entries_max"), 0)
    join_from, join_until, start_at = (
        errors.read(partial(timestamp_of, values, field), None) for field in ("join_from", "join_until", "start_at")
    )
    tournament.MergeFrom(tournaments_pb2.Tournament(join_from=join_from, join_until=join_until, start_at=start_at))
    tournament.repeat = errors.read(partial(_repeat, values), tournaments_pb2.REPEAT_UNSPECIFIED)
    errors.check(EMPTY_FORM)
    return tournament


def settings_in(values: Document, errors: FormErrors) -> TournamentSettings:
    """Return the settings in the fields, with defaults for wrong ones, which it adds to the errors."""
    options: dict[str, Any] = {field: values[field] for field in ("title", *_TEXTS)}
    for field, most in _NUMBERS.items():
        if number := errors.read(partial(number_of, values, field, most), 0):
            options[field] = number
    options |= {field: bool(values[field]) for field in _SWITCHES}
    no_times: dict[str, TimeControl] = {}
    own_times = errors.read(partial(_own_times, values), no_times)
    round_robin: TournamentFormat = ROUND_ROBIN
    settings = TournamentSettings(
        variant=errors.read(partial(_variant_name, values), ""),
        schedule=errors.read(partial(_schedule, values), round_robin),
        time=time_control(errors.read(partial(time_control_of, values), types_pb2.TimeControl())),
        own_times=own_times,
        openings=errors.read(partial(_openings, values), Openings()),
        rated=bool(values["rated"]) and not own_times,
        **options,
    )
    for check in (
        partial(settings.schedule.check, settings),
        settings.check_fuel,
        settings.check_scaling,
        settings.check_adjudication,
    ):
        try:
            check()
        except FormatError as error:
            errors.add(wrong(error.setting, str(error.got), error.expected))
    return settings


def address_of(title: str) -> str:
    """Return the part of an address for a title: `spring-cup-2026` for `Spring Cup 2026`; empty without letters."""
    letters = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:_LONGEST_ADDRESS].strip("-")


def values_of(tournament: Document, *, is_same: bool = False) -> Document:
    """Return the values of the form for another tournament with the same settings, without its address and times.

    With `is_same`, they are those for changes of the same tournament. The server does not send the text of a list of
    openings, so another tournament has no list, except a book.
    """
    variant, _, rule = tournament["variant"].partition("+")
    time, openings = tournament["time"], tournament["openings"] or {}
    own_times = (f"{label}={_time_text(each)}" for label, each in tournament["own_times"].items())
    kind = openings.get("kind", "")
    book = openings.get("name", "") if kind == OpeningsKind.LIST else ""
    texts = {
        **{name: tournament[name] for name in OPTIONS},
        "title": tournament["title"] if is_same else _title_of_copy(tournament["title"]),
        "variant": variant,
        "opening_rule": rule,
        "schedule": tournament["schedule"],
        "games_per_pair": tournament["games_per_pair"],
        "bots": max(tournament["entries"], 2),
        "bank": time["bank_us"] / 1e6,
        "increment": time["increment_us"] / 1e6,
        "move": time["move_us"] / 1e6,
        "own_times": "\n".join(own_times),
        "entries_min": tournament["entries_min"] if tournament["entries_min"] > FEWEST_ENTRIES else "",
        "entries_max": tournament["entries_max"] if tournament["entries_max"] < MOST_ENTRIES else "",
        "openings": book if book in BOOKS else kind,
        "plies": openings.get("plies", ""),
        "openings_order": openings.get("order", ""),
        "symmetries": "on" if openings.get("symmetries") else "",
        "concurrency": tournament["concurrency"] if tournament["concurrency"] != MOST_CONCURRENT else "",
        "rated": "on" if tournament["rated"] else "",
        "repeat": tournament["repeat"],
    }
    if is_same:
        texts["id"] = tournament["name"].partition("/")[2]
        texts |= {name: (tournament[name] or "")[:16] for name in ("start_at", "join_from", "join_until")}
        if kind == OpeningsKind.LIST:
            texts["openings"] = KEEP_OPENINGS
    return {name: _field_text(texts.get(name, "")) for name in EMPTY_FORM}


def _title_of_copy(title: str) -> str:
    return f"{_COPY}{title.removeprefix(_COPY)}"[:LONGEST_TITLE] if title else ""


def _field_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, float):
        return f"{value:.15g}" if value else ""
    return str(value or "")


def _time_text(time: Document) -> str:
    return str(TimeControl(move_us=time["move_us"], bank_us=time["bank_us"], increment_us=time["increment_us"]))


def _schedule(values: Document) -> TournamentFormat:
    if values["schedule"] not in FORMAT_CHOICES:
        raise wrong("schedule", values["schedule"], f"one of {', '.join(FORMAT_CHOICES)}")
    return format_named(values["schedule"])


def _repeat(values: Document) -> "tournaments_pb2.Repeat.ValueType":
    if values["repeat"] not in REPEAT_CHOICES:
        raise wrong("repeat", values["repeat"], f"nothing or one of {', '.join(filter(None, REPEAT_CHOICES))}")
    return REPEAT_CHOICES[values["repeat"]][1]


def _seed(values: Document) -> int | None:
    return whole_number("seed", values["seed"], 0, _LARGEST_SEED) if values["seed"] else None


def _variant_name(values: Document) -> str:
    """Return the name of the variant with its opening rule. Only the server can check a variant of its plugins."""
    name, rule = values["variant"], values["opening_rule"]
    if rule not in OPENING_RULE_CHOICES:
        raise wrong("opening_rule", rule, f"one of {', '.join(OPENING_RULES)}")
    full_name = f"{name}+{rule}" if rule else name
    if rule and _known_variant(name) is not None:
        try:
            parse_variant(full_name)
        except VariantError as error:
            raise wrong("opening_rule", rule, error.expected) from error
    return full_name


def _known_variant(name: str) -> Variant | None:
    try:
        return parse_variant(name)
    except VariantError:
        return None


def _own_times(values: Document) -> dict[str, TimeControl]:
    """Return the times of single bots by label, from lines such as `Slow=5/move`."""
    times: dict[str, TimeControl] = {}
    for line in filter(None, map(str.strip, values["own_times"].splitlines())):
        # Labels can contain `=` (`nextstep:depth=3`), times cannot.
        label, _, text = line.rpartition("=")
        if not label:
            raise wrong("own_times", line, "one bot a line with its time, e.g. slow-bot=5/move")
        if label in times:
            raise wrong("own_times", line, f"{label} only once")
        try:
            times[label] = parse_time_control(text)
        except TimeControlError as error:
            raise wrong("own_times", line, f"as time of {label}: {error.expected}") from error
    return times


def _openings(values: Document) -> Openings:
    """Return the openings. The server checks those at random."""
    kind, order, text = values["openings"], values["openings_order"] or "sequential", values["openings_text"]
    if kind not in (*OPENING_CHOICES, KEEP_OPENINGS):
        raise wrong("openings", kind, f"one of {', '.join(filter(None, OPENING_CHOICES))}")
    if order not in list(OpeningsOrder):
        raise wrong("openings_order", order, " or ".join(OpeningsOrder))
    if text.strip() and kind != OpeningsKind.LIST:
        raise wrong("openings", kind, f"“{OPENING_CHOICES[str(OpeningsKind.LIST)]}”, because openings are listed")
    if kind == KEEP_OPENINGS:
        return Openings()
    plies = number_of(values, "plies", MOST_PLIES)
    base = Openings(order=OpeningsOrder(order), symmetries=bool(values["symmetries"]))
    if not kind:
        if base.symmetries:
            raise wrong("symmetries", "on", "openings")
        return Openings()
    if kind in (OpeningsKind.RANDOM, OpeningsKind.BALANCED):
        return Openings(OpeningsKind(kind), plies=plies, symmetries=base.symmetries)
    try:
        variant = parse_variant(f"{values['variant']}+{values['opening_rule']}".rstrip("+"))
    except VariantError as error:
        raise wrong("variant", values["variant"], error.expected) from error
    field = "openings" if kind in BOOKS else "openings_text"
    lines = book_lines(kind) if kind in BOOKS else text.splitlines()
    try:
        return read_openings(base, kind, lines, variant, Part(plies=plies))
    except (OpeningsFileError, OpeningError) as error:
        raise Failure(400, f"{OPENING_CHOICES[kind]}: {error}", field=field) from error
