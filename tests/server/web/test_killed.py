"""If the site or its server is killed, the page of a live game continues without a reload after the restart."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import page_in
from tests.support.patience import PATIENCE
from tests.support.processes import environment, eventually, first_line, json_of_process, run_noughts, started

pytestmark = [pytest.mark.processes, pytest.mark.at_length]

CHILD = "noughts_server.web.child"
PLIES = 36
SLOW = """
import time

from noughts_bots import Bot


class Slow(Bot):
    def choose(self, position):
        time.sleep(0.2)
        return position.rng().choice(position.free)
"""


class League(NamedTuple):
    """A server with a site, and a game of two slow bots that has begun there."""

    server: "subprocess.Popen[str]"
    arguments: list[str]
    """The options of the server, its port included."""
    address: str
    site: str
    game: str


@contextmanager
def league(folder: Path) -> Iterator[League]:
    """Start a server, its site and two slow bots as processes, and a game between the bots."""
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    database = f"sqlite:///{folder / 'games.sqlite'}"
    arguments = ["serve", "--db", database, "--web", "127.0.0.1:0", "--format", "json", "--log-level", "error"]
    with ExitStack() as stack:
        token = json_of_process(f"token create --owner ada --db {database}", environment())["token"]
        server = stack.enter_context(started([*arguments, "--listen", "127.0.0.1:0"], environment()))
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        env = environment(NOUGHTS_SERVER=ready["grpc"], NOUGHTS_TOKEN=token)
        for name in ("one", "two"):
            spec = f"py:{folder / 'slow.py'}:Slow"
            bot = stack.enter_context(started(["bot", "run", spec, "--name", name], env))
            assert bot.stdout is not None
            assert "online" in bot.stdout.readline()
        create = "tournament create slow --variant mnk:6,6,6 --games 1 --time 5/move --seed 1"
        run_noughts(create.split(), env)
        for name in ("one", "two"):
            run_noughts(["tournament", "join", "slow", "--bot", name], env)
        run_noughts(["tournament", "start", "slow"], env)
        yield League(
            server, [*arguments, "--listen", ready["grpc"]], ready["grpc"], ready["web"], "tournaments/slow/games/1"
        )


def open_game(page: Page, game: str) -> None:
    """Open the game's page, wait for its first moves, and mark the document so that a reload would be noticed."""
    page.goto(f"/{game}")
    expect(page.locator("#board .stone").nth(2)).to_be_visible()
    page.evaluate("window.sameAsBefore = true")


def follow_to_the_end(page: Page) -> None:
    """Wait for the end of the game in the same document, and check that it shows every ply once."""
    expect(page.locator("#outcome")).to_contain_text(re.compile("A draw|won"))
    assert page.evaluate("window.sameAsBefore") is True
    expect(page.locator("#away")).to_be_hidden()
    cells = page.evaluate("[...document.querySelectorAll('#board .stone')].map((stone) => Number(stone.dataset.cell))")
    assert len(cells) == len(set(cells)) == PLIES


def website_processes(server: int) -> list[psutil.Process]:
    """Return the children of the server that run the website."""
    return [child for child in psutil.Process(server).children() if CHILD in child.cmdline()]


def test_killed_site_loses_no_game_and_its_browsers_reconnect(tmp_path: Path, browser: Browser) -> None:
    with league(tmp_path) as running_league, page_in(browser, running_league.site) as page:
        open_game(page, running_league.game)
        [child] = website_processes(running_league.server.pid)
        child.kill()
        eventually(lambda: child.is_running(), lambda running: not running, 60)
        follow_to_the_end(page)


def test_site_of_a_killed_server_frees_its_port(tmp_path: Path) -> None:
    serve = ["serve", "--db", str(tmp_path / "games.sqlite"), "--format", "json", "--listen", "127.0.0.1:0", "--web"]
    with started([*serve, "127.0.0.1:0"], environment()) as server:
        site = json.loads(first_line(server))["web"].removeprefix("http://")
        [child] = eventually(lambda: website_processes(server.pid), bool)
        eventually(lambda: urlopen(f"http://{site}/", timeout=PATIENCE).status, lambda status: status == 200)
        child.suspend()  # like a busy child, it cannot notice the end of the server
        server.kill()
        server.wait()
        eventually(lambda: child.is_running() and child.status() != psutil.STATUS_ZOMBIE, lambda alive: not alive)
    with started([*serve, site], environment()) as server:
        assert json.loads(first_line(server))["web"] == f"http://{site}"


def test_page_continues_after_the_server_was_killed_and_restarted(tmp_path: Path, browser: Browser) -> None:
    with ExitStack() as stack:
        running_league = stack.enter_context(league(tmp_path))
        site = stack.enter_context(
            started(
                ["web", "--server", running_league.address, "--listen", "127.0.0.1:0", "--format", "json"],
                environment(),
            )
        )
        assert site.stdout is not None
        page = stack.enter_context(page_in(browser, json.loads(site.stdout.readline())["web"]))
        open_game(page, running_league.game)
        running_league.server.send_signal(signal.SIGKILL)
        running_league.server.wait()
        expect(page.locator("#away")).to_contain_text("cannot be reached")
        clock = page.locator(".to-move .clock")
        clock_text = clock.inner_text()
        page.wait_for_timeout(500)
        assert clock.inner_text() == clock_text
        stack.enter_context(started(running_league.arguments, environment()))
        follow_to_the_end(page)
