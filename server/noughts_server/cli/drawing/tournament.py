"""A tournament of a server, as text and as JSON."""

from typing import Any

from noughts_proto.v1 import feed_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import output, printing
from noughts_server.cli.drawing.estimate_lines import difference_text
from noughts_server.cli.drawing.rating_table import ratings_document, show_fit
from noughts_server.cli.drawing.standings import TournamentTables
from noughts_server.cli.drawing.stop_wording import stop_wording
from noughts_server.cli.errors import Problem, problems_with
from noughts_server.cli.options.openings import openings_document, openings_wording
from noughts_server.cli.times import clock, from_now, iso, length, milliseconds, now_ms
from noughts_server.client.client import Client
from noughts_server.competition.formats import TournamentFormat, format_of
from noughts_server.competition.tournament_settings import OPTIONS
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import short
from noughts_server.records.server_games import about_tournament, bye_points, matches_of, own_times
from noughts_server.tables.about import About
from noughts_server.tables.crosstable import scores_of
from noughts_server.tables.standings import Standing, TieBreak

_MOST_PRINTED = 128
"""Entries in a printed crosstable."""


def show_tournament(client: Client, shown: pb.Tournament, *, fit: bool = False) -> None:
    """Print a tournament with its standings and its crosstable; `fit` adds ratings from all its games."""
    tables = _tables(client, shown)
    faults = {row.label: row.faults for row in tables.rows if row.faults}
    fitted = tables.fit() if fit else None
    if output.is_json():
        document = conditions_document(shown) | tables.document()
        if shown.HasField("match"):
            details = shown.match_details
            document["match"] = match_document(shown.match) | {"summary": details.summary, "advice": details.advice}
        if shown.candidates:
            document["candidates"] = [
                {"label": each.labels[0], "state": each.state, "games": each.games} | match_document(each)
                for each in shown.candidates
            ]
            document["advice"] = shown.match_details.advice
        document["faults"] = [{"bot": label, "games": count} for label, count in faults.items()]
        document["offline"] = list(shown.offline)
        document["absence_limit"] = _absence_limit(shown)
        if fitted is not None:
            document["fit"] = ratings_document(fitted)
        printing.print_json(document)
    else:
        _print(shown, tables)
        for label, count in faults.items():
            lost = f"{printing.printable(label)} lost {printing.count(count, 'game')} through its own fault."
            printing.stdout().print(lost, markup=False)
        if faults:
            printing.note(f"noughts game list {short(shown.name)} --fault")
        if fitted is not None:
            show_fit(fitted)


def _format(shown: pb.Tournament) -> TournamentFormat:
    """Return a tournament's format. Raise Problem for one that only a newer Noughts knows."""
    hint = "Install the version of Noughts that the server runs."
    with problems_with(shown.name, ValueError, raises=Problem, hint=hint):
        return format_of(shown.schedule)


def _tables(client: Client, shown: pb.Tournament) -> TournamentTables:
    """Return the tables, with the crosstable from all its pages."""
    request = pb.GetCrosstableRequest(name=shown.name)
    first = page = client.call(client.tournaments.GetCrosstable, request)
    cells = list(page.cells)
    while page.next_page_token:
        request.page_token = page.next_page_token
        page = client.call(client.tournaments.GetCrosstable, request)
        cells += page.cells
    bracket = _format(shown).places_by_bracket
    return TournamentTables(list(map(_standing, shown.standings)), scores_of(cells), matches_of(first), bracket=bracket)


def about_of(shown: pb.Tournament, table: pb.GetCrosstableResponse) -> About:
    """Return the facts about a tournament for tables and reports. Raises Problem as `_format` does."""
    _format(shown)
    return about_tournament(shown, table)


def _standing(row: pb.Standing) -> Standing:
    """Return a row of the protocol's standings; a missing rating is None."""
    return Standing(
        label=row.label,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        rating=printing.value_of(row, "rating"),
        byes=row.byes,
        bye_points=bye_points(row),
        withdrawn_at=milliseconds(row, "withdraw_time"),
        withdrawn_reason=row.withdraw_reason,
        faults=row.faults,
        rank=row.rank,
        head_to_head=printing.value_of(row, "head_to_head"),
        sonneborn_berger=row.sonneborn_berger,
        tie_break=TieBreak.__members__.get(pb.TieBreak.Name(row.tie_break).removeprefix("TIE_BREAK_")),
    )


