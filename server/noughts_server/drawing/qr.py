"""QR codes of addresses as SVG, by ISO/IEC 18004: bytes, error correction level M, versions 1 to 10."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat, zip_longest
from typing import NamedTuple

from markupsafe import Markup

_QUIET = 4
"""The width of the empty border, in modules."""


class _Version(NamedTuple):
    """A size of codes: its blocks of codewords, and the centres of its alignment patterns."""

    corrections: int
    """The codewords for error correction in each block."""
    blocks: tuple[int, ...]
    """The data codewords of each block."""
    alignments: tuple[int, ...]


_VERSIONS = (
    _Version(10, (16,), ()),
    _Version(16, (28,), (6, 18)),
    _Version(26, (44,), (6, 22)),
    _Version(18, (32,) * 2, (6, 26)),
    _Version(24, (43,) * 2, (6, 30)),
    _Version(16, (27,) * 4, (6, 34)),
    _Version(18, (31,) * 4, (6, 22, 38)),
    _Version(22, (38, 38, 39, 39), (6, 24, 42)),
    _Version(22, (36, 36, 36, 37, 37), (6, 26, 46)),
    _Version(26, (43, 43, 43, 43, 44), (6, 28, 50)),
)
_POWERS = [1]
"""The powers of 2 in the field of 256 elements with the polynomial x^8 + x^4 + x^3 + x^2 + 1."""
for _ in range(254):
    _POWERS.append(_POWERS[-1] << 1 ^ (0x11D if _POWERS[-1] & 0x80 else 0))
_LOGARITHMS = {power: exponent for exponent, power in enumerate(_POWERS)}

Modules = list[list[bool | None]]
"""Rows of modules, True for dark; None is not decided yet."""


def qr_code(text: str) -> Markup:
    """Return the QR code of a text, dark on white in all themes, as readers expect; empty if the text is too long."""
    rows = qr_modules(text)
    if rows is None:
        return Markup("")
    size = len(rows) + 2 * _QUIET
    dark = "".join(
        f"M{x + _QUIET} {y + _QUIET}h1v1h-1z" for y, row in enumerate(rows) for x, module in enumerate(row) if module
    )
    return Markup(  # noqa: S704  # numbers
        f'<svg class="qr" viewBox="0 0 {size} {size}" width="{size}" height="{size}" shape-rendering="crispEdges"'
        f' role="img" aria-label="QR code of the address"><rect width="{size}" height="{size}" fill="#fff"/>'
        f'<path d="{dark}"/></svg>'
    )


def qr_modules(text: str) -> list[list[bool]] | None:
    """Return the rows of modules, True for dark; None if the text has more bytes than version 10 holds."""
    data = text.encode()
    for number, version in enumerate(_VERSIONS, start=1):
        length_bits = 8 if number < 10 else 16
        capacity = 8 * sum(version.blocks)
        bits = f"0100{len(data):0{length_bits}b}{''.join(f'{byte:08b}' for byte in data)}"
        if len(bits) <= capacity:
            bits += "0" * min(4, capacity - len(bits))
            bits += "0" * (-len(bits) % 8)
            codewords = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
            padding = [0xEC, 0x11] * (capacity // 16)
            codewords += padding[: capacity // 8 - len(codewords)]
            return _best_masked(number, version, _interleaved(version, codewords))
    return None


def _interleaved(version: _Version, codewords: list[int]) -> list[int]:
    """Return the codewords of all blocks in turn, then those of the error correction."""
    blocks: list[list[int]] = []
    start = 0
    for length in version.blocks:
        blocks.append(codewords[start : start + length])
        start += length
    generator = _generator(version.corrections)
    corrections = [_remainder(block, generator) for block in blocks]
    in_turn = chain.from_iterable(chain(zip_longest(*blocks), zip_longest(*corrections)))
    return [codeword for codeword in in_turn if codeword is not None]


def _product(one: int, other: int) -> int:
    return _POWERS[(_LOGARITHMS[one] + _LOGARITHMS[other]) % 255] if one and other else 0


def _generator(degree: int) -> list[int]:
    """Return the coefficients after the first of the product of (x - 2^i) for i below the degree."""
    polynomial = [1]
    for exponent in range(degree):
        shifted = [*polynomial, 0]
        for at, coefficient in enumerate(polynomial):
            shifted[at + 1] ^= _product(coefficient, _POWERS[exponent])
        polynomial = shifted
    return polynomial[1:]


def _remainder(block: Sequence[int], generator: Sequence[int]) -> list[int]:
    """Return the codewords for error correction: the remainder of the block's polynomial."""
    remainder = [0] * len(generator)
    for codeword in block:
        factor = codeword ^ remainder[0]
        remainder = [*remainder[1:], 0]
        for at, coefficient in enumerate(generator):
            remainder[at] ^= _product(coefficient, factor)
    return remainder


