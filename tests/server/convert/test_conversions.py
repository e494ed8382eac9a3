"""No conversion forgets a field."""

from dataclasses import fields
from pathlib import Path

from google.protobuf.message import Message

from noughts_referee.clock import TimeControl
from noughts_referee.rules import Result, Termination, Thought
from noughts_referee.work_units import Allowance
from noughts_server.competition.formats import format_named
from noughts_server.competition.tournament_settings import OPTIONS, TournamentSettings
from noughts_server.convert.games import game_message
from noughts_server.convert.leaderboards import leaderboard_row_message
from noughts_server.convert.settings import settings_message, settings_of
from noughts_server.openings.settings import Openings, OpeningsKind
from noughts_server.statistics.rating_table import Estimate
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.games import Agreement, StoredGame
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.ratings.leaderboards import LeaderboardRow
from noughts_server.store.tournaments.tournaments import NewTournament, create_tournament

SETTINGS = TournamentSettings(
    variant="gomoku",
    time=TimeControl(move_us=1, bank_us=2, increment_us=3),
    own_times={"ada": TimeControl(move_us=4)},
    schedule=format_named("gauntlet"),
    games_per_pair=4,
    concurrency=5,
    seed=6,
    rated=False,
    rounds=7,
    draw_after=8,
    resign="moves=1,score=2",
    draw="moves=3,score=4",
    adjudicate="exact",
    fuel=9,
    margin_ms=10,
    scale_time=True,
    live_scores=True,
    live_analysis=True,
    keep_scores=True,
    forfeit_after=11,
    stop_when_decided=True,
    sprt="elo0=0,elo1=5",
    priority=12,
    throughput=13,
    across_owners=True,
    openings=Openings(kind=OpeningsKind.RANDOM, plies=3),
    title="Cup",
)
"""Settings in which no field has its default."""

DEFAULTS = TournamentSettings()

STORED_GAME = StoredGame(
    tournament_id=1,
    tournament="tournaments/cup",
    tournament_title="Cup",
    ordinal=2,
    variant="tictactoe",
    first="ada",
    second="bob",
    first_bot="bots/ada/versions/1",
    second_bot="bots/bob/versions/1",
    seed=3,
    moves=[0, 3, 1, 4, 2],
    times_us=[1, 2, 3, 4, 5],
    result=Result.FIRST_WINS,
    termination=Termination.LINE,
    first_time=TimeControl(move_us=1),
    second_time=TimeControl(move_us=2),
    time_factor=1.5,
    ended_at=4,
    fault="crashed",
    adjudication="proven a draw",
    rating_seq=5,
    agreement=Agreement(rule="swap", opener="ada", stones=3),
    opening_plies=1,
    allowances=(Allowance(1, 2), Allowance(3, 4)),
    scores={0: 0.5},
    comments={1: "good"},
    thoughts={2: Thought(depth=3, nodes=4, time_us=5, pv=(2,))},
    round=6,
)


def unset_fields(message: Message) -> set[str]:
    """Return the names of the fields that the message does not set."""
    return {field.name for field in message.DESCRIPTOR.fields} - {field.name for field, _ in message.ListFields()}


def test_settings_are_the_same_after_conversion_to_a_message() -> None:
    names = [field.name for field in fields(SETTINGS)]
    assert [name for name in names if getattr(SETTINGS, name) == getattr(DEFAULTS, name)] == []
    read = settings_of(settings_message(SETTINGS, seed=SETTINGS.seed), seed=0)
    # The message lacks this field: the server decides whether a priority holds across owners.
    differing = [name for name in names if getattr(read, name) != getattr(SETTINGS, name)]
    assert differing == ["across_owners"]


async def test_settings_are_the_same_after_storage_in_the_database(tmp_path: Path) -> None:
    def create(connection: Connection) -> TournamentSettings:
        owner = create_owner(connection, "carol")
        return create_tournament(connection, NewTournament("cup", SETTINGS), owner_id=owner, now_ms=1).settings

    store = await Store.open(f"sqlite:///{tmp_path}/x.sqlite")
    stored = await store.write(create)
    await store.close()
    assert [
        field.name for field in fields(stored) if getattr(stored, field.name) != getattr(SETTINGS, field.name)
    ] == []


def test_game_has_all_fields_of_its_message() -> None:
    message = game_message(STORED_GAME)
    assert unset_fields(message) == set()
    assert (
        unset_fields(message.agreement)
        == unset_fields(message.first_allowance)
        == unset_fields(message.second_allowance)
        == set()
    )
    allowances = message.first_allowance, message.second_allowance
    assert [(allowance.network_us, allowance.margin_us) for allowance in allowances] == [(1, 2), (3, 4)]


def test_leaderboard_row_has_all_fields_of_its_message() -> None:
    row = LeaderboardRow(
        rank=1,
        bot_id=2,
        bot="ada",
        owner="carol",
        rating=1600.0,
        games=3,
        wins=4,
        draws=5,
        losses=6,
        before=1500.0,
        judged_games=7,
        decisions=8,
        blunders=9,
    )
    estimate = Estimate(view_rating=1.0, view_error95=2.0, rank_low=1, rank_high=2)
    assert unset_fields(leaderboard_row_message(row, {2}, estimate)) == set()


def test_options_of_settings_are_complete() -> None:
    assert SETTINGS.options == {name: getattr(SETTINGS, name) for name in OPTIONS}
