"""The nights of a course: when they begin, what is played, and how long that takes."""

import csv
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.unhurried import Unhurried
from noughts_proto.security import Dialling
from noughts_proto.v1.tournaments_pb2 import (
    SCHEDULE_ROUND_ROBIN,
    TOURNAMENT_STATE_FINISHED,
    TOURNAMENT_STATE_RUNNING,
    CancelTournamentRequest,
    GetTournamentRequest,
    JoinTournamentRequest,
    ListTournamentsRequest,
)
from noughts_server.client.client import Client, connected
from noughts_server.client.failures import CallFailed
from noughts_server.leagues import nights
from noughts_server.leagues.course import ORGANISER, Course, LeagueProblem
from noughts_server.leagues.course_folder import CourseFolder, instructions, keep_deadline
from noughts_server.leagues.ladders import LADDERS
from noughts_server.leagues.nights import NightEstimate, estimate_of, next_night, plan_night, play_night
from noughts_server.leagues.students import Student
from noughts_server.leagues.tournaments import create_tournament
from noughts_server.openings.settings import Openings, OpeningsKind
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.people.tokens import list_tokens
from noughts_server.testing import serving
from tests.support.background import bots_online
from tests.support.processes import environment, eventually, run_here, started

COURSE = Course(
    name="ai",
    variant="connect4",
    games_per_pair=4,
    time="60+0.5",
    nightly="02:00",
    closes="",
    accept="py",
    address="http://127.0.0.1:7480",
)
RANDOM_OPENINGS = Openings(OpeningsKind.RANDOM, plies=2)
NOW = datetime.fromisoformat("2026-11-24T01:30:00+00:00")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with the time zone of Berlin, by a rule that needs no time zone database."""
    with monkeypatch.context() as environment_of_test:
        environment_of_test.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    "now, night",
    [
        ("2026-11-24T01:30:00+01:00", "2026-11-24T02:00:00+01:00"),
        ("2026-11-24T02:00:00+01:00", "2026-11-25T02:00:00+01:00"),
        ("2026-10-24T12:00:00+02:00", "2026-10-25T02:00:00+02:00"),
        ("2026-10-25T12:00:00+01:00", "2026-10-26T02:00:00+01:00"),
    ],
)
def test_the_next_night_is_today_or_tomorrow(now: str, night: str) -> None:
    assert next_night("02:00", datetime.fromisoformat(now)).isoformat() == night


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    "now, night",
    [
        ("2026-03-28T12:00:00+01:00", "2026-03-29T06:00:00+02:00"),
        ("2026-10-24T12:00:00+02:00", "2026-10-25T06:00:00+01:00"),
    ],
)
def test_a_change_of_summer_time_does_not_move_a_night(now: str, night: str) -> None:
    assert next_night("06:00", datetime.fromisoformat(now)).isoformat() == night


def test_night_is_a_rated_round_robin_with_the_course_settings() -> None:
    with serving() as server, connected(server.address, server.token(), Dialling()) as client:
        assert create_tournament(client, COURSE.night(NOW, Openings()), "night", numbered=True) == "tournaments/night"
        tournament = client.call(
            client.tournaments.GetTournament, GetTournamentRequest(name="tournaments/night")
        ).tournament
        assert (tournament.title, tournament.variant, tournament.games_per_pair) == ("ai, 2026-11-24", "connect4", 4)
        assert (tournament.time.bank_us, tournament.time.increment_us, tournament.rated) == (60_000_000, 500_000, True)
        assert tournament.schedule == SCHEDULE_ROUND_ROBIN
        assert not tournament.seed  # the server chose it, and keeps it secret
        assert create_tournament(client, COURSE.night(NOW, Openings()), "night", numbered=True) == "tournaments/night-2"
        assert create_tournament(client, LADDERS[0].settings, "night") is None


def test_a_second_night_is_refused_while_one_runs() -> None:
    with serving() as server, connected(server.address, server.token(ORGANISER), Dialling()) as client:
        token = server.token(ORGANISER)
        with bots_online(server.address, token, one=Unhurried(Random(), 60), two=Unhurried(Random(), 60)):
            night = play_night(client, COURSE, NOW, RANDOM_OPENINGS, pytest.fail)
            assert night.estimate == NightEstimate(bots=2, games=4, seconds=556.0, basis="limits")
            with pytest.raises(LeagueProblem, match="still runs") as refused:
                play_night(client, COURSE, NOW, RANDOM_OPENINGS, pytest.fail)
            assert refused.value.hint.endswith("noughts tournament cancel night-2026-11-24-0130")
            cancel = CancelTournamentRequest(name=night.name)
            client.call(client.tournaments.CancelTournament, cancel)
            second = play_night(client, COURSE, NOW, RANDOM_OPENINGS, pytest.fail)
            assert second.name == f"{night.name}-2"


def test_a_lost_answer_leaves_no_bot_out_of_a_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nights, "_PAUSE_SECONDS", 0.0)
    attempts, call = Counter[str](), Client.call

    def lose_first_answers(self: Client, method: Any, request: Any, **keywords: Any) -> Any:
        answer: Any = call(self, method, request, **keywords)
        if isinstance(request, JoinTournamentRequest):
            attempts[request.bot] += 1
            if attempts[request.bot] == 1:
                raise CallFailed(grpc.StatusCode.UNAVAILABLE, "the connection was lost")
        return answer

    with serving() as server, ExitStack() as stack:
        client = stack.enter_context(connected(server.address, server.token(ORGANISER), Dialling()))
        slow = {name: Unhurried(Random(), 60) for name in ("one", "two")}
        stack.enter_context(bots_online(server.address, server.token(ORGANISER), **slow))
        monkeypatch.setattr(Client, "call", lose_first_answers)
        night = play_night(client, COURSE, NOW, RANDOM_OPENINGS, pytest.fail)
        request = GetTournamentRequest(name=night.name)
        standings = client.call(client.tournaments.GetTournament, request).tournament.standings
        assert sorted(row.label for row in standings) == ["one", "two"]


@pytest.mark.processes
def test_one_of_two_simultaneous_nights_is_refused(tmp_path: Path) -> None:
    folder = CourseFolder(tmp_path)
    folder.settings.write_text(json.dumps(asdict(COURSE)))
    with serving() as server, ExitStack() as stack:
        folder.organiser.write_text(server.token(ORGANISER))
        slow = {name: Unhurried(Random(), 60) for name in ("one", "two")}
        stack.enter_context(bots_online(server.address, server.token(ORGANISER), **slow))
        line = ["course", "night", str(tmp_path), "--server", server.address]
        runs = [stack.enter_context(started(line, environment())) for _ in range(2)]
        errors = [run.communicate(timeout=120)[1] for run in runs]
        assert sorted(run.returncode for run in runs) == [0, 1]
        assert sum("still runs" in text for text in errors) == 1
        client = stack.enter_context(connected(server.address, server.token(), Dialling()))
        tournaments = client.call(client.tournaments.ListTournaments, ListTournamentsRequest()).tournaments
        assert [tournament.state for tournament in tournaments].count(TOURNAMENT_STATE_RUNNING) == 1


def test_plan_of_a_night_is_refused_like_the_night_itself() -> None:
    settings = COURSE.night(NOW, RANDOM_OPENINGS)
    with serving() as server, ExitStack() as stack:
        client = stack.enter_context(connected(server.address, server.token(ORGANISER), Dialling()))
        slow = {name: Unhurried(Random(), 60) for name in ("one", "two")}
        stack.enter_context(bots_online(server.address, server.token(ORGANISER), **slow))
        assert plan_night(client, settings).games == 4
        other_client = stack.enter_context(connected(server.address, "noughts_of-another-server", Dialling()))
        with pytest.raises(CallFailed):
            plan_night(other_client, settings)
        play_night(client, COURSE, NOW, RANDOM_OPENINGS, pytest.fail)
        with pytest.raises(LeagueProblem, match="still runs"):
            plan_night(client, settings)


def test_a_night_is_estimated_from_the_last_one() -> None:
    course = replace(COURSE, variant="tictactoe", time="none")
    with serving() as server, connected(server.address, server.token(ORGANISER), Dialling()) as client:
        settings = course.night(NOW, RANDOM_OPENINGS)
        assert estimate_of(client, settings, 10).basis == "assumption"
        with bots_online(server.address, server.token(ORGANISER), one="random", two="random"):
            night = play_night(client, course, NOW, RANDOM_OPENINGS, pytest.fail)
            request = GetTournamentRequest(name=night.name)
            eventually(
                lambda: client.call(client.tournaments.GetTournament, request).tournament.state,
                lambda state: state == TOURNAMENT_STATE_FINISHED,
            )
        estimate = estimate_of(client, settings, 10)
        assert (estimate.games, estimate.basis) == (180, "night")
        assert estimate_of(client, settings, 5).seconds * 4.5 == pytest.approx(estimate.seconds)


@pytest.mark.parametrize(
    "key, value, expected",
    [
        ("nightly", "25:00", "nightly: got '25:00', expected HH:MM, e.g. 02:00"),
        ("games_per_pair", "10", "games_per_pair: got '10', expected an even number from 2 to 1,000"),
        ("games_per_pair", 3, "games_per_pair: got 3, expected an even number from 2 to 1,000"),
        ("address", "games", "address: got 'games', expected http:// or https:// with a host"),
        ("address", "https://games.example:x", "address: got 'https://games.example:x', expected http://"),
        ("address", "ftp://games.example", "address: got 'ftp://games.example', expected http://"),
        ("server", "::1:7450", "server: got '::1:7450', expected HOST:PORT"),
        ("server", "games.example", "server: got 'games.example', expected HOST:PORT"),
        ("server", "https://games.example:7450", "server: got 'https://games.example:7450', expected HOST:PORT"),
        ("variant", "chess", "variant: got 'chess', expected a variant, e.g. connect4"),
        ("time", "fast", "time: got 'fast', expected a time control"),
        ("closes", "soon", "closes: got 'soon', expected a time with its zone"),
        ("accept", "dll", "accept: got 'dll', expected py, wasm, or both"),
        ("python_packages", ["numpy"], "python_packages: got ['numpy'], expected a text: import names"),
        ("night", "02:00", "night: got an unknown key, expected one of name, variant"),
        ("name", None, "name: got None, expected a text"),
    ],
)
def test_a_wrong_key_of_course_json_is_named(tmp_path: Path, key: str, value: object, expected: str) -> None:
    folder = CourseFolder(tmp_path)
    folder.settings.write_text(json.dumps({**asdict(COURSE), key: value}))
    with pytest.raises(LeagueProblem, match=re.escape(f"{folder.settings}: {expected}")):
        folder.read()


@pytest.mark.parametrize(
    "key, value, expected",
    [
        (
            "python_packages",
            "nosuch",
            "python_packages: got nosuch, expected import names of packages that are installed",
        ),
        ("openings", "nosuch", "openings: nosuch: there is no such file; expected `none`"),
        ("openings", "random:x", "openings: random:x: got 'x' plies, expected a number"),
    ],
)
def test_serving_a_course_names_the_wrong_key(tmp_path: Path, key: str, value: str, expected: str) -> None:
    folder = CourseFolder(tmp_path)
    folder.settings.write_text(json.dumps({**asdict(COURSE), key: value}))
    refused = run_here(["course", "serve", str(tmp_path)], environment(), code=1).stderr
    assert f"{folder.settings}: {expected}" in " ".join(refused.split())
    assert "\nFix: " in refused


def test_instructions_name_the_packages_that_the_server_allows(tmp_path: Path) -> None:
    folder = CourseFolder(tmp_path)
    assert folder.update_instructions(COURSE, "numpy") == []
    folder.instructions.write_text(f"My own words.\n{instructions(COURSE)}")
    for packages, expected in (("numpy, scipy", " and numpy, scipy."), ("numpy", " and numpy."), ("", " only.")):
        assert folder.update_instructions(COURSE, packages) == []
        assert f"It can import the standard library{expected}" in folder.instructions.read_text()
    assert folder.instructions.read_text() == f"My own words.\n{instructions(COURSE)}"
    folder.instructions.write_text("My own words.")
    without_task, without_packages = folder.update_instructions(COURSE, "numpy")
    assert without_task.startswith("does not say what is played and when: You write a bot that plays connect4. ")
    assert without_packages == "does not say which packages bots can import: numpy"
    assert folder.update_instructions(replace(COURSE, accept="wasm"), "") == [without_task]


def test_instructions_follow_the_options_of_course_json(tmp_path: Path) -> None:
    folder = CourseFolder(tmp_path)
    folder.instructions.write_text(f"My own words.\n{instructions(COURSE)}")
    later = replace(COURSE, games_per_pair=8, nightly="03:00", closes="2027-01-31T23:59:00+01:00")
    assert folder.update_instructions(later, "") == []
    assert folder.instructions.read_text() == f"My own words.\n{instructions(later)}"


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    "closes, expected",
    [("2026-12-18T22:59:00+00:00", "2026-12-18 23:59 CET"), ("2026-07-31T21:59:00+00:00", "2026-07-31 23:59 CEST")],
)
def test_instructions_have_the_deadline_in_local_time(closes: str, expected: str) -> None:
    assert f" You can submit bots until {expected}.\n" in instructions(replace(COURSE, closes=closes))


async def test_students_tokens_expire_when_course_json_says(tmp_path: Path) -> None:
    folder = CourseFolder(tmp_path / "ai")
    soon, later = (datetime.now(UTC).replace(microsecond=0) + timedelta(days=days) for days in (1, 30))
    await folder.create(replace(COURSE, closes=soon.isoformat()), [Student("ada"), Student("bob")])
    store = await Store.open(url_of(folder.database))
    try:
        for closes, expected in ((later.isoformat(), round(later.timestamp() * 1000)), ("", None)):
            await keep_deadline(store, replace(COURSE, closes=closes))
            tokens = {token.owner: token.expires_at for token in await store.read(list_tokens)}
            assert tokens == {"ada": expected, "bob": expected, ORGANISER: None}
    finally:
        await store.close()


async def test_late_student_is_refused_with_a_fix(tmp_path: Path) -> None:
    folder = CourseFolder(tmp_path / "ai")
    await folder.create(COURSE, [Student("ada")])
    with pytest.raises(LeagueProblem, match="Ada: got a student who has a token") as refused:
        await folder.add(["bob", "Ada"])
    assert str(folder.tokens) in refused.value.hint
    folder.settings.write_text(json.dumps(asdict(replace(COURSE, closes="2020-01-01T00:00:00+00:00"))))
    with pytest.raises(LeagueProblem, match=r"closes: got 2020-01-01 .* in the past") as refused:
        await folder.add(["bob"])
    assert str(folder.settings) in refused.value.hint
    assert folder.logins() == ["ada"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", ""])
async def test_late_student_is_appended_to_tokens_that_a_spreadsheet_has_saved(
    tmp_path: Path, separator: str, encoding: str, end: str
) -> None:
    folder = CourseFolder(tmp_path / "ai")
    await folder.create(COURSE, [Student("ada", "Åda")])
    saved = folder.tokens.read_text().replace(",", separator).removesuffix("\n") + end
    folder.tokens.write_text(saved, encoding=encoding)
    before = folder.tokens.read_bytes()
    assert await folder.add(["bob", "eve"]) == 3
    assert folder.tokens.read_bytes().startswith(before)
    rows = list(csv.DictReader(folder.tokens.read_text("utf-8-sig").splitlines(), delimiter=separator))
    assert [row["login"] for row in rows] == folder.logins() == ["ada", "bob", "eve"]
    assert len({row["token"] for row in rows} - {""}) == 3


@pytest.mark.parametrize(
    "content, expected",
    [
        (b"login,name,email,token\nada,\xc5da,,noughts_x\n", "line 2: got the byte 0xC5"),
        (
            b"user,name,email,token\nada,,,noughts_x\n",
            "line 1: got 'user,name,email,token', expected the columns login",
        ),
        (b"login,name\nada,Ada\n", "line 1: got 'login,name', expected the columns login and token"),
        (b"", "line 1: got '', expected the columns login and token"),
    ],
)
async def test_damaged_tokens_are_refused_before_a_token_is_made(tmp_path: Path, content: bytes, expected: str) -> None:
    folder = CourseFolder(tmp_path / "ai")
    await folder.create(COURSE, [Student("ada")])
    folder.tokens.write_bytes(content)
    with pytest.raises(LeagueProblem, match=re.escape(f"{folder.tokens}, {expected}")):
        await folder.add(["bob"])
    assert folder.tokens.read_bytes() == content
    store = await Store.open(url_of(folder.database))
    try:
        assert {token.owner for token in await store.read(list_tokens)} == {"ada", ORGANISER}
    finally:
        await store.close()


def test_all_wrong_keys_and_missing_ones_are_named_at_once(tmp_path: Path) -> None:
    folder = CourseFolder(tmp_path)
    folder.settings.write_text('{"nightly": "2 am", "time": 5}')
    with pytest.raises(LeagueProblem) as refused:
        folder.read()
    assert [line.split(": ")[0] for line in refused.value.message.splitlines()][1:] == [
        "variant", "games_per_pair", "time", "nightly", "closes", "accept", "address",
    ]  # fmt: skip
    folder.settings.write_text("{")
    with pytest.raises(LeagueProblem, match="is not JSON"):
        folder.read()
