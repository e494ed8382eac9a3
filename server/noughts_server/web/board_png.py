"""Boards as PNG files for previews of links, because most services do not show SVG.

The renderer (resvg) gets only numbers and our own style sheet: no names, no fonts and no addresses. Each picture has a
process of its own, one at a time, because the renderer would block the website's event loop for a tenth of a second.
"""

import asyncio
import re
import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec

from noughts_server.web.board_svg import board_svg
from noughts_server.web.documents import Document
from noughts_server.web.upstream import Failure

WIDTH, HEIGHT = 1200, 630
"""The size that services expect."""
_EDGE = 30
_BACKGROUND = "#f6f4ef"
_SECONDS = 10
_KEPT = 64
_RENDER = (
    "import sys, resvg_py;"
    " sys.stdout.buffer.write(resvg_py.svg_to_bytes(svg_string=sys.stdin.read(), skip_system_fonts=True))"
)


def can_draw_png() -> bool:
    """Return whether the renderer is installed."""
    return find_spec("resvg_py") is not None


class Pngs:
    """Draws PNG files and keeps the newest."""

    def __init__(self) -> None:
        self._drawing = asyncio.Lock()
        self._drawn: dict[str, bytes] = {}

    async def png(self, game: Document, ply: int) -> bytes:
        """Return the board after `ply` moves. Raises Failure."""
        if not can_draw_png():
            words = "This website cannot draw PNG files: the package resvg-py is not installed."
            raise Failure(
                501,
                words,
                "Use the address with .svg, or install the extra in a checkout of Noughts: pip install '.[png]'",
            )
        svg = _svg(game, ply)
        try:
            async with asyncio.timeout(_SECONDS), self._drawing:
                if svg not in self._drawn:
                    self._drawn[svg] = await asyncio.to_thread(_rendered, svg)
                    if len(self._drawn) > _KEPT:
                        del self._drawn[next(iter(self._drawn))]
                return self._drawn[svg]
        except TimeoutError:
            raise Failure(503, "The website is drawing too many pictures.", "Try again in a minute.") from None


def _rendered(svg: str) -> bytes:
    command = [sys.executable, "-I", "-c", _RENDER]
    try:
        return subprocess.run(command, input=svg.encode(), capture_output=True, timeout=_SECONDS, check=True).stdout
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    except (subprocess.SubprocessError, OSError) as error:
        raise Failure(500, "The picture could not be drawn.", "Use the address with .svg.") from error


def _svg(game: Document, ply: int) -> str:
    """Return the board in light colours on a picture of its size, in the part of CSS that the renderer knows."""
    place = f'x="{_EDGE}" y="{_EDGE}" width="{WIDTH - 2 * _EDGE}" height="{HEIGHT - 2 * _EDGE}"'
    board = str(board_svg(game, ply, labels=False)).replace("<svg ", f"<svg {place} ", 1)
    style, back = (
        f"<style>{_style(game['board']['look'])}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_BACKGROUND}"/>',
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">{style}{back}{board}</svg>'


def _style(look: str) -> str:
    """Return the style sheet of boards without at-rules, with values in place of variables."""
    rules = (files(__package__) / "static" / "board.css").read_text()
    rules = re.sub(r"@[^{]+\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    # Only the plate sets some of them again.
    values = dict(re.findall(r"--([\w-]+): ([^;]+);", rules if look == "plate" else rules.partition("}")[0]))
    rules = re.sub(r":is\((\.\w+)[^)]*\)", r"\1", rules)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: values[found[1]], rules)
