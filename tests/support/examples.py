"""The examples of the help, run as they are written, in a folder of their own and at a server of their own."""

import doctest
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from tests.support.background import bots_online
from tests.support.command_line import commands_and_groups, invoke
from tests.support.processes import PROGRAM, environment, eventually, first_line, json_of, run_here, started
from tests.support.receiver import webhook_receiver
from tests.support.tools import compiler
from tests.system.terminal import terminal

USUAL_SERVER = "127.0.0.1:7450"
USUAL_RECEIVER = "http://localhost:8080/hook"
STAYING = {
    "noughts bot run": "",
    "noughts serve": "--listen 127.0.0.1:0 --web 127.0.0.1:0",
    "noughts live": "--listen 127.0.0.1:0 --web 127.0.0.1:0",
    "noughts web": "--listen 127.0.0.1:0",
    "noughts mcp": "--listen 127.0.0.1:0",
    "noughts course serve": "--listen 127.0.0.1:0 --web 127.0.0.1:0",
}
"""Commands that run until Ctrl-C, and the options that give them free ports."""
ON_A_SCREEN = ("noughts play",)
OF_A_CLUSTER = ("noughts referee", "noughts nodes")
AT_A_SERVER = re.compile(
    r"noughts (bot (run|submit|show|history|games|register|rename|retire)|tournament (?!run|tables)|test|watch|"
    r"challenge|leaderboard|rating-lists|head-to-head|game|puzzle|web|webhook|mcp|status|health|course (night|report)|"
    r"ratings suspicious)\b"
)
FILES = {
    "class.csv": "login,name\nada,Ada\nben,Ben\n",
    "positions.jsonl": '{"variant": "tictactoe", "moves": [0, 3, 1, 4, 2]}\n'
    '{"variant": "tictactoe", "moves": [0, 0]}\n',
    "results.csv": "white,black,result\n"
    + "ada,ben,1-0\nben,ada,1/2-1/2\nada,cleo,1-0\ncleo,ada,0-1\nben,cleo,1-0\ncleo,ben,1/2-1/2\n" * 5,
    "my_bot.py": '''from noughts_bots import Bot


class Centre(Bot):
    """Plays the free cell next to the centre."""

    def choose(self, position):
        middle = position.variant.cells // 2
        return min(position.free, key=lambda cell: abs(cell - middle))
''',
    "my.c": '#include "noughts_bot.h"\n',
}


class Example(NamedTuple):
    """A command, and what the help says that it prints."""

    section: str
    command: str
    shown: str


@cache
def examples_of_help() -> tuple[Example, ...]:
    """Return the examples in the order of the help."""
    return tuple(
        Example(" ".join(("noughts", *path)), command, shown)
        for path, node in commands_and_groups()
        for command, shown in re.findall(
            r"(?ms)^\$ ([^\n]+)\n?(.*?)(?=^\$ |\Z)", (node.load() if hasattr(node, "load") else node).example
        )
    )


def part_of(example: Example) -> str:
    """Return what the examples of a section need: a server, sandboxed bots, or only files."""
    commands = [each.command for each in examples_of_help() if each.section == example.section]
    if "course" in example.section or any(AT_A_SERVER.match(each) or USUAL_SERVER in each for each in commands):
        return "server"
    return "bots" if re.match("noughts( (bot|demo|match|play|estimate)|$)", example.section) else "files"


