"""`noughts bot rename` and `noughts bot retire`."""

from __future__ import annotations

from typing import Any

from tests.server.cli.conftest import Ask, Refusal


def test_bot_is_renamed_retired_and_restored(
    ask: Ask, noughts: Any, refusal: Refusal, start: Any, env: dict[str, str]
) -> None:
    with start("bot run random --name mine", env) as process:
        process.stdout.readline()
        assert ask("bot rename mine better")["name"] == "better"
        assert "start it as other next time" in noughts("bot rename better other", env=env).stderr
    assert ask("bot retire other")["retired"] is not None
    list_line = f"bot list --server {env['NOUGHTS_SERVER']}"
    assert ask(list_line)["bots"] == []
    assert [row["name"] for row in ask(f"{list_line} --retired")["bots"]] == ["other"]
    refusal("bot run random --name other", code=1, env=env)
    assert ask("bot retire other --undo")["retired"] is None
    assert [row["name"] for row in ask(list_line)["bots"]] == ["other"]


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
