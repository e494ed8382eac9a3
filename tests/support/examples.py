"""The examples of the help, which a test runs as they are written, with files and a server made for them."""

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
LASTING_COMMANDS = {
    "noughts bot run": "",
    "noughts serve": "--listen 127.0.0.1:0 --web 127.0.0.1:0",
    "noughts live": "--listen 127.0.0.1:0 --web 127.0.0.1:0",
    "noughts web": "--listen 127.0.0.1:0",
    "noughts mcp": "--listen 127.0.0.1:0",
    "noughts course serve": "--listen 127.0.0.1:0 --web 127.0.0.1:0",
}
"""Commands that run until Ctrl-C, and the options that give them free ports."""
SCREEN_COMMANDS = ("noughts play",)
CLUSTER_COMMANDS = ("noughts referee", "noughts nodes")
WEBSITE_COMMANDS = ("noughts join",)
"""Commands whose examples need the website of another machine."""
SERVER_COMMANDS = re.compile(
    r"noughts (bot (run|submit|show|history|games|register|rename|retire)|tournament (?!run|tables)|test|tuning|watch|"
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
    "parameters.toml": 'bot = "nextstep:depth=$depth"\n\n[parameters.depth]\nstart = 2\nrange = [1, 4]\nstep = 1\n',
    "my.c": '#include "noughts_bot.h"\n',
}


class Example(NamedTuple):
    """A command of a section of the help, and its output there."""

    section: str
    command: str
    output: str


@cache
def examples_of_help() -> tuple[Example, ...]:
    """Return the examples in the order of the help."""
    return tuple(
        Example(" ".join(("noughts", *path)), command, output)
        for path, node in commands_and_groups()
        for command, output in re.findall(
            r"(?ms)^\$ ([^\n]+)\n?(.*?)(?=^\$ |\Z)", (node.loaded if hasattr(node, "loaded") else node).example
        )
    )


def needed_part(example: Example) -> str:
    """Return what the examples of a section need: a server, sandboxed bots, or only files."""
    commands = [other.command for other in examples_of_help() if other.section == example.section]
    calls_server = any(SERVER_COMMANDS.match(command) or USUAL_SERVER in command for command in commands)
    if "course" in example.section or calls_server:
        return "server"
    return "bots" if re.match("noughts( (bot|demo|match|play|estimate)|$)", example.section) else "files"


