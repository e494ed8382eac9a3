"""A tournament of a server, as text and as JSON."""

from typing import Any

from noughts_proto.v1 import feed_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.drawing.estimate_lines import difference_text
from noughts_server.cli.drawing.openings import OpeningsSummary
from noughts_server.cli.drawing.rating_table import ratings_document, show_fit
from noughts_server.cli.drawing.standings import TournamentTables
from noughts_server.cli.drawing.stop_wording import stop_wording
from noughts_server.cli.errors import Problem, problems_with
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import clock, from_now, iso, length, milliseconds, now_ms
from noughts_server.client.client import Client
from noughts_server.competition.formats import TournamentFormat, format_of
from noughts_server.convert.times import time_control
from noughts_server.core.join_window import JoinWindow
from noughts_server.core.resource_names import short
from noughts_server.records.server_games import about_tournament, bye_points, matches_of, own_times
from noughts_server.statistics.rating_table import RatingTable
from noughts_server.tables.about import About
from noughts_server.tables.crosstable import scores_of
from noughts_server.tables.standings import Standing, TieBreak

_SHORTEST_PAUSE = 60.0
"""Seconds from which on the state says how long a tournament has been paused."""
_MOST_ENTRIES = 128
"""Entries in a printed crosstable."""


def show_tournament(output: OutputOptions, client: Client, tournament: pb.Tournament, *, fit: bool = False) -> None:
    """Print a tournament with its standings and its crosstable; `fit` adds ratings from all its games."""
    tables = _tables(client, tournament)
    ratings = tables.fit() if fit else None
    if output.is_json:
        printing.print_json(_document(tournament, tables, ratings))
        return
    _print(tournament, tables)
    rows_with_faults = [row for row in tables.rows if row.faults]
    for row in rows_with_faults:
        games = printing.count(row.faults, "game")
        printing.stdout().print(f"{printing.printable(row.label)} lost {games} through its own fault.", markup=False)
    if rows_with_faults:
        printing.note(f"noughts game list {short(tournament.name)} --fault")
    if ratings is not None:
        show_fit(ratings)


def _document(tournament: pb.Tournament, tables: TournamentTables, ratings: RatingTable | None) -> dict[str, Any]:
    document = conditions_document(tournament) | tables.document()
    details = tournament.match_details
    if tournament.HasField("match"):
        document["match"] = match_document(tournament.match) | {"summary": details.summary, "advice": details.advice}
    if tournament.candidates:
        document["candidates"] = [
            {"label": candidate.labels[0], "state": candidate.state, "games": candidate.games}
            | match_document(candidate)
            for candidate in tournament.candidates
        ]
        document["advice"] = details.advice
    document["faults"] = [{"bot": row.label, "games": row.faults} for row in tables.rows if row.faults]
    document["offline"] = list(tournament.offline)
    document["absence_limit"] = _absence_limit(tournament)
    if ratings is not None:
        document["fit"] = ratings_document(ratings)
    return document


def _format(tournament: pb.Tournament) -> TournamentFormat:
    """Return a tournament's format. Raises Problem for a format that only newer versions of Noughts have."""
    hint = "Install the version of Noughts that the server runs."
    with problems_with(tournament.name, ValueError, raises=Problem, hint=hint):
        return format_of(tournament.schedule)


def _tables(client: Client, tournament: pb.Tournament) -> TournamentTables:
    """Return the tables, with the crosstable from all its pages."""
    request = pb.GetCrosstableRequest(name=tournament.name)
    first_page = client.call(client.tournaments.GetCrosstable, request)
    page = first_page
    cells = list(page.cells)
    while page.next_page_token:
        request.page_token = page.next_page_token
        page = client.call(client.tournaments.GetCrosstable, request)
        cells += page.cells
    bracket = _format(tournament).places_by_bracket
    return TournamentTables(
        list(map(_standing, tournament.standings)), scores_of(cells), matches_of(first_page), bracket=bracket
    )


