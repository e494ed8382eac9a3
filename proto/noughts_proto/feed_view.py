"""The state of a watcher: a snapshot, and the increments applied to it. Used by the server and by watchers."""

from noughts_proto.v1 import feed_pb2 as pb


class View:
    """The watched games and tournaments by name, in the order in which they appeared."""

    def __init__(self) -> None:
        self.games: dict[str, pb.WatchedGame] = {}
        self.tournaments: dict[str, pb.WatchedTournament] = {}
        self.has_snapshot = False
        """Whether a snapshot has arrived."""

    def take(self, message: pb.WatchResponse) -> None:
        """Apply a message. A resync only announces a snapshot."""
        if message.HasField("snapshot"):
            self.reset(message.snapshot)
        else:
            self.apply(message.increments)

    def reset(self, snapshot: pb.WatchSnapshot) -> None:
        """Replace the state by the snapshot."""
        self.has_snapshot = True
        copy = pb.WatchSnapshot()
        copy.CopyFrom(snapshot)
        self.games = {game.name: game for game in copy.games}
        self.tournaments = {tournament.name: tournament for tournament in copy.tournaments}

    def snapshot(self) -> pb.WatchSnapshot:
        """Return the whole state."""
        return pb.WatchSnapshot(games=self.games.values(), tournaments=self.tournaments.values())

    def apply(self, increments: pb.Increments) -> None:
        """Apply increments. Plies and ends of unknown games are ignored."""
        for name in increments.gone:
            self.games.pop(name, None)
            self.tournaments.pop(name, None)
        for game in increments.games:
            copy = self.games[game.name] = pb.WatchedGame()
            copy.CopyFrom(game)
        for ply in increments.plies:
            if ply.game in self.games:
                _append(self.games[ply.game], ply)
        for end in increments.ends:
            if end.game in self.games:
                ended_game = self.games[end.game]
                ended_game.state = pb.GAME_STATE_ENDED
                ended_game.result = end.result
                ended_game.termination = end.termination
                ended_game.winning_cells[:] = end.winning_cells
        for tournament in increments.tournaments:
            self._advance(tournament)

    def _advance(self, tournament: pb.WatchedTournament) -> None:
        old = self.tournaments.get(tournament.name)
        new = self.tournaments[tournament.name] = pb.WatchedTournament()
        new.CopyFrom(tournament)
        if old is not None:
            # The increment has only the standings that have changed.
            rows = {row.standing.label: row for row in old.standings}
            rows |= {row.standing.label: row for row in tournament.standings}
            del new.standings[:]
            new.standings.extend(sorted(rows.values(), key=lambda row: row.rank))


def _append(game: pb.WatchedGame, ply: pb.WatchedPly) -> None:
    game.moves.append(ply.cell)
    game.times_us.append(ply.time_us)
    if ply.HasField("first_clock_us"):
        game.first_clock_us = ply.first_clock_us
    if ply.HasField("second_clock_us"):
        game.second_clock_us = ply.second_clock_us
    if ply.HasField("score"):
        game.scores[ply.ply] = ply.score
        if ply.ply & 1:
            game.second_score = ply.score
        else:
            game.first_score = ply.score
