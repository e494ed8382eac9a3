"""Tokens on a server, join windows, challenges, renamed and retired bots: by the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.times import from_now, read_duration, read_moment
from tests.server.cli.conftest import Refusal
from tests.support.background import bots_online
from tests.support.processes import PROGRAM

Ask = Callable[..., Any]
NOW = 1_700_000_000_000


@pytest.fixture
def bob(start: Any, noughts: Any, database: str, server: str) -> Iterator[Any]:
    """The process of bob's bot, which is online."""
    made = json.loads(noughts(f"token create --owner bob --db {database} --format json").stdout)
    with start(f"bot run minimax --server {server} --name bob", {"NOUGHTS_TOKEN": made["token"]}) as process:
        assert "online as bots/bob" in process.stdout.readline()
        process.token_id = made["id"]
        yield process


# Moments.


@pytest.mark.parametrize(
    "text, length",
    [
        ("30d", timedelta(days=30)),
        ("1.5h", timedelta(minutes=90)),
        ("10m", timedelta(minutes=10)),
        ("90 s", timedelta(seconds=90)),
    ],
)
def test_durations_have_a_unit(text: str, length: timedelta) -> None:
    assert read_duration(text, "--expires") == length


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "-1d", "1y", "1e9d", "999999999w"])
def test_what_is_no_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageProblem, match="--expires"):
        read_duration(text, "--expires")


def test_moments_are_iso_or_from_now() -> None:
    assert read_moment("2026-03-01T17:00Z", "--start-at") == datetime(2026, 3, 1, 17, tzinfo=UTC)
    assert read_moment("2026-03-01T17:00", "--start-at") == datetime(2026, 3, 1, 17).astimezone()
    ahead = read_moment("+10m", "--start-at") - datetime.now(UTC)
    assert timedelta(minutes=9) < ahead <= timedelta(minutes=10)
    with pytest.raises(UsageProblem, match="--start-at"):
        read_moment("tomorrow", "--start-at")


@pytest.mark.parametrize(
    "milliseconds, told",
    [(9 * 60_000, "in 9 min"), (45_000, "in 45 s"), (-3 * 3_600_000, "3 h ago"), (50 * 3_600_000, "in 2 days")],
)
def test_distances_in_time_are_told_in_one_unit(milliseconds: int, told: str) -> None:
    assert from_now(NOW + milliseconds, NOW) == told


# Tokens.


def test_token_is_made_listed_and_revoked_at_a_server(ask: Ask, noughts: Any, server: str, env: dict[str, str]) -> None:
    made = ask(f"token create --server {server} --scope play:mybot --expires 3h --label laptop")
    assert (made["owner"], made["scopes"]) == ("alice", ["play:mybot"])
    assert datetime.fromisoformat(made["expires"]) > datetime.now(UTC)
    listed = ask(f"token list --server {server}")["tokens"]
    assert [row["label"] for row in listed] == ["", "laptop"]
    assert "expires in 3 h" in noughts(f"token list --server {server}", env=env).stdout
    mine = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": made["token"]}
    refused = noughts("tournament create mine", code=1, env=mine).stderr
    assert "lacks the scope `organise`; it has `play:mybot`" in refused
    assert "--scope organise" in refused
    assert ask(f"token revoke {made['id']} --server {server}")["revoked"] is not None
    assert "the token was revoked" in noughts("tournament create mine", code=1, env=mine).stderr