def masked(text: str) -> str:
    """Return the text without what differs each time: addresses, tokens, durations, dates, versions, hashes."""
    for found, mask in (
        (r"(localhost|127\.0\.0\.1):\d+", "HOST:PORT"),
        (r"\bnou_[\w-]+", "TOKEN"),
        (r"\bNoughts \d[\w.+]*", "Noughts VERSION"),
        (r"\b[0-9a-f]{16,}\b", "HASH"),
        (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?", "DATE"),
        (r"[\d.,]+ (us|ms|s|min|h|KiB|MiB|kB)\b", "AMOUNT"),
    ):
        text = re.sub(found, mask, text)
    return text


class Playground:
    """A folder with files of games and a server with bots and tournaments: what examples are about."""

    def __init__(self, folder: Path, staying: ExitStack) -> None:
        self._staying = staying
        self._course_address, self._submitted = "", False
        self._compiler = compiler("cc")
        # What stays is killed at the end, and then leaves its temporary files.
        self._local = environment(XDG_DATA_HOME=str(folder / "data"), TMPDIR=str(folder), COLUMNS="80")
        for name, text in FILES.items():
            (folder / name).write_text(text)
        self.ran("noughts tournament run random three-stage minimax --games 10 --seed 1 -o games.jsonl --db games.db")

    @cached_property
    def _there(self) -> dict[str, str]:
        """The settings of alice at a server with bots, a finished tournament, and one that waits for a bot."""
        serving = "serve --listen 127.0.0.1:0 --no-web --db server.db --accept py --format json --log-level error"
        serving += " --allow-private-webhooks"
        address = json.loads(first_line(self._staying.enter_context(started(serving.split(), self._local))))["grpc"]
        tokens = {owner: self._token(owner) for owner in ("alice", "bob")}
        Path("token.txt").write_text(tokens["alice"])
        Path("admin.token").write_text(self._token("root", "--scope admin"))
        there = {**self._local, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": tokens["alice"]}
        self._staying.enter_context(bots_online(address, tokens["alice"], mybot="pascal:level=1"))
        self._staying.enter_context(bots_online(address, tokens["bob"], rival="random"))
        for line in ("tournament create autumn --games 20 --seed 1", "tournament join autumn --bot mybot"):
            run_here(line.split(), there)
        bobs = {**there, "NOUGHTS_TOKEN": tokens["bob"]}
        run_here(["bot", "register", "rival", "--open-to-tests"], bobs)
        run_here(["tournament", "join", "autumn", "--bot", "rival"], bobs)
        for line in (
            "tournament start autumn",
            "watch autumn",
            "tournament create cup",
            # It waits for a bot that is not online.
            "bot register absent",
            "tournament create summer",
            "tournament join summer --bot mybot --bot absent",
            "tournament start summer",
        ):
            run_here(line.split(), there)
        # The server judges games a moment after it stored them.
        eventually(lambda: json_of("leaderboard", there)["rows"][0]["judged_games"] == 20)
        return there

    @cached_property
    def _receiver(self) -> str:
        """The address of a receiver of webhooks."""
        return self._staying.enter_context(webhook_receiver("/hook")).url

    def _token(self, owner: str, rights: str = "--scope play --scope organise --scope submit") -> str:
        secret: str = json_of(f"token create --owner {owner} {rights} --db server.db", self._local)["token"]
        return secret

    def ran(self, command: str, server: str = "") -> str:
        """Return what a command that ends by itself prints, on either stream; `server` instead of the usual one."""
        env = self._there if AT_A_SERVER.match(command) or USUAL_SERVER in command else self._local
        env = {**env, "NOUGHTS_SERVER": server} if server else env
        command = command.replace(USUAL_SERVER, env.get("NOUGHTS_SERVER", USUAL_SERVER))
        if USUAL_RECEIVER in command:
            command = command.replace(USUAL_RECEIVER, self._receiver)
        if re.match(r"noughts [^|<>$]+$", command):
            changes = {name: env.get(name) for name in {*os.environ, *env}}
            return invoke(shlex.split(command)[1:], code=None, env=changes).output
        programs = {"noughts": PROGRAM, "cc": self._compiler}
        functions = [f'{name}() {{ {shlex.join(program)} "$@"; }}\n' for name, program in programs.items()]
        done = subprocess.run(
            ["sh", "-c", "".join(functions) + command],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def shown(self, example: Example) -> str:
        """Return what the command of an example prints; one that runs until Ctrl-C stays until the end."""
        if example.section in ON_A_SCREEN:
            return self._on_a_screen(example)
        if example.section in STAYING:
            return self._until_shown(example)
        if re.match("noughts course (night|report)", example.command):
            course = self._course()
            # The night begins a moment later.
            return eventually(lambda: self.ran(example.command, course), lambda shown: "Error" not in shown)
        return self.ran(example.command)

    def _until_shown(self, example: Example) -> str:
        env = {**(self._there if AT_A_SERVER.match(example.command) else self._local), "PYTHONUNBUFFERED": "1"}
        words = shlex.split(example.command.replace(USUAL_SERVER, self._there["NOUGHTS_SERVER"]))[1:]
        process = self._staying.enter_context(started([*words, *STAYING[example.section].split()], env))
        shown = ""
        while not matches(example.shown, shown):
            shown += first_line(process)
        if example.section == "noughts course serve":
            self._course_address = re.findall(r"127.0.0.1:\d+", shown)[0]
        return shown

    def _on_a_screen(self, example: Example) -> str:
        words = example.command.partition(" ")[2]
        with terminal(words) as screen:
            return screen.until(lambda text: matches(example.shown, text))

    def _course(self) -> str:
        """Return the address of the course's server, to which two students have submitted their bots."""
        if not self._submitted:
            self._submitted = True
            for login, token in re.findall(r"(?m)^(ada|ben),.*?(nou_[\w-]+)", Path("ai-101/tokens.csv").read_text()):
                env = {**self._local, "NOUGHTS_SERVER": self._course_address, "NOUGHTS_TOKEN": token}
                run_here(f"bot submit my_bot.py --name {login}".split(), env)
        return self._course_address


def matches(wanted: str, shown: str) -> bool:
    """Tell whether that is shown what is wanted; `...` stands for anything."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    # A line of dots alone also stands for no line.
    wanted = re.sub(r"(?m)^\.\.\.\n", "... ", masked(wanted).strip() + "\n")
    return doctest.OutputChecker().check_output(wanted, masked(shown).strip() + "\n", options)


@contextmanager
def playground(folder: Path) -> Iterator[Playground]:
    """A playground, and the end of what was started in it."""
    with ExitStack() as staying:
        yield Playground(folder, staying)
