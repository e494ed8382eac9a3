"""Several processes of one player behind one stream: each game has one process, and frames are split by game."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.running_child import Death, RunningChild

Value = TypeVar("Value")


class TeamFrames:
    """The frames of all members, as if they came from one child."""

    def __init__(self, members: Sequence[RunningChild]) -> None:
        self.ended_first: int | None = None
        """The first member that ended, by its index; None while all run."""
        self._members = members
        self._loads = [0] * len(members)
        """The number of running games of each member."""
        self._places: dict[int, int] = {}
        """The index of the member of each running game."""
        self._sent = [0] * len(members)
        """The number of frames to each member."""
        self._done = [0] * len(members)
        """The number of each member's last frame that it has acknowledged."""
        self._unacknowledged: deque[tuple[int, dict[int, int]]] = deque()
        """Frames of the server: the number of each, and the number of each member's part of it."""
        self._done_through = 0
        """The number of the server's last frame that all members have acknowledged."""
        self._incoming: asyncio.Queue[tuple[int, pb.PlayRequest | None]] = asyncio.Queue()

    async def listen(self, place: int) -> None:
        """Receive the frames of one member until its end."""
        frames = self._members[place].frames
        while (request := await frames.read()) is not None:
            self._incoming.put_nowait((place, request))
        if self.ended_first is None:
            self.ended_first = place
        self._incoming.put_nowait((place, None))

    async def read(self) -> pb.PlayRequest | None:
        """Return the next frame; None if a member has ended."""
        place, request = await self._incoming.get()
        if request is None:
            return None
        self._done[place] = max(self._done[place], request.done_through)
        while self._unacknowledged:
            number, parts = self._unacknowledged[0]
            if any(self._done[member] < part for member, part in parts.items()):
                break
            self._unacknowledged.popleft()
            self._done_through = number
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
            self._unacknowledged.append((frame.frame, numbers))
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
            _copy_turns(frame.turns, rows, parts.setdefault(place, pb.PlayResponse()).turns)
        for place, rows in self._rows(frame.ends.game).items():
            ends = parts.setdefault(place, pb.PlayResponse()).ends
            _copy_ends(frame.ends, rows, ends)
        for game in frame.ends.game:
            self._loads[self._places.pop(game)] -= 1
        return parts

    def _place_of(self, game: int) -> int:
        """Return the index of the game's member. A new game gets the member with the fewest games."""
        place = self._places.get(game)
        if place is None:
            place = self._places[game] = self._loads.index(min(self._loads))
            self._loads[place] += 1
        return place

    def _rows(self, games: Sequence[int]) -> dict[int, list[int]]:
        """Return the rows of each member's games, by index of the member."""
        rows: dict[int, list[int]] = {}
        for row, game in enumerate(games):
            rows.setdefault(self._place_of(game), []).append(row)
        return rows


def _cells(column: Sequence[Value], rows: Sequence[int]) -> list[Value]:
    """Return the cells of these rows; none of an empty column."""
    return [column[row] for row in rows] if column else []


def _copy_turns(turns: pb.Turns, rows: Sequence[int], target: pb.Turns) -> None:
    target.game.extend(_cells(turns.game, rows))
    target.ply.extend(_cells(turns.ply, rows))
    target.cell.extend(_cells(turns.cell, rows))
    target.own_clock_us.extend(_cells(turns.own_clock_us, rows))
    target.opponent_clock_us.extend(_cells(turns.opponent_clock_us, rows))


def _copy_ends(ends: pb.Ends, rows: Sequence[int], target: pb.Ends) -> None:
    target.game.extend(_cells(ends.game, rows))
    target.result.extend(_cells(ends.result, rows))
    target.termination.extend(_cells(ends.termination, rows))
    target.plies.extend(_cells(ends.plies, rows))
    target.cell.extend(_cells(ends.cell, rows))
    faults = dict(zip(ends.faulted, ends.fault, strict=True))
    target.faulted.extend([new for new, row in enumerate(rows) if row in faults])
    target.fault.extend([faults[row] for row in rows if row in faults])


def _copy_starts(starts: pb.Starts, rows: Sequence[int], target: pb.Starts) -> None:
    """Copy what all games share, and the columns of these rows."""
    target.CopyFrom(starts)
    del target.game[:], target.number[:], target.side[:], target.seed[:], target.opponent[:]
    del target.own_clock_us[:], target.opponent_clock_us[:], target.move_count[:], target.moves[:]
    target.game.extend(_cells(starts.game, rows))
    target.number.extend(_cells(starts.number, rows))
    target.side.extend(_cells(starts.side, rows))
    target.seed.extend(_cells(starts.seed, rows))
    target.opponent.extend(_cells(starts.opponent, rows))
    target.own_clock_us.extend(_cells(starts.own_clock_us, rows))
    target.opponent_clock_us.extend(_cells(starts.opponent_clock_us, rows))
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
        # 0 means that a member does not limit its games.
        limits = [member_hello.max_games for member_hello in hellos]
        hello.max_games = sum(limits) if all(limits) else 0
        hello.prepares = any(member_hello.prepares for member_hello in hellos)
        hello.stored_ends = any(member_hello.stored_ends for member_hello in hellos)
        return hello

    @property
    def stderr(self) -> str:
        return "".join(member.stderr for member in self._members)

    async def stop(self, reason: str = "") -> Death:
        """End all members. Return the death of the first that ended by itself, or of the first member if none did."""
        for task in self._listening:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        deaths = [await member.stop() for member in self._members]
        death = deaths[self.frames.ended_first or 0]
        return Death(reason or death.reason, death.code, death.stderr, death.offending)