def test_full_disk_refuses_the_file_before_there_is_a_token(
    ask: Ask, server: str, env: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "ada.token"
    line = [
        "sh",
        "-c",
        'ulimit -f 0; exec "$@"',
        "sh",
        *PROGRAM,
        "token",
        "create",
        "--server",
        server,
        "-o",
        str(file),
    ]
    failed = subprocess.run(line, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert f"--output {file}: File too large" in failed.stderr
    assert "Free some space" in failed.stderr
    assert not file.exists()
    assert len(ask(f"token list --server {server}")["tokens"]) == 1


@pytest.mark.parametrize(
    "line, said",
    [
        ("token create", "--owner"),
        ("token create --owner alice --expires soon", "--expires 'soon'"),
        ("token create --owner alice --scope everything", "play:NAME"),
        ("token list --db x.db --server 127.0.0.1:1", "got both"),
    ],
)
def test_wrong_options_of_token_are_usage_errors(noughts: Any, line: str, said: str) -> None:
    assert said in noughts(line, code=2).stderr


def test_bot_whose_token_is_revoked_in_the_database_stops_and_says_why(bob: Any, noughts: Any, database: str) -> None:
    noughts(f"token revoke {bob.token_id} --db {database}")
    _, err = bob.communicate(timeout=10)
    assert bob.returncode == 1
    assert "the token was revoked" in err


# Tournaments.


def test_join_window_and_start_are_told_in_peoples_words(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    line = "tournament create night --join-until +7m --start-at +14m --min-entries 3 --max-entries 8"
    created = ask(line)
    assert (created["entries_min"], created["entries_max"], created["join_from"]) == (3, 8, None)
    assert datetime.fromisoformat(created["join_until"]) < datetime.fromisoformat(created["start_at"])
    for shown in (noughts("tournament show night", env=env).stdout, noughts("tournament list", env=env).stdout):
        assert re.search(r"open, joining ends in [67] min, starts in 1[34] min", shown)
    assert "0 entries of 3 to 8" in noughts("tournament show night", env=env).stdout
    assert "wait for its start" in noughts("tournament start night", code=1, env=env).stderr
    noughts("tournament create over --start-at 2020-01-01", code=2, env=env)


def test_a_state_stays_on_one_line_at_eighty_columns(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    ask("tournament create spring-cup --start-at +7d --title 'The spring cup of the club 2026'")
    lines = noughts("tournament list", env={**env, "COLUMNS": "80"}).stdout.splitlines()
    assert any("open, starts in 7 days" in line for line in lines)
    assert max(map(len, lines)) == 80


def test_tournament_without_entries_says_why_it_was_cancelled(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    ask("tournament create soon --start-at +2s")
    while (shown := ask("tournament show soon"))["state"] == "open":
        pass
    assert (shown["state"], shown["reason"]) == ("cancelled", "too few entries: got 0, expected at least 2")
    assert shown["reason"] in noughts("tournament show soon", env=env).stdout


def test_new_version_of_an_entered_bot_waits_and_says_so(ask: Ask, bob: Any, start: Any, env: dict[str, str]) -> None:
    with start("bot run random --name mine --version 1", env) as old:
        old.stdout.readline()
        ask("tournament create cup")
        ask("tournament join cup --bot mine")
    with start("bot run random --name mine --version 2", env) as new:
        assert new.stdout.readline() == "online as bots/mine/versions/2\n"
        assert "tournaments/cup: this one waits" in new.stdout.readline()


# Challenges.


def test_challenge_with_a_reference_bot_prints_what_match_prints(
    ask: Ask, noughts: Any, bob: Any, env: dict[str, str]
) -> None:
    result = ask("challenge bot:bob --with nextstep:depth=3 --games 10 --seed 5")
    assert result["games"] == sum(result["a"].values()) == 10
    assert sum(result["a_first"].values()) == sum(result["a_second"].values()) == 5
    assert sum(result["terminations"].values()) == 10
    assert (result["challenger"], result["opponent"]) == ("bots/alice-nextstep:depth=3", "bots/bob")
    assert set(result["elo"]) == {"value", "error95", "los"}
    played = ask("match nextstep:depth=3 minimax --games 10 --seed 5")
    # What only a match on this machine counts: faults, and the pairs of games.
    assert [played.pop(only) for only in ("faults", "repeats")] == [[], 0]
    assert sum(played.pop("pentanomial")) == 5
    # What is estimated of pairs differs from what is estimated of games.
    assert result["elo"]["value"] == played["elo"]["value"]
    shared = played.keys() - {"names", "elo", "normalized_elo"}
    assert {key: result[key] for key in shared} == {key: played[key] for key in shared}
    text = noughts("challenge bot:bob@1 --seed 5", env=env).stdout
    assert "alice-random - bob: tictactoe, seed 5" in text
    assert ask("tournament list")["tournaments"] == []
    challenges = ask("tournament list --challenges")["tournaments"]
    assert [row["state"] for row in challenges] == ["finished", "finished"]


def test_the_two_of_a_challenge_may_have_times_of_their_own(
    ask: Ask, noughts: Any, bob: Any, env: dict[str, str]
) -> None:
    ask("challenge bot:bob --games 2 --time 5/move --time-of you=60+1 --time-of bob=7/move")
    [played] = ask("tournament list --challenges")["tournaments"]
    assert played["own_times"] == {"alice-random": "60+1", "bob": "7/move"}
    for line, said in {
        "challenge bot:bob --time-of carla=1/move": "expected one of you, alice-random, bob",
        "play --time-of bob=1/move": "use --time to limit the bot",
    }.items():
        assert said in noughts(line, code=2, env=env).stderr


def test_challenge_as_a_bot_of_ones_own(ask: Ask, bob: Any, start: Any, env: dict[str, str]) -> None:
    with start("bot run random --name mine", env) as mine:
        mine.stdout.readline()
        result = ask("challenge bot:bob --as mine --games 3 --time 5/move")
        assert (result["games"], result["challenger"]) == (3, "bots/mine")


def test_challenges_that_cannot_be_are_refused_in_one_message(
    noughts: Any, refusal: Refusal, bob: Any, start: Any, server: str, database: str, env: dict[str, str]
) -> None:
    carla = json.loads(noughts(f"token create --owner carla --db {database} --format json").stdout)["token"]
    refusal("challenge bot:nobody --with random", code=1, env=env)
    refusal("challenge bot:bob --as mine --with random", code=2, env=env)
    refusal(f"challenge bot:bob --server {server}", code=2)
    with start(f"bot run random --server {server} --name shy --no-challenges", {"NOUGHTS_TOKEN": carla}) as shy:
        shy.stdout.readline()
        refusal("challenge bot:shy", code=1, env=env)
    bob.send_signal(signal.SIGINT)
    bob.wait(timeout=10)
    refusal("challenge bot:bob", code=1, env=env)


def test_interrupted_challenge_is_given_up(start: Any, ask: Ask, bob: Any, env: dict[str, str]) -> None:
    bob.send_signal(signal.SIGSTOP)  # it will not answer
    try:
        with start("challenge bot:bob --time 60/move", env) as challenge:
            assert "against bots/bob" in challenge.stderr.readline()
            challenge.send_signal(signal.SIGINT)
            challenge.communicate(timeout=20)
            assert challenge.returncode == 130
    finally:
        bob.send_signal(signal.SIGCONT)
    assert [row["state"] for row in ask("tournament list --challenges")["tournaments"]] == ["cancelled"]


# Bots.


def test_bots_are_listed_in_the_natural_order_of_their_names(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    names = [f"b{number}" for number in range(1, 54)]
    for name in names:
        noughts(f"bot register {name}", env=env)
    assert [row["name"] for row in ask(f"bot list --server {env['NOUGHTS_SERVER']}")["bots"]] == names
    shown = noughts(f"bot list --server {env['NOUGHTS_SERVER']}", env=env).stdout.splitlines()[2:]
    assert [line.split()[0] for line in shown] == names[:50]


def test_bot_is_entered_before_it_first_connects(
    ask: Ask, noughts: Any, refusal: Refusal, start: Any, env: dict[str, str], database: str
) -> None:
    noughts("tournament create cup --games 4", env=env)
    refusal("tournament join cup --bot mine", code=1, env=env)
    for _ in range(2):
        made = ask("bot register mine --version 2")
        assert (made["name"], made["latest_version"], made["online"]) == ("mine", "bots/mine/versions/2", False)
    assert "join TOURNAMENT --bot other" in noughts("bot register other", env=env).stderr
    theirs = noughts(f"token create --owner bob --db {database}").stdout.strip()
    refusal("bot register mine", code=1, env={**env, "NOUGHTS_TOKEN": theirs})
    for name in ("mine", "other"):
        noughts(f"tournament join cup --bot {name}", env=env)
    noughts("tournament start cup", env=env)
    with start("bot run minimax --name mine --version 2", env), start("bot run random --name other", env):
        noughts("watch cup", env=env)
    assert ask("tournament show cup")["games"] == 4


def test_bot_is_renamed_retired_and_taken_back(
    ask: Ask, noughts: Any, refusal: Refusal, start: Any, env: dict[str, str]
) -> None:
    with start("bot run random --name mine", env) as mine:
        mine.stdout.readline()
        assert ask("bot rename mine better")["name"] == "better"
        assert "start it as other next time" in noughts("bot rename better other", env=env).stderr
    assert ask("bot retire other")["retired"] is not None
    listed = f"bot list --server {env['NOUGHTS_SERVER']}"
    assert ask(listed)["bots"] == []
    assert [row["name"] for row in ask(f"{listed} --retired")["bots"]] == ["other"]
    refusal("bot run random --name other", code=1, env=env)
    assert ask("bot retire other --undo")["retired"] is None
    assert [row["name"] for row in ask(listed)["bots"]] == ["other"]


def test_leaderboard_leaves_retired_bots_out_unless_asked(
    ask: Ask, noughts: Any, start: Any, env: dict[str, str]
) -> None:
    with start("bot run random --name one", env) as one, start("bot run minimax --name two", env) as two:
        for running in (one, two):
            running.stdout.readline()
        noughts("tournament create cup --games 4", env=env)
        for name in ("one", "two"):
            noughts(f"tournament join cup --bot {name}", env=env)
        noughts("tournament start cup", env=env)
        noughts("watch cup", env=env)
    board = ask("leaderboard")["rows"]
    assert [row["name"] for row in board] == ["two", "one"]
    ask("bot retire two")
    assert [(row["rank"], row["name"]) for row in ask("leaderboard")["rows"]] == [(1, "one")]
    assert [row["name"] for row in ask("leaderboard --retired")["rows"]] == ["two", "one"]
    assert ask("bot show one")["ratings"][0]["rank"] == 1
    assert ask("bot show two")["retired"] is not None
    assert "retired" in noughts("bot show two", env=env).stdout
    ask("bot retire one")
    assert "all are retired" in noughts("leaderboard", env=env).stdout


@pytest.mark.parametrize("given, said", [("", "got no bot"), ("--bot bob --all-online", "expected one of the two")])
def test_join_takes_bots_by_name_or_all_that_are_online(
    noughts: Any, env: dict[str, str], given: str, said: str
) -> None:
    assert said in noughts(f"tournament join cup {given}", env=env, code=2).stderr


def test_join_all_online_enters_what_fits_and_lists_the_rest(
    ask: Ask, bob: Any, noughts: Any, server: str, token: str, env: dict[str, str]
) -> None:
    with bots_online(server, token, a="pascal", b="random", c="pascal", d="threats"):
        ask("tournament create wide --variant mnk:7,7,4")
        joined = noughts("tournament join wide --all-online --format json", env=env)
        assert [row["label"] for row in json.loads(joined.stdout)["entries"]] == ["b", "d"]
        assert [row["bot"] for row in json.loads(joined.stdout)["refused"]] == ["bots/a", "bots/c"]
        assert joined.stderr.count("mnk:7,7,4") == 2
        assert "bob" not in joined.stderr
        again = noughts("tournament join wide --all-online", env=env, code=1).stderr
        assert again.count("was not entered") == 4
        assert "none was entered in tournaments/wide" in again


def test_bot_is_refused_at_entry_for_a_board_that_it_resigns_on(
    ask: Ask, refusal: Refusal, server: str, token: str, env: dict[str, str]
) -> None:
    ask("tournament create small --variant mnk:4,4,4")
    ask("tournament create wide --variant mnk:7,7,5")
    ask("tournament create fast --variant mnk:4,3,3")
    with bots_online(server, token, full="minimax", deep="minimax:depth=2", quick="minimax:faster=true"):
        assert ask("tournament join small full")["label"] == "full"
        assert ask("tournament join wide deep")["label"] == "deep"
        for line in ("wide full", "fast quick"):
            refusal(f"tournament join {line}", code=2, env=env)