def about_of(tournament: pb.Tournament, table: pb.GetCrosstableResponse) -> About:
    """Return the facts about a tournament for tables and reports. Raises Problem as `_format` does."""
    _format(tournament)
    return about_tournament(tournament, table)


def _standing(row: pb.Standing) -> Standing:
    """Return a row of the protocol's standings; a missing rating is None."""
    return Standing(
        label=row.label,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        rating=row.rating if row.HasField("rating") else None,
        byes=row.byes,
        bye_points=bye_points(row),
        withdrawn_at=milliseconds(row.withdraw_time),
        withdrawn_reason=row.withdraw_reason,
        faults=row.faults,
        rank=row.rank,
        head_to_head=row.head_to_head if row.HasField("head_to_head") else None,
        sonneborn_berger=row.sonneborn_berger,
        tie_break=TieBreak.__members__.get(pb.TieBreak.Name(row.tie_break).removeprefix("TIE_BREAK_")),
    )


def _print(tournament: pb.Tournament, tables: TournamentTables) -> None:
    console = printing.stdout()
    printing.heading(console, f"{tournament.name} ({tournament.title})" if tournament.title else tournament.name)
    state = state_wording(tournament)
    if tournament.games_total:
        separator = "." if tournament.reason else ","
        state = f"{state.rstrip('.')}{separator} {tournament.games_done:,} of {tournament.games_total:,} games played"
    rated = "unrated"
    if tournament.rated:
        rated = "rated" if tournament.own_rated else "rated, except games between bots of one owner"
    conditions = [
        str(_format(tournament)),
        tournament.variant,
        f"time {time_wording(tournament)}{_own_times(tournament)}",
        *(["scaled to a reference machine"] if tournament.scale_time else []),
        *([f"margin {tournament.margin_ms} ms"] if tournament.margin_ms else []),
        f"{printing.count(tournament.games_per_pair, 'game')} a pair",
        rated,
        f"organised by {printing.printable(tournament.owner)}",
    ]
    console.print(f"{state}\n{', '.join(conditions)}")
    if rules := _more_settings(tournament):
        console.print(rules, soft_wrap=True)
    console.print(_seed(tournament), soft_wrap=True)
    if tournament.season:
        repeats = ", which repeats weekly" if tournament.repeat == pb.REPEAT_WEEKLY else ""
        console.print(f"season {tournament.season} of {short(tournament.league)}{repeats}", soft_wrap=True)
    if openings := OpeningsSummary.of_message(tournament.openings).wording():
        console.print(openings, soft_wrap=True)
    if state_of(tournament) == "open":
        console.print(_start_conditions(tournament))
    if limit := _absence_limit(tournament):
        span = length(limit)
        console.print(f"An entry that keeps its games waiting for {span} loses its remaining games.", soft_wrap=True)
    if tournament.offline:
        console.print(f"Not online: {', '.join(map(printing.printable, tournament.offline))}", style="yellow")
    print_summary(tournament)
    if tournament.candidates:
        console.print()
        _print_candidates(tournament)
    if tables.rows:
        console.print()
        tables.print_standings(console)
    if tables.matches:
        console.print()
        tables.print_pairings(console)
    if tournament.games_done:
        console.print()
        tables.print_crosstable(console, _MOST_ENTRIES)


def _more_settings(tournament: pb.Tournament) -> str:
    """Return the settings that only some tournaments have; empty if this one has none of them."""
    parts = []
    if tournament.rounds:
        parts.append(printing.count(tournament.rounds, "round"))
    if tournament.draw_after:
        parts.append(f"a draw after {printing.count(tournament.draw_after, 'ply', 'plies')}")
    if tournament.resign:
        parts.append(f"a loss by scores: {tournament.resign}")
    if tournament.draw:
        parts.append(f"a draw by scores: {tournament.draw}")
    if tournament.adjudicate:
        parts.append("a proven game ends")
    if tournament.forfeit_after:
        parts.append(f"a bot is withdrawn after {printing.count(tournament.forfeit_after, 'fault')}")
    return ", ".join(parts)


