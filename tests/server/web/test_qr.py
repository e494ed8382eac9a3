"""QR codes of addresses."""

import re

import segno

from noughts_server.web.qr import qr_code

ADDRESS = "https://games.example.org/tournaments/spring-cup-2027"
MODULE = re.compile(r"M(\d+) (\d+)h1v1h-1z")


def test_code_has_the_modules_of_its_text_inside_an_empty_border() -> None:
    svg = qr_code(ADDRESS)
    dark = {(int(x) - 4, int(y) - 4) for x, y in MODULE.findall(svg)}
    matrix = segno.make_qr(ADDRESS, error="m", boost_error=False).matrix
    assert dark == {(x, y) for y, row in enumerate(matrix) for x, module in enumerate(row) if module}
    assert f'viewBox="0 0 {len(matrix) + 8} {len(matrix) + 8}"' in svg


def test_text_that_is_too_long_has_no_code() -> None:
    assert qr_code(ADDRESS * 10) == ""
    assert qr_code(ADDRESS * 100) == ""