def _best_masked(number: int, version: _Version, codewords: Sequence[int]) -> list[list[bool]]:
    """Return the code with the mask that has the lowest penalty."""
    fixed = _fixed_patterns(number, version)
    bits = "".join(f"{codeword:08b}" for codeword in codewords)
    candidates = [_masked(fixed, bits, mask) for mask in range(8)]
    return min(candidates, key=_penalty)


def _fixed_patterns(number: int, version: _Version) -> Modules:
    """Return the patterns that do not depend on the text; the places of the format are light."""
    size = 17 + 4 * number
    rows: Modules = [[None] * size for _ in range(size)]
    for at in range(8, size - 8):
        rows[6][at] = rows[at][6] = at % 2 == 0
    for centre_x, centre_y in ((3, 3), (size - 4, 3), (3, size - 4)):
        for y in range(max(0, centre_y - 4), min(size, centre_y + 5)):
            for x in range(max(0, centre_x - 4), min(size, centre_x + 5)):
                rows[y][x] = max(abs(x - centre_x), abs(y - centre_y)) not in (2, 4)
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for centre_y in version.alignments:
        for centre_x in version.alignments:
            if (centre_x, centre_y) not in corners:
                for y in range(centre_y - 2, centre_y + 3):
                    for x in range(centre_x - 2, centre_x + 3):
                        rows[y][x] = max(abs(x - centre_x), abs(y - centre_y)) != 1
    for at in range(9):
        rows[8][at] = rows[8][at] or False
        rows[at][8] = rows[at][8] or False
    for at in range(size - 8, size):
        rows[8][at] = rows[at][8] = False
    rows[size - 8][8] = True
    if number >= 7:
        for bit, dark in enumerate(_with_check(number, 6, 0x1F25)):
            rows[size - 11 + bit % 3][bit // 3] = rows[bit // 3][size - 11 + bit % 3] = dark
    return rows


def _with_check(value: int, bits: int, polynomial: int) -> list[bool]:
    """Return the bits of a value with those of its BCH code, the lowest first."""
    degree = polynomial.bit_length() - 1
    remainder = value << degree
    for bit in range(bits - 1, -1, -1):
        if remainder >> (bit + degree) & 1:
            remainder ^= polynomial << bit
    whole = value << degree | remainder
    return [bool(whole >> bit & 1) for bit in range(bits + degree)]


def _masked(fixed: Modules, bits: str, mask: int) -> list[list[bool]]:
    """Return the code with its data under this mask, and with the format."""
    size = len(fixed)
    rows = [[bool(module) for module in row] for row in fixed]
    for (x, y), digit in zip(_data_places(fixed), chain(bits, repeat("0")), strict=False):
        rows[y][x] = (digit == "1") != _MASKS[mask](y, x)
    # Level M has the number 0. The standard inverts some bits, so that no format is empty.
    inverted = 0x5412
    for bit, dark in enumerate(_with_check(mask, 5, 0x537)):
        module = dark != bool(inverted >> bit & 1)
        down = bit if bit < 6 else bit + 1 if bit < 8 else size - 15 + bit
        along = size - 1 - bit if bit < 8 else 7 if bit == 8 else 14 - bit
        rows[down][8] = rows[8][along] = module
    return rows


def _data_places(fixed: Modules) -> Iterator[tuple[int, int]]:
    """Yield the places of data in order: pairs of columns from the right, alternately up and down."""
    size = len(fixed)
    rights = [right for right in range(size - 1, 0, -2) if right > 6]
    rights += [5, 3, 1]
    for turn, right in enumerate(rights):
        for step in range(size):
            y = step if turn % 2 else size - 1 - step
            for x in (right, right - 1):
                if fixed[y][x] is None:
                    yield x, y


_MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda y, x: (y + x) % 2 == 0,
    lambda y, x: y % 2 == 0,
    lambda y, x: x % 3 == 0,
    lambda y, x: (y + x) % 3 == 0,
    lambda y, x: (y // 2 + x // 3) % 2 == 0,
    lambda y, x: y * x % 2 + y * x % 3 == 0,
    lambda y, x: (y * x % 2 + y * x % 3) % 2 == 0,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2 == 0,
)


def _penalty(rows: list[list[bool]]) -> int:
    """Return the penalty of a code: patterns that are hard to read cost points."""
    size = len(rows)
    points = 0
    lines = ["".join("1" if module else "0" for module in line) for line in (*rows, *zip(*rows, strict=True))]
    for line in lines:
        for run in line.replace("01", "0 1").replace("10", "1 0").split():
            if len(run) >= 5:
                points += len(run) - 2
        for at in range(size - 10):
            points += 40 * (line[at : at + 11] in ("10111010000", "00001011101"))
    for y in range(size - 1):
        for x in range(size - 1):
            points += 3 * (rows[y][x] == rows[y][x + 1] == rows[y + 1][x] == rows[y + 1][x + 1])
    dark = sum(map(sum, rows))
    return points + 10 * int(abs(20 * dark / size**2 - 10))