def _print(shown: pb.Tournament, tables: TournamentTables) -> None:
    console = printing.stdout()
    printing.heading(console, f"{shown.name} ({shown.title})" if shown.title else shown.name)
    state = state_wording(shown)
    if shown.games_total:
        separator = "." if shown.reason else ","
        state = f"{state.rstrip('.')}{separator} {shown.games_done:,} of {shown.games_total:,} games played"
    rated = "unrated"
    if shown.rated:
        rated = "rated" if shown.own_rated else "rated, except games between bots of one owner"
    console.print(
        f"{state}\n"
        f"{_format(shown)}, {shown.variant}, time {time_wording(shown)}{_own_times(shown)}{_margin(shown)},"
        f" {printing.count(shown.games_per_pair, 'game')} a pair,"
        f" {rated}, organised by {printing.printable(shown.owner)}"
    )
    if rules := _more_settings(shown):
        console.print(rules, soft_wrap=True)
    console.print(_seed(shown), soft_wrap=True)
    if shown.season:
        repeats = ", which repeats weekly" if shown.repeat == pb.REPEAT_WEEKLY else ""
        console.print(f"season {shown.season} of {short(shown.league)}{repeats}", soft_wrap=True)
    if openings := openings_wording(shown.openings):
        console.print(openings, soft_wrap=True)
    if state_of(shown) == "open":
        console.print(_joining(shown))
    if limit := _absence_limit(shown):
        span = length(limit)
        console.print(f"An entry that keeps its games waiting for {span} loses its remaining games.", soft_wrap=True)
    if shown.offline:
        console.print(f"Not online: {', '.join(map(printing.printable, shown.offline))}", style="yellow")
    print_summary(shown)
    if shown.candidates:
        console.print()
        _print_candidates(shown)
    if tables.rows:
        console.print()
        tables.print_standings(console)
    if tables.matches:
        console.print()
        tables.print_pairings(console)
    if shown.games_done:
        console.print()
        tables.print_crosstable(console, _MOST_PRINTED)


def _more_settings(shown: pb.Tournament) -> str:
    """Return the settings that only some tournaments have; empty if this one has none of them."""
    parts = []
    if shown.rounds:
        parts.append(printing.count(shown.rounds, "round"))
    if shown.draw_after:
        parts.append(f"a draw after {printing.count(shown.draw_after, 'ply', 'plies')}")
    if shown.forfeit_after:
        parts.append(f"a bot is withdrawn after {printing.count(shown.forfeit_after, 'fault')}")
    return ", ".join(parts)


def _print_candidates(shown: pb.Tournament) -> None:
    console, first = printing.stdout(), shown.candidates[0]
    printing.heading(console, f"Candidates against {first.labels[1]}: {shown.sprt}")
    rows = []
    for each in shown.candidates:
        elo = difference_text(printing.value_of(each, "elo"), each.error95 or None)
        llr = f"{each.sprt.llr:.2f}"
        rows.append((each.labels[0], each.state, sum(each.pentanomial), *each.pentanomial, elo, llr))
    columns = ("candidate", "state", ">pairs", ">LL", ">LD", ">WL+DD", ">WD", ">WW", ">Elo", ">LLR")
    console.print(printing.table(columns, rows))
    bounds = f"The LLR {first.sprt.lower:.2f} drops a candidate, {first.sprt.upper:.2f} accepts it."
    console.print(f"{bounds} All candidates share alpha.", soft_wrap=True)


def print_summary(shown: pb.Tournament) -> None:
    """Print the result of a match in a few lines, if there is one."""
    console = printing.stdout()
    if summary := shown.match_details.summary:
        console.print()
        for line in summary.splitlines():
            console.print(printing.printable(line), soft_wrap=True, highlight=False)
    advice = shown.match_details.advice
    if advice and shown.state not in (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_CANCELLED):
        console.print(printing.printable(advice), style="yellow", soft_wrap=True, highlight=False)


