"""Diagrams as SVG inside the page: boxes and arrows in the colours of the reader's theme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

_LINE, _HEAD, _SIZE = 19, 7, 14

Point = tuple[float, float]


class Box(NamedTuple):
    """A box with lines of text; the first line is its title."""

    x: int
    y: int
    width: int
    height: int
    text: str
    group: bool = False
    """Whether other boxes stand in it: then it is dashed, with its title at the top."""


class Arrow(NamedTuple):
    """An arrow between two boxes, by their names. It is straight if they face each other, otherwise it has a corner."""

    start: str
    end: str
    label: str = ""
    shift: int = 0
    """Distance of the arrow from the middle, so that several arrows between two boxes do not overlap."""


def both(start: str, end: str, shift: int, there: str = "", back: str = "") -> tuple[Arrow, Arrow]:
    """Return two arrows between two boxes, one each way; with a negative shift, the first is above or left."""
    return Arrow(start, end, there, shift), Arrow(end, start, back, -shift)


class Diagram(NamedTuple):
    """A picture, and what it shows for readers who cannot see it."""

    title: str
    width: int
    height: int
    boxes: Mapping[str, Box]
    arrows: Sequence[Arrow]


def figure(name: str) -> str:
    """Return a diagram as HTML. It scrolls on narrow screens, so that its text stays readable."""
    diagram = DIAGRAMS[name]
    parts = "".join(
        [
            *(_box(box) for box in diagram.boxes.values()),
            *(_arrow(diagram.boxes[arrow.start], diagram.boxes[arrow.end], arrow) for arrow in diagram.arrows),
        ]
    )
    width, height, title = diagram.width, diagram.height, escape(diagram.title)
    return (
        f'<div style="overflow-x:auto" tabindex="0" role="group" aria-label="{title}">'
        f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' style="min-width:{width}px;font-family:var(--font-stack);font-size:{_SIZE}px">'
        f"<title>{title}</title>{parts}</svg></div>"
    )


def _box(box: Box) -> str:
    dash = ' stroke-dasharray="5 4"' if box.group else ""
    fill = "none" if box.group else "var(--color-background-secondary)"
    frame = (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8" fill="{fill}"'
        f' stroke="var(--color-foreground-muted)"{dash}/>'
    )
    lines = box.text.split("\n")
    top = box.y + 20 if box.group else box.y + (box.height - _LINE * (len(lines) - 1)) / 2 + _SIZE * 0.35
    return frame + "".join(
        _text(box.x + box.width / 2, top + number * _LINE, line, bold=number == 0) for number, line in enumerate(lines)
    )


def _text(x: float, y: float, text: str, *, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="600"' if bold else ""
    fill = "var(--color-foreground-primary)" if bold else "var(--color-foreground-secondary)"
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}"{weight}>{escape(text)}</text>'


def _arrow(start: Box, end: Box, arrow: Arrow) -> str:
    points = list(_path(start, end, arrow.shift))
    line, head = map(_coordinates, (points, _head(*points[-2:])))
    drawn = (
        f'<polyline points="{line}" fill="none" stroke="var(--color-brand-primary)" stroke-width="1.5"/>'
        f'<polygon points="{head}" fill="var(--color-brand-primary)"/>'
    )
    return drawn + _label(points, arrow)


def _coordinates(points: Sequence[Point]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _head(before: Point, tip: Point) -> Sequence[Point]:
    """Return the corners of an arrow's head."""
    (x, y), across, down = tip, _sign(tip[0] - before[0]), _sign(tip[1] - before[1])
    back_x, back_y = x - across * _HEAD * 1.3, y - down * _HEAD * 1.3
    side_x, side_y = down * _HEAD * 0.6, across * _HEAD * 0.6
    return tip, (back_x - side_x, back_y - side_y), (back_x + side_x, back_y + side_y)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _label(points: Sequence[Point], arrow: Arrow) -> str:
    """Write the label above or right of the arrow; of two arrows next to each other, on the outer side of each."""
    (left, top), (right, bottom) = points[:2]
    if top == bottom:
        return _text((left + right) / 2, top + (_LINE - 2 if arrow.shift > 0 else -7), arrow.label)
    offset, anchor = (-8, "end") if arrow.shift < 0 else (8, "start")
    return _text(left + offset, (top + bottom) / 2 + 5, arrow.label, anchor=anchor)


def _path(start: Box, end: Box, shift: int) -> Iterator[Point]:
    """Yield the corners of an arrow, from the edge of one box to the edge of the other."""
    top, bottom = max(start.y, end.y), min(start.y + start.height, end.y + end.height)
    left, right = max(start.x, end.x), min(start.x + start.width, end.x + end.width)
    to_right, down = end.x > start.x, end.y > start.y
    side = start.x + start.width if to_right else start.x
    if top < bottom:
        y = (top + bottom) / 2 + shift
        yield side, y
        yield (end.x if to_right else end.x + end.width), y
    elif left < right:
        x = (left + right) / 2 + shift
        yield x, (start.y + start.height if down else start.y)
        yield x, (end.y if down else end.y + end.height)
    else:
        x, y = end.x + end.width / 2 + shift, start.y + start.height / 2
        yield side, y
        yield x, y
        yield x, (end.y if down else end.y + end.height)


