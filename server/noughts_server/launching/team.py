"""Several processes of one player behind one stream: each game has one process, and frames are split by game."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.running_child import Death, RunningChild

_COLUMNS = ("game", "number", "side", "seed", "opponent", "own_clock_us", "opponent_clock_us")
_TURN_COLUMNS = ("game", "ply", "cell", "own_clock_us", "opponent_clock_us")
_END_COLUMNS = ("game", "result", "termination", "plies", "cell")


class TeamFrames:
    """The frames of all members, as if they came from one child."""

    def __init__(self, members: Sequence[RunningChild]) -> None:
        self.ended: int | None = None
        """The first member that ended."""
        self._members = members
        self._loads = [0] * len(members)
        """Running games of each member."""
        self._places: dict[int, int] = {}
        """The member of each running game."""
        self._sent = [0] * len(members)
        """The number of frames to each member."""
        self._done = [0] * len(members)
        self._open: deque[tuple[int, dict[int, int]]] = deque()
        """Frames without acknowledgement: their number, and that of each member's part."""
        self._done_through = 0
        self._incoming: asyncio.Queue[tuple[int, pb.PlayRequest | None]] = asyncio.Queue()

    async def listen(self, place: int) -> None:
        """Receive the frames of one member until its end."""
        frames = self._members[place].frames
        while (request := await frames.read()) is not None:
            self._incoming.put_nowait((place, request))
        self.ended = place if self.ended is None else self.ended
        self._incoming.put_nowait((place, None))

    async def read(self) -> pb.PlayRequest | None:
        """Return the next frame; None if a member has ended."""
        place, request = await self._incoming.get()
        if request is None:
            return None
        self._done[place] = max(self._done[place], request.done_through)
        while self._open and all(self._done[each] >= part for each, part in self._open[0][1].items()):
            self._done_through = self._open.popleft()[0]
        request.done_through = self._done_through
        if place:
            request.ClearField("heartbeat")  # the first member answers for all
        return request

    async def write(self, frame: pb.PlayResponse) -> None:
        """Send each member its part of a frame."""
        if frame.HasField("welcome"):
            for member in self._members:
                await member.frames.write(frame)
            return
        parts = self._split(frame)
        numbers = {}
        for place, part in parts.items():
            self._sent[place] += 1
            part.frame = numbers[place] = self._sent[place]
        if frame.frame:
            self._open.append((frame.frame, numbers))
        for place, part in parts.items():
            await self._members[place].frames.write(part)

    def _split(self, frame: pb.PlayResponse) -> dict[int, pb.PlayResponse]:
        parts: dict[int, pb.PlayResponse] = {}
        # The first member acknowledges a frame that has nothing for any member.
        first = parts.setdefault(0, pb.PlayResponse())
        first.statuses.extend(frame.statuses)
        if frame.HasField("heartbeat"):
            first.heartbeat.CopyFrom(frame.heartbeat)
        for opening in frame.openings:
            parts.setdefault(self._place_of(opening.game), pb.PlayResponse()).openings.append(opening)
        for starts in frame.starts:
            for place, rows in self._rows(starts.game).items():
                _copy_starts(starts, rows, parts.setdefault(place, pb.PlayResponse()).starts.add())
        for place, rows in self._rows(frame.turns.game).items():
            _copy_columns(frame.turns, _TURN_COLUMNS, rows, parts.setdefault(place, pb.PlayResponse()).turns)
        for place, rows in self._rows(frame.ends.game).items():
            ends = parts.setdefault(place, pb.PlayResponse()).ends
            _copy_columns(frame.ends, _END_COLUMNS, rows, ends)
            faults = dict(zip(frame.ends.faulted, frame.ends.fault, strict=True))
            ends.faulted.extend([new for new, row in enumerate(rows) if row in faults])
            ends.fault.extend([faults[row] for row in rows if row in faults])
        for game in frame.ends.game:
            self._loads[self._places.pop(game)] -= 1
        return parts

    def _place_of(self, game: int) -> int:
        """Return the member of the game; a new game gets the one with the fewest games."""
        place = self._places.get(game)
        if place is None:
            place = self._places[game] = self._loads.index(min(self._loads))
            self._loads[place] += 1
        return place

    def _rows(self, games: Sequence[int]) -> dict[int, list[int]]:
        """Return the rows of each member."""
        rows: dict[int, list[int]] = {}
        for row, game in enumerate(games):
            rows.setdefault(self._place_of(game), []).append(row)
        return rows


def _copy_columns(source: object, columns: Sequence[str], rows: Sequence[int], target: object) -> None:
    for name in columns:
        column = getattr(source, name)
        if column:
            getattr(target, name).extend([column[row] for row in rows])


def _copy_starts(starts: pb.Starts, rows: Sequence[int], target: pb.Starts) -> None:
    target.CopyFrom(starts)
    for name in (*_COLUMNS, "move_count", "moves"):
        target.ClearField(name)  # type: ignore[arg-type]  # names of its fields
    _copy_columns(starts, _COLUMNS, rows, target)
    counts = list(starts.move_count)
    for row in rows:
        begin = sum(counts[:row])
        target.move_count.append(counts[row])
        target.moves.extend(starts.moves[begin : begin + counts[row]])


class TeamChild:
    """A team with the interface of `RunningChild`."""

    def __init__(self, members: Sequence[RunningChild]) -> None:
        self.frames = TeamFrames(members)
        self._members = members
        self._listening: list[asyncio.Task[None]] = []

    async def hello(self) -> pb.Hello:
        """Return the members' first frames as one. Raises NotStarted."""
        hellos = [await member.hello() for member in self._members]
        loop = asyncio.get_running_loop()
        self._listening = [loop.create_task(self.frames.listen(place)) for place in range(len(hellos))]
        hello = hellos[0]
        hello.max_games = sum(each.max_games for each in hellos) if all(each.max_games for each in hellos) else 0
        hello.prepares = any(each.prepares for each in hellos)
        hello.stored_ends = any(each.stored_ends for each in hellos)
        return hello

    @property
    def stderr(self) -> str:
        return "".join(member.stderr for member in self._members)

    async def stop(self, reason: str = "") -> Death:
        """End all members; return how the one ended that ended by itself, if any."""
        for task in self._listening:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        deaths = [await member.stop() for member in self._members]
        told = deaths[self.frames.ended or 0]
        return Death(reason or told.reason, told.code, told.stderr, told.offending)
