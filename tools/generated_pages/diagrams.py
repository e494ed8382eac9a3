"""Diagrams as SVG inside the page: boxes and arrows in the colours of the reader's theme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

_LINE, _HEAD, _SIZE = 19, 7, 14


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
    """How far it stands beside the middle, for several arrows between the same boxes."""


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
            *(_arrow(diagram.boxes[each.start], diagram.boxes[each.end], each) for each in diagram.arrows),
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
    (before_x, before_y), (x, y) = points[-2:]
    across, along = (before_x == x), (1 if (x, y) > (before_x, before_y) else -1)
    tip = (
        f"{x:g},{y:g} {x - _HEAD * 0.6:g},{y - along * _HEAD * 1.3:g} {x + _HEAD * 0.6:g},{y - along * _HEAD * 1.3:g}"
        if across
        else f"{x:g},{y:g} {x - along * _HEAD * 1.3:g},{y - _HEAD * 0.6:g} {x - along * _HEAD * 1.3:g},{y + _HEAD * 0.6:g}"
    )
    line = " ".join(f"{left:g},{top:g}" for left, top in points)
    drawn = (
        f'<polyline points="{line}" fill="none" stroke="var(--color-brand-primary)" stroke-width="1.5"/>'
        f'<polygon points="{tip}" fill="var(--color-brand-primary)"/>'
    )
    return drawn + _label(points, arrow.label)


def _label(points: Sequence[tuple[float, float]], label: str) -> str:
    if not label:
        return ""
    (left, top), (right, bottom) = points[:2]
    lines = label.split("\n")
    if top == bottom:
        first = top - 7 - _LINE * (len(lines) - 1)
        return "".join(_text((left + right) / 2, first + _LINE * n, line) for n, line in enumerate(lines))
    first = (top + bottom) / 2 + 5 - _LINE * (len(lines) - 1) / 2
    return "".join(_text(left + 8, first + _LINE * n, line, anchor="start") for n, line in enumerate(lines))


def _path(start: Box, end: Box, shift: int) -> Iterator[tuple[float, float]]:
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
        760,
        430,
        {
            "server": Box(200, 10, 360, 410, "noughts serve", group=True),
            "remote": Box(10, 60, 140, 60, "Connected bots\ngRPC streams"),
            "child": Box(10, 200, 140, 80, "Child processes\nplugins, engines,\nin the sandbox"),
            "sessions": Box(220, 60, 140, 60, "Sessions\nframe connections"),
            "referee": Box(220, 200, 140, 80, "Referee\narbiter, clocks,\ncapacity"),
            "services": Box(400, 60, 140, 60, "Services\npermissions, limits"),
            "director": Box(400, 140, 140, 60, "Director\nstarts tournaments"),
            "feed": Box(400, 220, 140, 60, "Feed\nlive messages"),
            "recorder": Box(220, 340, 140, 60, "Recorder\ngroups of games"),
            "store": Box(400, 340, 140, 60, "Store\nSQLite, PostgreSQL"),
            "clients": Box(610, 60, 140, 60, "Clients\ncommands, your code"),
            "website": Box(610, 220, 140, 60, "Website\nits own process"),
        },
        (
            Arrow("remote", "sessions"),
            Arrow("child", "referee", "", -10),
            Arrow("sessions", "referee", "answers", -35),
            Arrow("referee", "sessions", "", 35),
            Arrow("referee", "child", "", 10),
            Arrow("referee", "recorder", "finished games"),
            Arrow("recorder", "store"),
            Arrow("clients", "services"),
            Arrow("services", "director"),
            Arrow("director", "referee"),
            Arrow("referee", "feed", "", 20),
            Arrow("feed", "website"),
        ),
    ),
    "move": Diagram(
        "The way of a move: the referee writes a question in a frame, the bot answers, the arbiter judges the answer and "
        "asks the opponent. A finished game goes to the recorder, which stores it.",
        760,
        270,
        {
            "bot": Box(10, 30, 110, 60, "Bot\nchooses a cell"),
            "connection": Box(210, 30, 150, 60, "Connection\nmeasures the time"),
            "arbiter": Box(440, 30, 130, 60, "Arbiter\napplies the rules"),
            "opponent": Box(640, 30, 110, 60, "Opponent\nits connection"),
            "referee": Box(440, 190, 130, 60, "Referee\nfrees capacity"),
            "recorder": Box(210, 190, 150, 60, "Recorder\na commit each 250 ms"),
            "store": Box(10, 190, 110, 60, "Store\none writer"),
        },
        (
            Arrow("bot", "connection", "2 answer", -12),
            Arrow("connection", "bot", "", 12),
            Arrow("connection", "arbiter", "3 move", 0),
            Arrow("arbiter", "opponent", "4 turn", 0),
            Arrow("arbiter", "referee", "5 game over"),
            Arrow("referee", "recorder", "6 game"),
            Arrow("recorder", "store", "7 rows"),
        ),
    ),
    "states": Diagram(
        "The states of a tournament: open, then running or paused, then finished. It can be cancelled before it is "
        "finished, and a finished tournament can be extended.",
        760,
        270,
        {
            "open": Box(10, 30, 150, 70, "OPEN\nbots join and withdraw"),
            "running": Box(300, 30, 150, 70, "RUNNING\ngames are played"),
            "finished": Box(590, 30, 150, 70, "FINISHED\nresults are final"),
            "paused": Box(300, 180, 150, 70, "PAUSED\nno game begins"),
            "cancelled": Box(10, 180, 150, 70, "CANCELLED\nfinished games stay"),
        },
        (
            Arrow("open", "running", "start, or start_at"),
            Arrow("running", "finished", "last game", -12),
            Arrow("finished", "running", "", 12),
            Arrow("running", "paused", "", -30),
            Arrow("paused", "running", "pause, start", 30),
            Arrow("open", "cancelled", "cancel, or\ntoo few entries"),
            Arrow("paused", "cancelled", "cancel"),
        ),
    ),
    "cluster": Diagram(
        "A cluster: bots and clients connect to servers. Servers and referees exchange questions, answers and the feed "
        "over NATS, and share one PostgreSQL database. Referees also run installed engines.",
        760,
        400,
        {
            "bots": Box(10, 20, 150, 60, "Bots\nfrom anywhere"),
            "website": Box(10, 120, 150, 60, "Websites\nany number"),
            "server": Box(280, 20, 170, 160, "Servers\ntwo or more:\nstreams, calls,\nthinking times"),
            "nats": Box(580, 60, 170, 80, "NATS\ncarries messages,\nkeeps nothing"),
            "postgresql": Box(10, 300, 190, 80, "PostgreSQL\nkeeps the league\nand the queue of games"),
            "referee": Box(300, 280, 150, 100, "Referees\nany number:\nrules, clocks"),
            "engines": Box(580, 300, 170, 60, "Installed engines\nin the sandbox"),
        },
        (
            Arrow("bots", "server"),
            Arrow("website", "server"),
            Arrow("server", "nats", "answers", -15),
            Arrow("nats", "server", "", 15),
            Arrow("referee", "nats", "", -40),
            Arrow("nats", "referee", "", 40),
            Arrow("referee", "postgresql", "claims, games"),
            Arrow("server", "postgresql", ""),
            Arrow("referee", "engines"),
        ),
    ),
}