DIAGRAMS: Mapping[str, Diagram] = {
    "architecture": Diagram(
        "The parts of a server: bots connect to sessions or run as child processes. The referee plays their games, the "
        "recorder stores them, and the feed shows them to the website and to clients.",
        730,
        430,
        {
            "server": Box(165, 10, 395, 410, "noughts serve", group=True),
            "remote": Box(2, 60, 135, 60, "Connected bots\ngRPC streams"),
            "child": Box(2, 190, 135, 80, "Child processes\nplugins, engines,\nin the sandbox"),
            "sessions": Box(182, 60, 150, 60, "Sessions\nframe connections"),
            "referee": Box(182, 170, 150, 110, "Referee\narbiter, clocks,\ncapacity"),
            "services": Box(390, 60, 155, 60, "Services\npermissions, limits"),
            "director": Box(390, 150, 155, 60, "Director\nstarts tournaments"),
            "feed": Box(390, 235, 155, 60, "Feed\nlive messages"),
            "recorder": Box(182, 340, 150, 60, "Recorder\ngroups of games"),
            "store": Box(390, 340, 155, 60, "Store\nSQLite, PostgreSQL"),
            "clients": Box(592, 60, 136, 60, "Clients\ncommands, code"),
            "website": Box(592, 235, 136, 60, "Website\nits own process"),
        },
        (
            Arrow("remote", "sessions"),
            Arrow("child", "referee", "", -10),
            Arrow("sessions", "referee", "", -35),
            Arrow("referee", "sessions", "", 35),
            Arrow("referee", "child", "", 10),
            Arrow("referee", "recorder", "finished games"),
            Arrow("recorder", "store"),
            Arrow("clients", "services"),
            Arrow("services", "director"),
            Arrow("director", "referee"),
            Arrow("referee", "feed"),
            Arrow("feed", "website"),
        ),
    ),
    "move": Diagram(
        "The way of a move: the referee writes a question in a frame, the bot answers, the arbiter judges the answer "
        "and asks the opponent. A finished game goes to the recorder, which stores it.",
        730,
        250,
        {
            "bot": Box(2, 30, 120, 60, "Bot\nchooses a cell"),
            "connection": Box(202, 30, 150, 60, "Connection\nmeasures the time"),
            "arbiter": Box(422, 30, 130, 60, "Arbiter\napplies the rules"),
            "opponent": Box(612, 30, 116, 60, "Connection\nof the opponent"),
            "referee": Box(422, 170, 130, 60, "Referee\nfrees capacity"),
            "recorder": Box(202, 170, 150, 60, "Recorder\ncommits in groups"),
            "store": Box(2, 170, 120, 60, "Store\none writer"),
        },
        (
            *both("connection", "bot", -12, "question", "answer"),
            Arrow("connection", "arbiter", "move"),
            Arrow("arbiter", "opponent", "turn"),
            Arrow("arbiter", "referee", "the game is over"),
            Arrow("referee", "recorder", "game"),
            Arrow("recorder", "store", "rows"),
        ),
    ),
    "states": Diagram(
        "The states of a tournament: open, then running or paused, then finished. It can be cancelled before it is "
        "finished, and a finished tournament can be extended.",
        730,
        250,
        {
            "open": Box(2, 30, 180, 70, "OPEN\nbots join and withdraw"),
            "running": Box(272, 30, 160, 70, "RUNNING\ngames are played"),
            "finished": Box(568, 30, 160, 70, "FINISHED\nresults are complete"),
            "paused": Box(392, 170, 160, 70, "PAUSED\nno game begins"),
            "cancelled": Box(2, 170, 310, 70, "CANCELLED\nfinished games are kept"),
        },
        (
            Arrow("open", "running", "start"),
            *both("running", "finished", -12, "last game", "extend"),
            *both("running", "paused", -14, "pause", "start"),
            Arrow("open", "cancelled", "cancel, or too few entries"),
            Arrow("running", "cancelled", "cancel"),
            Arrow("paused", "cancelled", "cancel"),
        ),
    ),
    "cluster": Diagram(
        "A cluster: bots and websites connect to servers. Servers and referees exchange messages over NATS, and share "
        "one PostgreSQL database. Referees also run installed engines.",
        730,
        330,
        {
            "bots": Box(2, 20, 130, 80, "Bots\nfrom anywhere"),
            "website": Box(2, 130, 130, 80, "Websites\nany number"),
            "server": Box(182, 20, 140, 190, "Servers\ntwo or more:\nstreams, calls,\nthinking times"),
            "nats": Box(382, 20, 150, 80, "NATS\ncarries messages,\nkeeps nothing"),
            "postgresql": Box(382, 130, 150, 80, "PostgreSQL\nkeeps the league and\nthe queue of games"),
            "referee": Box(592, 20, 136, 190, "Referees\nany number:\nrules, clocks"),
            "engines": Box(592, 260, 136, 60, "Installed engines\nin the sandbox"),
        },
        (
            Arrow("bots", "server"),
            Arrow("website", "server"),
            *both("server", "nats", -12),
            *both("nats", "referee", -12),
            Arrow("server", "postgresql"),
            Arrow("referee", "postgresql"),
            Arrow("referee", "engines"),
        ),
    ),
}