def _print_candidates(tournament: pb.Tournament) -> None:
    console = printing.stdout()
    first_candidate = tournament.candidates[0]
    printing.heading(console, f"Candidates against {first_candidate.labels[1]}: {tournament.sprt}")
    rows = [
        (
            candidate.labels[0],
            candidate.state,
            sum(candidate.pentanomial),
            *candidate.pentanomial,
            difference_text(candidate.elo if candidate.HasField("elo") else None, candidate.error95 or None),
            f"{candidate.sprt.llr:.2f}",
        )
        for candidate in tournament.candidates
    ]
    columns = ("candidate", "state", ">pairs", ">LL", ">LD", ">WL+DD", ">WD", ">WW", ">Elo", ">LLR")
    console.print(printing.table(columns, rows))
    bounds = f"The LLR {first_candidate.sprt.lower:.2f} drops a candidate, {first_candidate.sprt.upper:.2f} accepts it."
    console.print(f"{bounds} All candidates share alpha.", soft_wrap=True)


def print_summary(tournament: pb.Tournament) -> None:
    """Print the result of a match in a few lines, if there is one."""
    console = printing.stdout()
    if summary := tournament.match_details.summary:
        console.print()
        for line in summary.splitlines():
            console.print(printing.printable(line), soft_wrap=True, highlight=False)
    advice = tournament.match_details.advice
    if advice and tournament.state not in (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_CANCELLED):
        console.print(printing.printable(advice), style="yellow", soft_wrap=True, highlight=False)


def match_document(match: pb.MatchStatistics) -> dict[str, Any]:
    """Return the statistics of a match as JSON, in the form of `noughts match`."""
    document: dict[str, Any] = {
        "elo": {
            "value": match.elo if match.HasField("elo") else None,
            "error95": match.error95 if match.HasField("error95") else None,
            "los": match.los if match.HasField("los") else None,
        },
        "normalized_elo": {
            "value": match.normalized_elo if match.HasField("normalized_elo") else None,
            "error95": match.normalized_error95 if match.HasField("normalized_error95") else None,
        },
        "pentanomial": list(match.pentanomial),
        "repeats": match.repeats,
    }
    if match.HasField("sprt"):
        document["sprt"] = {
            "llr": match.sprt.llr,
            "lower": match.sprt.lower,
            "upper": match.sprt.upper,
            "decision": match.sprt.decision,
        }
    return document


def _absence_limit(tournament: pb.Tournament) -> float | None:
    """Return the inactivity timeout in seconds; None if there is none or the tournament is over."""
    if not tournament.HasField("absence_limit") or state_of(tournament) in ("finished", "cancelled"):
        return None
    return tournament.absence_limit.ToMicroseconds() / 1e6


def _seed(tournament: pb.Tournament) -> str:
    """Return the seed, or its commitment while it is secret."""
    chooser = ", chosen by the organiser" if tournament.seed_given else ""
    seed = tournament.seed if tournament.HasField("seed") else "secret until the end"
    return f"seed {seed}{chooser} (SHA-256 {tournament.seed_hash})"


def _start_conditions(tournament: pb.Tournament) -> str:
    """Return the conditions for the start, in this machine's time zone."""
    entries = printing.count(len(tournament.standings), "entry", "entries")
    conditions = [f"{entries} of {tournament.entries_min} to {tournament.entries_max:,}"]
    window = JoinWindow(milliseconds(tournament.join_from), milliseconds(tournament.join_until))
    conditions += [f"{event} {clock(time_ms)}" for event, time_ms in window.events(now_ms())]
    if (start_at := milliseconds(tournament.start_at)) is not None:
        conditions.append(f"start at {clock(start_at)}")
    return ", ".join(conditions)