def mask(text: str) -> str:
    """Return the text with its addresses, tokens, durations, dates, versions and hashes replaced by fixed words."""
    for pattern, word in (
        (r"(localhost|127\.0\.0\.1):\d+", "HOST:PORT"),
        (r"\bnou_[\w-]+", "TOKEN"),
        (r"\bNoughts \d[\w.+]*", "Noughts VERSION"),
        (r"\b[0-9a-f]{16,}\b", "HASH"),
        (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?", "DATE"),
        (r"[\d.,]+ (us|ms|s|min|h|KiB|MiB|kB)\b", "AMOUNT"),
    ):
        text = re.sub(pattern, word, text)
    return text


class Playground:
    """A folder with files of games, and a server with bots and tournaments, on which examples can run."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._course_address, self._bots_are_submitted = "", False
        self._compiler = compiler("cc")
        # Commands that last are killed at the end, so their temporary files must lie in the folder of the test.
        self._local_env = environment(XDG_DATA_HOME=str(folder / "data"), TMPDIR=str(folder), COLUMNS="80")
        for name, text in FILES.items():
            (folder / name).write_text(text)
        self.run("noughts tournament run random three-stage minimax --games 10 --seed 1 -o games.jsonl --db games.db")

    @cached_property
    def _alice_env(self) -> dict[str, str]:
        """The environment of alice at a server with bots, a finished tournament, and one that waits for a bot."""
        serve_line = "serve --listen 127.0.0.1:0 --no-web --db server.db --accept py --format json --log-level error"
        serve_line += " --allow-private-webhooks"
        process = self._stack.enter_context(started(serve_line.split(), self._local_env))
        address = json.loads(first_line(process))["grpc"]
        tokens = {owner: self._token(owner) for owner in ("alice", "bob")}
        Path("token.txt").write_text(tokens["alice"])
        Path("admin.token").write_text(self._token("root", "--scope admin"))
        alice = {**self._local_env, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": tokens["alice"]}
        self._stack.enter_context(bots_online(address, tokens["alice"], mybot="pascal:level=1"))
        self._stack.enter_context(bots_online(address, tokens["bob"], rival="random"))
        for line in ("tournament create autumn --games 20 --seed 1", "tournament join autumn --bot mybot"):
            run_here(line.split(), alice)
        bob = {**alice, "NOUGHTS_TOKEN": tokens["bob"]}
        run_here(["bot", "register", "rival", "--open-to-tests"], bob)
        run_here(["tournament", "join", "autumn", "--bot", "rival"], bob)
        for line in (
            "tournament start autumn",
            "watch autumn",
            "tournament create cup",
            # The tournament `summer` waits for a bot that is not online.
            "bot register absent",
            "tournament create summer",
            "tournament join summer --bot mybot --bot absent",
            "tournament start summer",
            "tune parameters.toml --name depth --iterations 1 --games 2 --seed 1",
        ):
            run_here(line.split(), alice)
        # The server judges games a moment after it stored them.
        eventually(lambda: json_of("leaderboard", alice)["rows"][0]["judged_games"] == 20)
        return alice

    @cached_property
    def _receiver(self) -> str:
        """The address of a receiver of webhooks."""
        return self._stack.enter_context(webhook_receiver("/hook")).url

    def _token(self, owner: str, rights: str = "--scope play --scope organise --scope submit") -> str:
        secret: str = json_of(f"token create --owner {owner} {rights} --db server.db", self._local_env)["token"]
        return secret

    def run(self, command: str, server: str = "") -> str:
        """Run a command that ends by itself, and return its stdout and stderr; `server` replaces the usual one."""
        env = self._alice_env if SERVER_COMMANDS.match(command) or USUAL_SERVER in command else self._local_env
        env = {**env, "NOUGHTS_SERVER": server} if server else env
        command = command.replace(USUAL_SERVER, env.get("NOUGHTS_SERVER", USUAL_SERVER))
        if USUAL_RECEIVER in command:
            command = command.replace(USUAL_RECEIVER, self._receiver)
        if re.match(r"noughts [^|<>$]+$", command):
            changes = {name: env.get(name) for name in {*os.environ, *env}}
            return invoke(shlex.split(command)[1:], code=None, env=changes).output
        programs = {"noughts": PROGRAM, "cc": self._compiler}
        functions = [f'{name}() {{ {shlex.join(program)} "$@"; }}\n' for name, program in programs.items()]
        process = subprocess.run(
            ["sh", "-c", "".join(functions) + command],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return process.stdout

    def output_of(self, example: Example) -> str:
        """Run the command of an example, and return its output. A command that runs until Ctrl-C keeps running."""
        if example.section in SCREEN_COMMANDS:
            return self._run_on_a_screen(example)
        if example.section in LASTING_COMMANDS:
            return self._run_until_expected_output(example)
        if re.match("noughts course (night|report)", example.command):
            course = self._course_address_with_bots()
            # The command fails until the night has begun, a moment later.
            return eventually(lambda: self.run(example.command, course), lambda output: "Error" not in output)
        return self.run(example.command)

    def _run_until_expected_output(self, example: Example) -> str:
        """Start a command that runs until Ctrl-C, and return its output as soon as it matches the example."""
        env = self._alice_env if SERVER_COMMANDS.match(example.command) else self._local_env
        words = shlex.split(example.command.replace(USUAL_SERVER, self._alice_env["NOUGHTS_SERVER"]))[1:]
        words += LASTING_COMMANDS[example.section].split()
        process = self._stack.enter_context(started(words, env | {"PYTHONUNBUFFERED": "1"}))
        output = ""
        while not matches(example.output, output):
            output += first_line(process)
        if example.section == "noughts course serve":
            self._course_address = re.findall(r"127.0.0.1:\d+", output)[0]
        return output

    def _run_on_a_screen(self, example: Example) -> str:
        words = example.command.partition(" ")[2]
        with terminal(words) as screen:
            return screen.until(lambda text: matches(example.output, text))

    def _course_address_with_bots(self) -> str:
        """Return the address of the course's server, to which two students have submitted their bots."""
        if not self._bots_are_submitted:
            self._bots_are_submitted = True
            for login, token in re.findall(r"(?m)^(ada|ben),.*?(nou_[\w-]+)", Path("ai-101/tokens.csv").read_text()):
                env = {**self._local_env, "NOUGHTS_SERVER": self._course_address, "NOUGHTS_TOKEN": token}
                run_here(f"bot submit my_bot.py --name {login}".split(), env)
        return self._course_address


def matches(expected: str, actual: str) -> bool:
    """Return whether an output is the expected one, in which `...` stands for any text."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    # A line that is only `...` also stands for no line.
    expected = re.sub(r"(?m)^\.\.\.\n", "... ", mask(expected).strip() + "\n")
    return doctest.OutputChecker().check_output(expected, mask(actual).strip() + "\n", options)


@contextmanager
def playground(folder: Path) -> Iterator[Playground]:
    """A playground in this folder; all that it has started ends with the block."""
    with ExitStack() as stack:
        yield Playground(folder, stack)
