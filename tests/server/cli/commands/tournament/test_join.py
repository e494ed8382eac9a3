"""`noughts tournament join` and `noughts bot register`, and the times between which bots can join a tournament."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

import pytest

from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online


def test_join_window_and_start_are_described_as_durations(
    ask: Ask, noughts: Any, refusal: Refusal, env: dict[str, str]
) -> None:
    line = "tournament create night --join-until +7m --start-at +14m --min-entries 3 --max-entries 8"
    created = ask(line)
    assert (created["entries_min"], created["entries_max"], created["join_from"]) == (3, 8, None)
    assert datetime.fromisoformat(created["join_until"]) < datetime.fromisoformat(created["start_at"])
    for output in (noughts("tournament show night", env=env).stdout, noughts("tournament list", env=env).stdout):
        assert re.search(r"open, joining ends in [67] min, starts in 1[34] min", output)
    assert "0 entries of 3 to 8" in noughts("tournament show night", env=env).stdout
    refusal("tournament start night", code=1, env=env)
    noughts("tournament create over --start-at 2020-01-01", code=2, env=env)


def test_a_state_stays_on_one_line_at_eighty_columns(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    ask("tournament create spring-cup --start-at +7d --title 'The spring cup of the club 2026'")
    lines = noughts("tournament list", env={**env, "COLUMNS": "80"}).stdout.splitlines()
    assert any("open, starts in 7 days" in line for line in lines)
    assert max(map(len, lines)) == 80


def test_tournament_without_entries_says_why_it_was_cancelled(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    ask("tournament create soon --start-at +2s")
    while (tournament := ask("tournament show soon"))["state"] == "open":
        pass
    assert (tournament["state"], tournament["reason"]) == ("cancelled", "too few entries: got 0, expected at least 2")
    assert tournament["reason"] in noughts("tournament show soon", env=env).stdout


def test_new_version_of_an_entered_bot_waits_and_says_so(ask: Ask, bob: Any, start: Any, env: dict[str, str]) -> None:
    with start("bot run random --name mine --version 1", env) as old_bot:
        old_bot.stdout.readline()
        ask("tournament create cup")
        ask("tournament join cup --bot mine")
    with start("bot run random --name mine --version 2", env) as new_bot:
        assert new_bot.stdout.readline() == "online as bots/mine/versions/2\n"
        assert "tournaments/cup: this one waits" in new_bot.stdout.readline()


def test_bot_is_entered_before_it_first_connects(
    ask: Ask, noughts: Any, refusal: Refusal, start: Any, env: dict[str, str], database: str
) -> None:
    noughts("tournament create cup --games 4", env=env)
    refusal("tournament join cup --bot mine", code=1, env=env)
    for _ in range(2):
        bot = ask("bot register mine --version 2")
        assert (bot["name"], bot["latest_version"], bot["online"]) == ("mine", "bots/mine/versions/2", False)
    assert "join TOURNAMENT --bot other" in noughts("bot register other", env=env).stderr
    bob_token = noughts(f"token create --owner bob --db {database}").stdout.strip()
    refusal("bot register mine", code=1, env={**env, "NOUGHTS_TOKEN": bob_token})
    for name in ("mine", "other"):
        noughts(f"tournament join cup --bot {name}", env=env)
    noughts("tournament start cup", env=env)
    with start("bot run minimax --name mine --version 2", env), start("bot run random --name other", env):
        noughts("watch cup", env=env)
    assert ask("tournament show cup")["games"] == 4


@pytest.mark.parametrize("options", ["", "--bot bob --all-online"])
def test_join_takes_bots_by_name_or_all_that_are_online(refusal: Refusal, env: dict[str, str], options: str) -> None:
    refusal(f"tournament join cup {options}", env=env, code=2)


def test_join_all_online_enters_suitable_bots_and_lists_the_others(
    ask: Ask, bob: Any, noughts: Any, server: str, token: str, env: dict[str, str]
) -> None:
    with bots_online(server, token, a="pascal", b="random", c="pascal", d="threats"):
        ask("tournament create wide --variant mnk:7,7,4")
        result = noughts("tournament join wide --all-online --format json", env=env)
        assert [row["label"] for row in json.loads(result.stdout)["entries"]] == ["b", "d"]
        assert [row["bot"] for row in json.loads(result.stdout)["refused"]] == ["bots/a", "bots/c"]
        assert result.stderr.count("mnk:7,7,4") == 2
        assert "bob" not in result.stderr
        errors = noughts("tournament join wide --all-online", env=env, code=1).stderr
        assert errors.count("was not entered") == 4
        assert "none was entered in tournaments/wide" in errors


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
