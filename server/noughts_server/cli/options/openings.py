"""Options for the openings of games."""

import re
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_referee.rules import Variant
from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.openings.books import BOOKS, book_lines
from noughts_server.openings.choosing import check_openings
from noughts_server.openings.legality import OpeningError
from noughts_server.openings.reading import OpeningsFileError, Part, read_openings_file
from noughts_server.openings.reading import read_openings as read_lines
from noughts_server.openings.settings import Openings, OpeningsKind, OpeningsOrder

OpeningsOption = Annotated[
    str,
    Option(
        "--openings",
        metavar="WHICH",
        autocompletion=completion.openings,
        help="Openings: `random:K`, `balanced:K`, `balanced15`, `balanced20` or a file",
        rich_help_panel="Openings",
    ),
]

_RANDOM = re.compile(r"(random|balanced):(.*)")
_PARTS = re.compile(r"(.+?)((?:,[a-z_]+=[^,]*)+)")
_KEYS = ("start", "plies")
_LONGEST_NUMBER = 6


def read_openings(text: str, order: str, symmetries: bool, variant: Variant) -> Openings:
    """Return the openings of the options, checked for the variant. Raise UsageProblem, OSError."""
    if text == "none":
        if symmetries or order != "sequential":
            option = "--symmetries" if symmetries else f"--openings-order {order}"
            raise UsageProblem(f"{option}: got no openings, expected --openings as well")
        return Openings()
    with problems_with(f"--openings {text}", OpeningError, OpeningsFileError):
        openings = _read(text, order, symmetries, variant)
        check_openings(openings, variant)
        return openings


def _read(text: str, order: str, symmetries: bool, variant: Variant) -> Openings:
    orders = [str(name) for name in OpeningsOrder]
    if order not in orders:
        raise UsageProblem(f"--openings-order {order!r}: expected {' or '.join(f'`{name}`' for name in orders)}")
    base = Openings(order=OpeningsOrder(order), symmetries=symmetries)
    if (random := read_random_openings(text, order, symmetries)) is not None:
        return random
    if variant.agreement:
        # The caller refuses any list for this variant, so the file is not read.
        return Openings(OpeningsKind.LIST, name=text)
    place, part = _part(text, order)
    if place in BOOKS:
        return read_lines(base, text, book_lines(place), variant, part)
    file = Path(place)
    if file.is_dir():
        raise UsageProblem(f"--openings {text}: got a folder, expected a file with one opening per line")
    if not file.exists():
        raise UsageProblem(
            (
                f"--openings {text}: there is no such file; expected `none`, `random:K`, `balanced:K`, "
                f"{', '.join((f'`{book}`' for book in BOOKS))} or a file"
            ),
            'Write one opening per line: `x,y, x,y` from the middle, `h8i9`, or JSON with "moves".',
        )
    return read_openings_file(base, file, variant, part, file.name + text.removeprefix(place))


def read_random_openings(text: str, order: str, symmetries: bool) -> Openings | None:
    """Return the openings of `random:K` and `balanced:K`; None for others. Raise UsageProblem."""
    parsed = _RANDOM.fullmatch(text)
    if parsed is None:
        return None
    kind, value = parsed.groups()
    plies, _, options = value.partition(",")
    if options:
        fix = f"Write {kind}:{plies}. A book or a file can have start= and plies=, as in balanced15,start=2."
        raise UsageProblem(
            f"--openings {text}: got {options} after {kind}:{plies}, expected only a number of plies", fix
        )
    if order != "sequential":
        raise UsageProblem(f"--openings-order {order}: got {text}, expected a file or a book, which has an order")
    if not (plies.isascii() and plies.isdigit() and len(plies) < 4):
        raise UsageProblem(f"--openings {text}: got {plies!r} plies, expected a number as in `{kind}:6`")
    return Openings(OpeningsKind(kind), plies=int(plies), symmetries=symmetries)


def _part(text: str, order: str) -> tuple[str, Part]:
    """Return the file or book of `book.txt,start=100,plies=6`, and the part of it to use. Raise UsageProblem."""
    parsed = None if Path(text).exists() else _PARTS.fullmatch(text)
    if parsed is None:
        return text, Part()
    place, part_text = parsed.groups()
    numbers: dict[str, int] = {}
    for name, _, value in (option.partition("=") for option in part_text[1:].split(",")):
        if name not in _KEYS:
            fix = f"Write it as in {place},start=100,plies=6, where both keys are optional."
            raise UsageProblem(f"--openings {text}: got the key {name}, expected {' or '.join(_KEYS)}", fix)
        if name in numbers:
            raise UsageProblem(f"--openings {text}: got {name} twice, expected it once", f"Remove one {name}=.")
        if not (value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER and int(value)):
            raise UsageProblem(
                f"--openings {text}: got {name}={value}, expected a whole number from 1", f"Write {place},{name}=2."
            )
        numbers[name] = int(value)
    if "start" in numbers and order != "sequential":
        raise UsageProblem(f"--openings {text}: got start with --openings-order {order}, expected one of the two")
    return place, Part(**numbers)