def conditions_document(tournament: pb.Tournament) -> dict[str, Any]:
    """Return the settings and the state of a tournament as JSON, without its standings."""
    return {
        "tournament": tournament.name,
        "title": tournament.title,
        "owner": tournament.owner,
        "state": state_of(tournament),
        "variant": tournament.variant,
        "time": time_wording(tournament),
        "own_times": own_times(tournament),
        "schedule": str(_format(tournament)),
        "games_per_pair": tournament.games_per_pair,
        "rounds": tournament.rounds,
        "draw_after": tournament.draw_after,
        "resign": tournament.resign,
        "draw": tournament.draw,
        "adjudicate": tournament.adjudicate,
        "fuel": tournament.fuel,
        "margin_ms": tournament.margin_ms,
        "scale_time": tournament.scale_time,
        "live_scores": tournament.live_scores,
        "keep_scores": tournament.keep_scores,
        "live_analysis": tournament.live_analysis,
        "forfeit_after": tournament.forfeit_after,
        "stop_when_decided": tournament.stop_when_decided,
        "sprt": tournament.sprt,
        "priority": tournament.priority,
        "throughput": tournament.throughput,
        "concurrency": tournament.concurrency,
        **printing.seed_document(tournament.seed if tournament.HasField("seed") else None),
        "seed_hash": tournament.seed_hash,
        "seed_given": tournament.seed_given,
        "rated": tournament.rated if tournament.HasField("rated") else None,
        "own_rated": tournament.own_rated,
        "games": tournament.games_done,
        "games_total": tournament.games_total,
        "entries_min": tournament.entries_min,
        "entries_max": tournament.entries_max,
        "join_from": iso(milliseconds(tournament.join_from)),
        "join_until": iso(milliseconds(tournament.join_until)),
        "start_at": iso(milliseconds(tournament.start_at)),
        "reason": tournament.reason,
        "challenge": tournament.challenge,
        "retry_time": iso(milliseconds(tournament.retry_time)),
        "pause_time": iso(milliseconds(tournament.pause_time)),
        "league": tournament.league or None,
        "season": tournament.season or None,
        "repeat": "weekly" if tournament.repeat == pb.REPEAT_WEEKLY else None,
        "openings": OpeningsSummary.of_message(tournament.openings).document(),
    }


def state_wording(tournament: pb.Tournament) -> str:
    """Return the state in words with its times, e.g. `open, starts in 9 min` or `paused for 12 min`."""
    state = state_of(tournament)
    now = now_ms()
    paused_at = milliseconds(tournament.pause_time)
    if paused_at is not None and (paused_seconds := (now - paused_at) / 1000) >= _SHORTEST_PAUSE:
        state = f"{state} for {length(paused_seconds)}"
    if tournament.reason and state == "running":
        return f"{state}, but play has stopped: {stop_wording(tournament)}"
    if tournament.reason:
        return f"{state}: {tournament.reason}"
    if state != "open":
        return state
    join_from = milliseconds(tournament.join_from)
    join_until = milliseconds(tournament.join_until)
    start_at = milliseconds(tournament.start_at)
    window = JoinWindow(join_from, None if join_until == start_at else join_until)
    parts = [state, *(f"{event} {from_now(time_ms)}" for event, time_ms in window.events(now))]
    if start_at is not None:
        parts.append(f"starts {from_now(start_at) if start_at > now else 'now'}")
    return ", ".join(parts)


def state_of(tournament: pb.Tournament | feed_pb2.WatchedTournament) -> str:
    """Return the state, e.g. `running`."""
    return pb.TournamentState.Name(tournament.state).removeprefix("TOURNAMENT_STATE_").lower()


def time_wording(tournament: pb.Tournament) -> str:
    """Return the time control, e.g. `60+0.5`."""
    return str(time_control(tournament.time))


def _own_times(tournament: pb.Tournament) -> str:
    """Return the time controls of single bots in brackets; empty if there are none."""
    times = [f"{printing.printable(label)} {time}" for label, time in own_times(tournament).items()]
    return f" ({', '.join(times)})" if times else ""
