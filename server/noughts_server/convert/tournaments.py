"""Protocol messages of tournaments, seasons, standings and crosstables."""

from collections.abc import Sequence
from operator import attrgetter

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_referee.rules import commitment
from noughts_server.convert.matches import (
    candidates_messages,
    match_details_message,
    match_statistics_message,
    proven_by_test,
)
from noughts_server.convert.settings import settings_message
from noughts_server.convert.times import timestamp
from noughts_server.store.engine.schema import Kind, TournamentState
from noughts_server.store.games.standings import CrosstableCell, CrosstablePage
from noughts_server.store.seeds import SeedKind
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.pairings import MatchRow
from noughts_server.tables.standings import Standing, first_places
from noughts_server.tables.stories import Story

_MOST_WINNERS = 8


def tournament_message(
    tournament: Tournament, rows: Sequence[Standing] = (), labels: Sequence[str] = ()
) -> pb.Tournament:
    """Return the message of a tournament with these standings, or of a match with only the labels of its entries."""
    settings, joining = tournament.settings, tournament.joining
    labels = labels or entry_labels(rows)
    match = match_statistics_message(tournament, labels)
    message = pb.Tournament(
        name=tournament.name,
        owner=tournament.owner,
        state=tournament.state.value,  # type: ignore[arg-type]  # equal values
        reason=tournament.reason,
        own_rated=tournament.own_rated,
        games_total=tournament.games_total,
        games_done=tournament.games_done,
        seed_hash=commitment(settings.seed),
        seed_given=tournament.seed_kind is SeedKind.GIVEN,
        create_time=timestamp(tournament.created_at),
        start_time=timestamp(tournament.started_at),
        end_time=timestamp(tournament.ended_at),
        retry_time=timestamp(tournament.retry_at),
        pause_time=timestamp(tournament.paused_at),
        rating_list=settings.rating_list if settings.rated else "",
        entries_min=joining.entries_min,
        entries_max=joining.entries_max,
        join_from=timestamp(joining.join_from),
        join_until=timestamp(joining.join_until),
        start_at=timestamp(joining.start_at),
        challenge=tournament.kind is Kind.CHALLENGE,
        test=tournament.kind is Kind.TEST,
        standings=map(standing_message, rows),
        entries=len(rows),
        winners=winners_of(tournament, rows),
        match=match,
        candidates=candidates_messages(tournament, labels),
        match_details=match_details_message(tournament, match if rows else None),
    )
    seed = settings.seed if tournament.ended else None
    message.MergeFrom(settings_message(settings, seed=seed, whole_openings=False))
    return message


def winners_of(tournament: Tournament, rows: Sequence[Standing]) -> list[str]:
    """Return the labels of the entries with the first rank; of a test, the bots whose gain it proved.

    Empty before the end.
    """
    if tournament.state is not TournamentState.FINISHED or tournament.games_done == 0:
        return []
    if tournament.settings.sprt:
        return proven_by_test(tournament, entry_labels(rows))
    return first_places(rows)[:_MOST_WINNERS]


def story_message(story: Story, rows: Sequence[Standing], *, is_bracket: bool) -> pb.TournamentStory:
    """Return the message of a story; `rows` are the standings. With a bracket, places are seeds."""
    labels = {row.number: row.label for row in rows}
    places = {row.number: row.number + 1 if is_bracket else row.rank for row in rows}
    message = pb.TournamentStory(lead_changes=story.lead_changes)
    if story.upset is not None:
        message.upset_game = story.upset.game
        message.upset_winner, message.upset_loser = labels[story.upset.winner], labels[story.upset.loser]
        message.upset_winner_place = places[story.upset.winner]
        message.upset_loser_place = places[story.upset.loser]
    if story.lead is not None:
        message.lead_game, message.lead_round = story.lead
    if story.decision is not None:
        message.decided_game, message.decided_round = story.decision
    if story.longest is not None:
        message.longest_game, message.longest_moves = story.longest.number, story.longest.moves
    if story.shortest is not None:
        message.shortest_game, message.shortest_moves = story.shortest.number, story.shortest.moves
    return message


def entry_labels(rows: Sequence[Standing]) -> list[str]:
    """Return the labels of entries in the order in which they joined."""
    return [row.label for row in sorted(rows, key=attrgetter("number"))]


def season_message(number: int, season: Tournament, table: Sequence[Standing]) -> pb.Season:
    """Return a season of a league with its winners, several if they share the first rank."""
    is_finished = season.state is TournamentState.FINISHED and season.games_done > 0
    winners = first_places(table) if is_finished else []
    return pb.Season(
        number=number,
        tournament=season.name,
        title=season.settings.title,
        state=season.state.value,  # type: ignore[arg-type]  # equal values
        start_at=timestamp(season.joining.start_at),
        start_time=timestamp(season.started_at),
        end_time=timestamp(season.ended_at),
        entries=len(table),
        games_done=season.games_done,
        winner=winners[0] if winners else "",
        winners=winners,
    )


def standing_message(row: Standing) -> pb.Standing:
    tie_break = f"TIE_BREAK_{row.tie_break.name if row.tie_break else 'UNSPECIFIED'}"
    return pb.Standing(
        label=row.label,
        bot_version=row.bot_version,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        points=row.points,
        rating=row.rating,
        byes=row.byes,
        withdraw_time=timestamp(row.withdrawn_at),
        withdraw_reason=row.withdrawn_reason,
        faults=row.faults,
        rank=row.rank,
        head_to_head=row.head_to_head,
        sonneborn_berger=row.sonneborn_berger,
        tie_break=pb.TieBreak.Value(tie_break),
        buchholz=row.buchholz,
    )


def crosstable_message(table: CrosstablePage) -> pb.GetCrosstableResponse:
    """Return a crosstable, or a page of it, as a protocol message."""
    return pb.GetCrosstableResponse(
        standings=map(standing_message, table.standings),
        cells=map(_cell_message, table.cells),
        next_page_token=table.next_page_token,
        matches=map(match_message, table.matches),
        encounters=map(match_message, table.pairings),
    )


def _cell_message(cell: CrosstableCell) -> pb.CrosstableCell:
    return pb.CrosstableCell(first=cell.first, second=cell.second, wins=cell.wins, draws=cell.draws, losses=cell.losses)


def match_message(match: MatchRow) -> pb.Match:
    decision = f"MATCH_DECISION_{match.decision.name if match.decision else 'UNSPECIFIED'}"
    return pb.Match(
        round=match.round,
        first=match.first or "",
        second=match.second or "",
        first_points=match.first_points,
        second_points=match.second_points,
        games=match.games,
        winner=match.winner or "",
        decision=pb.MatchDecision.Value(decision),
        games_left=match.games_left,
        next_game=match.next_game,
    )