def match_document(found: pb.MatchStatistics) -> dict[str, Any]:
    """Return the statistics of a match for JSON, as `noughts match` prints them."""
    values = printing.picked(found, "elo", "normalized_elo", "normalized_error95")
    test = {"sprt": printing.picked(found.sprt, "llr", "lower", "upper", "decision")} if found.HasField("sprt") else {}
    return {
        "elo": {"value": values["elo"], **printing.picked(found, "error95", "los")},
        "normalized_elo": {"value": values["normalized_elo"], "error95": values["normalized_error95"]},
        "pentanomial": list(found.pentanomial),
        "repeats": found.repeats,
        **test,
    }


def _absence_limit(shown: pb.Tournament) -> float | None:
    """Return the inactivity timeout in seconds; None if there is none or the tournament is over."""
    if not shown.HasField("absence_limit") or state_of(shown) in ("finished", "cancelled"):
        return None
    return shown.absence_limit.ToMicroseconds() / 1e6


def _seed(shown: pb.Tournament) -> str:
    """Return the seed, or its commitment while it is secret."""
    chosen = ", chosen by the organiser" if shown.seed_given else ""
    seed = shown.seed if shown.HasField("seed") else "secret until the end"
    return f"seed {seed}{chosen} (SHA-256 {shown.seed_hash})"


def _joining(shown: pb.Tournament) -> str:
    """Return the conditions for the start, in this machine's time zone."""
    told = [
        f"{printing.count(len(shown.standings), 'entry', 'entries')} of {shown.entries_min} to {shown.entries_max:,}"
    ]
    for name, wording in (("join_from", "joining from"), ("join_until", "joining until"), ("start_at", "start at")):
        moment = milliseconds(shown, name)
        if moment is not None:
            told.append(f"{wording} {clock(moment)}")
    return ", ".join(told)


def conditions_document(shown: pb.Tournament) -> dict[str, Any]:
    """Return a tournament without its standings for JSON."""
    return {
        "tournament": shown.name,
        **printing.picked(shown, "title", "owner"),
        "state": state_of(shown),
        "variant": shown.variant,
        "time": time_wording(shown),
        "own_times": own_times(shown),
        "schedule": str(_format(shown)),
        **printing.picked(shown, "games_per_pair", *OPTIONS),
        "concurrency": shown.concurrency,
        **printing.seed_document(printing.value_of(shown, "seed")),
        **printing.picked(shown, "seed_hash", "seed_given", "rated", "own_rated"),
        "games": shown.games_done,
        **printing.picked(shown, "games_total", "entries_min", "entries_max"),
        **{name: iso(milliseconds(shown, name)) for name in ("join_from", "join_until", "start_at")},
        **printing.picked(shown, "reason", "challenge"),
        "retry_time": iso(milliseconds(shown, "retry_time")),
        "league": shown.league or None,
        "season": shown.season or None,
        "repeat": "weekly" if shown.repeat == pb.REPEAT_WEEKLY else None,
        "openings": openings_document(shown.openings),
    }


def state_wording(shown: pb.Tournament) -> str:
    """Return the state in words with what comes next, e.g. `open, starts in 9 min`."""
    state, now = state_of(shown), now_ms()
    if shown.reason and state == "running":
        return f"{state}, but play has stopped: {stop_wording(shown)}"
    if shown.reason:
        return f"{state}: {shown.reason}"
    if state != "open":
        return state
    join_from, join_until, start_at = (milliseconds(shown, name) for name in ("join_from", "join_until", "start_at"))
    told = []
    if join_from is not None and join_from > now:
        told.append(f"joining begins {from_now(join_from)}")
    elif join_until is not None and join_until != start_at:
        told.append(f"joining {'ends' if join_until > now else 'ended'} {from_now(join_until)}")
    if start_at is not None:
        told.append(f"starts {from_now(start_at) if start_at > now else 'now'}")
    return ", ".join([state, *told])


def state_of(shown: pb.Tournament | feed_pb2.WatchedTournament) -> str:
    """Return the state, e.g. `running`."""
    return pb.TournamentState.Name(shown.state).removeprefix("TOURNAMENT_STATE_").lower()


def time_wording(shown: pb.Tournament) -> str:
    """Return the time control, e.g. `60+0.5`."""
    return str(time_control(shown.time))


def _margin(shown: pb.Tournament) -> str:
    return f", margin {shown.margin_ms} ms" if shown.margin_ms else ""


def _own_times(shown: pb.Tournament) -> str:
    told = [f"{printing.printable(label)} {time}" for label, time in own_times(shown).items()]
    return f" ({', '.join(told)})" if told else ""
