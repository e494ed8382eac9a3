"""QR codes of addresses as SVG."""

import segno
from markupsafe import Markup

_QUIET = 4
"""The width of the empty border, in modules."""
_LARGEST_VERSION = 10
"""A larger code is too fine to be read from a screen in a hall."""


def qr_code(text: str) -> Markup:
    """Return the QR code of a text, dark on white in all themes, as readers expect; empty if the text is too long."""
    try:
        code = segno.make_qr(text, error="m", boost_error=False)
    except segno.DataOverflowError:
        return Markup("")
    if int(code.version) > _LARGEST_VERSION:
        return Markup("")
    size = len(code.matrix) + 2 * _QUIET
    cells = [(x + _QUIET, y + _QUIET) for y, row in enumerate(code.matrix) for x, is_dark in enumerate(row) if is_dark]
    dark = "".join(f"M{x} {y}h1v1h-1z" for x, y in cells)
    return Markup(  # noqa: S704  # numbers
        f'<svg class="qr" viewBox="0 0 {size} {size}" width="{size}" height="{size}" shape-rendering="crispEdges"'
        f' role="img" aria-label="QR code of the address"><rect width="{size}" height="{size}" fill="#fff"/>'
        f'<path d="{dark}"/></svg>'
    )
