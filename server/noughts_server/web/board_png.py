"""Boards as PNG files for previews of links, because most services do not show SVG.

The renderer (resvg) gets only numbers and our own style sheet: no names, no fonts and no addresses. Each picture has a
process of its own, because the renderer would block the website's event loop for a tenth of a second. The visitors take
turns, and one picture is drawn at a time. The process has the lowest priority, so that pictures do not delay games.
"""

import asyncio
import re
import subprocess
from functools import partial
from importlib.util import find_spec

from noughts_proto.interpreter import environment, python
from noughts_server.core.computing import Computing
from noughts_server.drawing.board_svg import board_css, board_svg
from noughts_server.web.documents import Document
from noughts_server.web.upstream import GUEST, Failure

_SECONDS = 10
_KEPT = 64
"""Pictures in the cache."""
_drawn: dict[str, bytes] = {}
# It draws one picture at a time, also if a request ends before its picture is drawn.
_drawing = Computing("png")
_RENDER = (
    "import os, sys; os.nice(19) if hasattr(os, 'nice') else None; import resvg_py;"
    " sys.stdout.buffer.write(resvg_py.svg_to_bytes(svg_string=sys.stdin.read(), skip_system_fonts=True))"
)


def can_draw_png() -> bool:
    """Return whether the renderer is installed."""
    return find_spec("resvg_py") is not None


async def board_png(svg: str) -> bytes:
    """Return the picture of a board from `png_source`. Raises Failure."""
    if not can_draw_png():
        message = "This website cannot draw PNG files: the package resvg-py is not installed."
        hint = "Use the address with .svg, or install the extra in a checkout of Noughts: pip install '.[png]'"
        raise Failure(501, message, hint)
    if picture := _drawn.get(svg):
        return picture
    try:
        async with asyncio.timeout(_SECONDS):
            return await _drawing.run(GUEST.get(""), partial(_rendered, svg))
    except (TimeoutError, subprocess.TimeoutExpired):
        raise Failure(503, "The website is drawing too many pictures.", "Try again in a minute.") from None
    except (subprocess.SubprocessError, OSError) as error:
        raise Failure(500, "The picture could not be drawn.", "Use the address with .svg.") from error


def _rendered(svg: str) -> bytes:
    if svg not in _drawn:
        command = python("-c", _RENDER)
        process = subprocess.run(
            command, input=svg.encode(), capture_output=True, timeout=_SECONDS, check=True, env=environment()
        )
        _drawn[svg] = process.stdout
        for oldest in list(_drawn)[:-_KEPT]:
            del _drawn[oldest]
    return _drawn[svg]


def png_source(game: Document, ply: int) -> str:
    """Return the board after `ply` moves as SVG, in light colours and in the size for previews.

    The style sheet has only the part of CSS that the renderer knows.
    """
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630"><style>{_style(game["board"]["look"])}'
    board = board_svg(game, ply, labels=False, layer_numbers=False)  # the renderer draws no text
    return f'{head}</style><rect width="1200" height="630" fill="#f6f4ef"/>{board}</svg>'


def _style(look: str) -> str:
    """Return the style sheet of boards without at-rules, with values in place of variables."""
    rules = board_css()
    rules = re.sub(r"@[^{]+\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    # The first rule sets the variables for all looks. Later rules set them for the plate only.
    values = dict(re.findall(r"--([\w-]+): ([^;]+);", rules if look == "plate" else rules.partition("}")[0]))
    rules = re.sub(r":is\((\.\w+)[^)]*\)", r"\1", rules)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: values[found[1]], rules)
