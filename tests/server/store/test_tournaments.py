"""Tournaments: creation, entries, states and standings."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from noughts_referee.clock import TimeControl, parse_time_control
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    TooManyEntries,
    WrongState,
)
from noughts_server.services.new_tournaments import check_tournament
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState, tournaments
from noughts_server.store.games.standings import crosstable, standings, whole_crosstable
from noughts_server.store.people.bots import get_version, log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.seeds import SeedKind, signed, stored_seed
from noughts_server.store.tournaments.claims import claim_unit, unfinished_units
from noughts_server.store.tournaments.entries import join_tournament, withdraw_entry
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.tests import _free_slug
from noughts_server.store.tournaments.tournaments import (
    NewTournament,
    Tournament,
    cancel_tournament,
    conditions,
    create_tournament,
    get_tournament,
    get_tournament_by_id,
    list_tournaments,
    pause_tournament,
    running_tournaments,
    start_tournament,
)
from tests.support.arena import NOW, Arena

STATES = tuple(TournamentState)


async def create(arena: Arena, slug: str = "cup", **settings: Any) -> Tournament:
    owner = await arena.store.write(partial(create_owner, name="alice"))
    new = check_tournament(NewTournament(slug, TournamentSettings(**settings)), NOW)
    return await arena.store.write(partial(create_tournament, new=new, owner_id=owner, now_ms=NOW))


async def in_state(arena: Arena, state: TournamentState) -> Tournament:
    """Create the tournament `cup` of ada and bob, and lead it to this state."""
    tournament = await arena.tournament(start=state is not TournamentState.OPEN)
    if state is TournamentState.PAUSED:
        return await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    if state is TournamentState.CANCELLED:
        return await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW))
    if state is TournamentState.FINISHED:
        await arena.commit(await arena.play(tournament))
        return await get(arena, tournament.slug)
    return tournament


async def get(arena: Arena, slug: str = "cup") -> Tournament:
    return await arena.store.read(partial(get_tournament, slug=slug))


# Creation.


async def test_settings_are_stored_as_they_were_chosen(arena: Arena) -> None:
    settings: dict[str, Any] = {
        "title": "The Cup",
        "variant": "mnk:3,3,3",
        "time": parse_time_control("60/2+0.5"),
        "games_per_pair": 10,
        "concurrency": 4,
        "seed": 2**64 - 1,
        "rated": False,
    }
    tournament = await create(arena, **settings)
    assert {name: getattr(tournament.settings, name) for name in settings} == settings | {"variant": "tictactoe"}
    assert (tournament.name, tournament.owner, tournament.state) == ("tournaments/cup", "alice", TournamentState.OPEN)
    assert (tournament.created_at, tournament.started_at, tournament.ended_at) == (NOW, None, None)
    assert tournament.settings.rating_list == "tictactoe/bullet"
    assert await get(arena) == tournament


@pytest.mark.parametrize(
    "field, wrong",
    [
        ("slug", "Cup"),
        ("slug", ""),
        ("slug", "x" * 64),
        ("slug", "a/b"),
        ("title", "x" * 201),
        ("variant", "chess"),
        ("games_per_pair", 0),
        ("games_per_pair", 1_000_001),
        ("concurrency", 0),
        ("concurrency", 65_537),
        ("seed", -1),
        ("seed", 2**64),
        ("time", TimeControl(move_us=-1)),
        ("time", TimeControl(increment_us=1)),
        ("time", TimeControl(move_us=1, increment_us=1)),
        ("time", TimeControl(bank_us=2**62)),
    ],
)
async def test_wrong_setting_is_an_invalid_argument(arena: Arena, field: str, wrong: object) -> None:
    settings: dict[str, Any] = {field: wrong}
    with pytest.raises(InvalidArgument) as caught:
        await create(arena, **settings)
    assert caught.value.subject.startswith(f"tournament.{'name' if field == 'slug' else field}")


async def test_id_can_be_used_once(arena: Arena) -> None:
    await create(arena)
    with pytest.raises(AlreadyExists, match="tournaments/cup"):
        await create(arena)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_unsigned_seed_survives_a_signed_column(seed: int) -> None:
    assert -(2**63) <= signed(seed) < 2**63
    row = SimpleNamespace(seed=signed(seed), seed_kind=SeedKind.GIVEN)
    assert stored_seed(row) == seed  # type: ignore[arg-type]  # only the columns that it reads


async def test_unknown_tournament_is_not_found(arena: Arena) -> None:
    with pytest.raises(NotFound, match="tournaments/cup"):
        await get(arena)
    with pytest.raises(NotFound):
        await arena.store.read(partial(get_tournament_by_id, tournament_id=7))


async def test_tournaments_are_listed_newest_first_page_by_page(arena: Arena) -> None:
    for number in range(5):
        await create(arena, slug=f"cup-{number}")
    first = await arena.store.read(partial(list_tournaments, size=3))
    second = await arena.store.read(partial(list_tournaments, size=3, page_token=first.next_page_token))
    assert [tournament.slug for tournament in first.items] == ["cup-4", "cup-3", "cup-2"]
    assert [tournament.slug for tournament in second.items] == ["cup-1", "cup-0"]
    assert second.next_page_token == ""


# Entries.


async def test_bot_enters_with_its_newest_version_under_its_name(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada",), start=False)
    owner = await arena.store.write(partial(create_owner, name="alice"))
    await arena.store.write(partial(log_in, owner_id=owner, name="ada", version="2", now_ms=NOW))
    newest = await arena.store.write(partial(join_tournament, slug=tournament.slug, bot="ada"))
    await arena.store.write(partial(log_in, owner_id=owner, name="ada", version="3", now_ms=NOW))
    pinned = await arena.store.write(partial(join_tournament, slug="cup", bot="ada", version="3", label="third"))
    assert newest == ("ada#2", "bots/ada/versions/2")
    assert pinned == ("third", "bots/ada/versions/3")


async def test_a_version_enters_a_tournament_once(arena: Arena) -> None:
    await arena.tournament(bots=("ada", "bob"), start=False)
    with pytest.raises(AlreadyExists, match="bots/ada/versions/1") as refused:
        await arena.store.write(partial(join_tournament, slug="cup", bot="ada", label="again"))
    assert "another version" in refused.value.hint


async def test_label_is_unique_in_its_tournament(arena: Arena) -> None:
    await arena.tournament("other", start=False)
    await arena.tournament(start=False)
    with pytest.raises(AlreadyExists, match="tournaments/cup/entries/bob"):
        await arena.store.write(partial(join_tournament, slug="cup", bot="ada", label="bob"))
    with pytest.raises(InvalidArgument):
        await arena.store.write(partial(join_tournament, slug="cup", bot="ada", label="a/b"))


async def test_only_its_owner_enters_a_bot(arena: Arena) -> None:
    await arena.tournament(start=False)
    bob = await arena.store.write(partial(create_owner, name="bob"))
    with pytest.raises(PermissionDenied, match="bots/ada"):
        await arena.store.write(partial(join_tournament, slug="cup", bot="ada", owner_id=bob))


async def test_full_tournament_takes_no_more_entries(arena: Arena) -> None:
    await arena.tournament(start=False)
    arena.execute("UPDATE tournaments SET entries_max = 2")
    with pytest.raises(TooManyEntries):
        await arena.store.write(partial(join_tournament, slug="cup", bot="ada"))


async def test_entry_that_makes_too_many_games_is_refused(arena: Arena) -> None:
    # 15 entries make 105 pairs.
    await arena.tournament(bots=[f"bot{number}" for number in range(14)], games_per_pair=1_000_000, start=False)
    with pytest.raises(ResourceExhausted, match="105,000,000"):
        await arena.store.write(partial(join_tournament, slug="cup", bot="bot0"))


async def test_withdrawn_entry_leaves_no_gap_in_the_numbers(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada", "bob", "cleo", "dora"), start=False)
    for label in ("bob", "ada"):
        await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label=label))
    await arena.store.write(partial(join_tournament, slug="cup", bot="bob"))
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    game_conditions = await arena.store.read(partial(conditions, tournament_id=tournament.id))
    assert game_conditions.labels == ("cleo", "dora", "bob")
    assert arena.rows("SELECT number, label FROM entries ORDER BY number") == [(0, "cleo"), (1, "dora"), (2, "bob")]


async def test_entry_is_withdrawn_by_its_owner_or_the_organiser(arena: Arena) -> None:
    await arena.tournament(bots=("ada",), start=False)
    bob, carol = [await arena.store.write(partial(create_owner, name=name)) for name in ("bob", "carol")]
    for label in ("one", "two"):
        await arena.store.write(partial(log_in, owner_id=bob, name=f"bert-{label}", now_ms=NOW))
        enter = partial(join_tournament, slug="cup", bot=f"bert-{label}", label=label, owner_id=bob)
        await arena.store.write(enter)
    with pytest.raises(PermissionDenied):
        await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label="one", owner_id=carol))
    with pytest.raises(PermissionDenied):
        await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label="ada", owner_id=bob))
    await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label="one", owner_id=bob))
    alice = await arena.store.write(partial(create_owner, name="alice"))
    await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label="two", owner_id=alice))
    with pytest.raises(NotFound, match="entries/two"):
        await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label="two", owner_id=alice))


# States.


async def test_start_fixes_the_slots(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=4)
    assert (tournament.state, tournament.games_total, tournament.started_at) == (TournamentState.RUNNING, 12, NOW)
    units = await arena.store.read(partial(unfinished_units, tournament_id=tournament.id))
    claims = [await arena.store.write(partial(claim_unit, tournament_id=tournament.id, number=unit)) for unit in units]
    slots = [slot for claim in claims for slot in claim.slots]
    # Three entries: the Berger table of four, without the fourth.
    assert slots[:6] == [(1, 1, 2), (2, 0, 1), (3, 2, 0), (4, 2, 1), (5, 1, 0), (6, 0, 2)]
    assert len(slots) == 12


@pytest.mark.parametrize("bots", [(), ("ada",)])
async def test_tournament_without_opponents_does_not_start(arena: Arena, bots: tuple[str, ...]) -> None:
    with pytest.raises(WrongState, match="at least 2"):
        await arena.tournament(bots=bots)


@pytest.mark.parametrize("state", STATES, ids=str)
@pytest.mark.parametrize(
    "verb, allowed",
    [
        (
            partial(start_tournament, slug="cup", now_ms=NOW),
            {"open": "running", "running": "running", "paused": "running"},
        ),
        (partial(pause_tournament, slug="cup", now_ms=NOW), {"running": "paused", "paused": "paused"}),
        (
            partial(cancel_tournament, slug="cup", now_ms=NOW),
            dict.fromkeys(("open", "running", "paused", "cancelled"), "cancelled"),
        ),
    ],
    ids=["start", "pause", "cancel"],
)
async def test_verb_leads_from_state_to_state(
    arena: Arena, verb: Any, allowed: dict[str, str], state: TournamentState
) -> None:
    before = await in_state(arena, state)
    assert before.state is state
    if str(state) in allowed:
        after = await arena.store.write(verb)
        assert str(after.state) == allowed[str(state)]
    else:
        with pytest.raises(WrongState) as caught:
            await arena.store.write(verb)
        assert (caught.value.subject, caught.value.got) == ("tournaments/cup", str(state))
        assert await get(arena) == before


async def test_paused_tournament_knows_since_when(arena: Arena) -> None:
    await in_state(arena, TournamentState.RUNNING)
    pause = partial(pause_tournament, slug="cup")
    assert (await arena.store.write(partial(pause, now_ms=NOW + 5))).paused_at == NOW + 5
    assert (await arena.store.write(partial(pause, now_ms=NOW + 9))).paused_at == NOW + 5
    assert (await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW + 10))).paused_at is None
    assert (await arena.store.write(partial(pause, now_ms=NOW + 20))).paused_at == NOW + 20
    assert (await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW + 30))).paused_at is None


async def test_extension_that_pauses_a_finished_tournament_has_no_time_of_pause(arena: Arena) -> None:
    tournament = await in_state(arena, TournamentState.RUNNING)
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    tournament = await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    await arena.commit(await arena.play(tournament))
    extended = await arena.store.write(partial(extend_tournament, slug="cup", games_per_pair=2))
    assert (extended.state, extended.paused_at) == (TournamentState.PAUSED, None)


@pytest.mark.parametrize("state", [state for state in STATES if str(state) not in ("open", "paused")], ids=str)
async def test_a_round_robin_is_joined_while_it_is_open_or_paused(arena: Arena, state: TournamentState) -> None:
    await in_state(arena, state)
    with pytest.raises(WrongState):
        await arena.store.write(partial(join_tournament, slug="cup", bot="ada"))


@pytest.mark.parametrize("state", [TournamentState.FINISHED, TournamentState.CANCELLED], ids=str)
async def test_nobody_leaves_a_tournament_that_has_ended(arena: Arena, state: TournamentState) -> None:
    await in_state(arena, state)
    with pytest.raises(WrongState):
        await arena.store.write(partial(withdraw_entry, slug="cup", now_ms=NOW, label="ada"))


@pytest.mark.parametrize("verb", [start_tournament, pause_tournament, cancel_tournament])
async def test_only_the_organiser_starts_pauses_or_cancels(arena: Arena, verb: Any) -> None:
    await arena.tournament()
    bob = await arena.store.write(partial(create_owner, name="bob"))
    with pytest.raises(PermissionDenied, match="tournaments/cup"):
        await arena.store.write(partial(verb, slug="cup", owner_id=bob, now_ms=NOW))


async def test_running_tournaments_are_found_again(arena: Arena) -> None:
    for slug in ("one", "two", "three"):
        await arena.tournament(slug)
    await arena.tournament("four", start=False)
    await arena.store.write(partial(pause_tournament, slug="two", now_ms=NOW))
    running = await arena.store.read(running_tournaments)
    assert [tournament.slug for tournament in running] == ["one", "three"]


async def test_conditions_for_the_referee_are_those_of_the_tournament(arena: Arena) -> None:
    tournament = await arena.tournament(time=parse_time_control("1/move"), variant="mnk:4,4,3", bots=("bob", "ada"))
    game_conditions = await arena.store.read(partial(conditions, tournament_id=tournament.id))
    assert (game_conditions.tournament, game_conditions.name, game_conditions.variant.name) == (
        tournament.id,
        "tournaments/cup",
        "mnk:4,4,3",
    )
    assert (game_conditions.time, game_conditions.seed, game_conditions.concurrency) == (
        tournament.settings.time,
        7,
        1024,
    )
    assert game_conditions.labels == ("bob", "ada")
    assert game_conditions.players == (1, 2)


async def test_times_of_single_entries_are_stored_and_sent_to_the_referee(arena: Arena) -> None:
    own_times = {"ada": parse_time_control("180/30+0"), "zoe": parse_time_control("none")}
    time = parse_time_control("1/move")
    tournament = await arena.tournament(time=time, own_times=own_times, rated=False, bots=("bob", "ada"))
    assert (await get(arena)).settings == tournament.settings
    assert tournament.settings.own_times == own_times
    game_conditions = await arena.store.read(partial(conditions, tournament_id=tournament.id))
    assert (game_conditions.limits, game_conditions.timed) == ((time, own_times["ada"]), True)


@pytest.mark.parametrize(
    "own_times, rated, subject",
    [
        ({"ada": TimeControl(move_us=-1)}, False, "tournament.own_times.ada.move_us"),
        ({"ada": TimeControl(increment_us=1)}, False, "tournament.own_times.ada.increment_us"),
        ({"a b": TimeControl()}, False, "tournament.own_times"),
        ({f"bot{number}": TimeControl() for number in range(4097)}, False, "tournament.own_times"),
        ({"ada": TimeControl(move_us=1)}, True, "tournament.rated"),
    ],
)
async def test_wrong_times_of_single_entries_are_refused(
    arena: Arena, own_times: dict[str, TimeControl], rated: bool, subject: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await create(arena, own_times=own_times, rated=rated)
    assert caught.value.subject == subject


# The table.


async def test_table_is_in_order_of_joining_before_the_start(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("dora", "ada", "cleo"), start=False)
    table = await arena.store.read(partial(standings, tournament=tournament))
    assert [(row.label, row.points, row.rating) for row in table] == [
        ("dora", 0.0, None),
        ("ada", 0.0, None),
        ("cleo", 0.0, None),
    ]


async def test_table_and_crosstable_agree_with_the_games(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=30)
    games = await arena.play(tournament)
    await arena.commit(games)
    table, cells, *_ = await arena.store.read(partial(crosstable, tournament=tournament))
    labels = ("ada", "bob", "cleo")
    for cell in cells:
        results = [
            game.result for game in games if (labels[game.first], labels[game.second]) == (cell.first, cell.second)
        ]
        assert (cell.wins, cell.draws, cell.losses) == tuple(map(results.count, (1, 2, 3)))
    assert len(cells) == 6
    for row in table:
        wins = sum(cell.wins for cell in cells if cell.first == row.label)
        losses = sum(cell.losses for cell in cells if cell.first == row.label)
        assert row.wins == wins + sum(cell.losses for cell in cells if cell.second == row.label)
        assert row.losses == losses + sum(cell.wins for cell in cells if cell.second == row.label)
        assert row.points == row.wins + row.draws / 2
        assert row.rating is not None
    assert [row.points for row in table] == sorted((row.points for row in table), reverse=True)


async def test_table_of_an_unrated_tournament_has_no_ratings(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament("rated")))
    tournament = await arena.tournament(rated=False)
    await arena.commit(await arena.play(tournament))
    table = await arena.store.read(partial(standings, tournament=tournament))
    assert [row.rating for row in table] == [None, None]


@pytest.mark.long
async def test_crosstable_of_many_entries_comes_in_pages_that_make_the_whole(arena: Arena) -> None:
    tournament = await arena.tournament(bots=[f"ada-{number}" for number in range(300)], games_per_pair=1)
    await arena.commit(await arena.play(tournament, 0, 1))
    pages = [await arena.store.read(partial(crosstable, tournament=tournament))]
    while token := pages[-1].next_page_token:
        pages.append(await arena.store.read(partial(crosstable, tournament=tournament, page_token=token)))
    whole = await arena.store.read(partial(whole_crosstable, tournament=tournament))
    assert [len(page.standings) for page in pages] == [300, 0]
    assert [cell for page in pages for cell in page.cells] == whole.cells
    played = arena.rows("SELECT 1 FROM games WHERE result <> 4")
    assert sum(cell.wins + cell.draws + cell.losses for cell in whole.cells) == len(played)
    with pytest.raises(InvalidArgument, match="page_token"):
        await arena.store.read(partial(crosstable, tournament=tournament, page_token="x"))


async def test_id_of_a_test_is_found_in_few_lookups(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await arena.tournament("ada-1-vs-bob-1")
    columns = ", ".join(column.name for column in tournaments.columns if column.name not in ("id", "slug"))
    numbers = "WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)"
    copies = f"SELECT '{first.slug}-' || n, {columns} FROM tournaments, numbers"
    arena.execute(f"INSERT INTO tournaments (slug, {columns}) {numbers} {copies}")
    statements, scalar = list[object](), Connection.scalar

    def counting_scalar(self: Connection, statement: Any) -> Any:
        statements.append(statement)
        return scalar(self, statement)

    monkeypatch.setattr(Connection, "scalar", counting_scalar)

    def next_id(connection: Connection) -> str:
        return _free_slug(connection, [get_version(connection, bot, "1") for bot in ("ada", "bob")])

    assert await arena.store.read(next_id) == f"{first.slug}-1001"
    assert 10 < len(statements) < 30


async def test_long_reasons_are_shortened(arena: Arena) -> None:
    reason = 30 * "too long "
    await in_state(arena, TournamentState.RUNNING)
    stored = f"{reason[:197]}..."
    [withdrawal] = await arena.store.write(partial(withdraw_entry, slug="cup", label="bob", reason=reason, now_ms=NOW))
    assert withdrawal.reason == stored
    assert (await arena.store.write(partial(pause_tournament, slug="cup", reason=reason, now_ms=NOW))).reason == stored
    cancelled = await arena.store.write(partial(cancel_tournament, slug="cup", reason=reason, now_ms=NOW))
    assert cancelled.reason == stored
    rows = await arena.store.read(partial(standings, tournament=cancelled))
    assert {row.label: row.withdrawn_reason for row in rows} == {"ada": "", "bob": stored}
