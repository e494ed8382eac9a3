"""A world whose server has a website and accepts bots: visitors play, authors upload bots, and one bot competes."""

import asyncio
import hashlib
import http.client
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import grpc
import psutil

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_referee.rules import Result, Termination
from tests.chaos.world import PASSING, PATIENCE, World

UPLOADS = "uploads"
"""The tournament in which the uploaded bot plays."""
_SETTINGS = {"schedule": tournaments_pb2.Schedule.SCHEDULE_ROUND_ROBIN, "games_per_pair": 100}
_BOT, _AUTHOR, _LATER = "uploaded", "author", "edited"
_SOURCE = """
from noughts_bots import Bot


class Uploaded(Bot):
    edition = {edition}

    def choose(self, position):
        return position.rng().choice(position.free)
"""
_ZYGOTE, _SITE = "noughts_referee.children.zygote", "noughts_server.web.child"
_REFUSED = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION)
_ANSWER_SECONDS = 20
"""Limit of one request to the website."""
_LOOK, _PAUSE = 0.1, 1.0
"""Seconds between two looks at the server, and between two uploads or games of visitors."""
_CELLS = (6, 7, 8)
"""The moves of a visitor, who wins with them: its opponent `first-free` takes 0 and 1."""


class League(World):
    """A world whose server has a website and accepts bots in Python."""

    other_owners = (_AUTHOR,)
    serve_options = ("--accept", "py", "--limit", "submissions=1000000", "--limit", "versions=1000000")

    def __init__(self, folder: Path, seed: int = 1, database_folder: Path | None = None) -> None:
        super().__init__(folder, seed, database_folder)
        self.temporary = folder / "temporary"
        self.temporary.mkdir(mode=0o711)
        self.server_variables["TMPDIR"] = str(self.temporary)
        self.uploaded: dict[str, bytes] = {}
        """SHA-256 of each acknowledged upload, by the name of its version."""
        self.refusals: list[str] = []
        """Errors of refused uploads. A refusal is right if the process of the trial was killed."""

    async def start(self) -> None:
        """Also upload the bot that competes."""
        await super().start()
        await self._upload(_BOT, 0)

    def server_options(self) -> tuple[str, ...]:
        """Return the options of `noughts serve`. After a restart, the website has the same port."""
        return ("--web", self.website or "127.0.0.1:0", *self.serve_options)

    async def play_round(self, number: int) -> None:
        """Also play the tournament of the uploaded bot."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._play_uploads(number))
            await super().play_round(number)

    async def _play_uploads(self, number: int) -> None:
        entries = {_BOT: _AUTHOR, **{name: name for name in self.names[:2]}}
        await self.start_tournament(f"{UPLOADS}-{number}", _SETTINGS, entries)
        while f"{UPLOADS}-{number}" in self.unfinished():  # noqa: ASYNC110  # other processes end it
            await asyncio.sleep(_LOOK)

    # Processes of the server

    def sandboxed_processes(self) -> list[psutil.Process]:
        """Return the sandboxed processes: those of uploaded bots, and the spare one."""
        return [child for zygote in self._processes(_ZYGOTE) for child in zygote.children()]

    def website_processes(self) -> list[psutil.Process]:
        """Return the process of the website, if there is one now."""
        return self._processes(_SITE)

    def _processes(self, module: str) -> list[psutil.Process]:
        try:
            return [child for child in psutil.Process(self.server.pid).children() if module in child.cmdline()]
        except psutil.Error:  # a process has just ended
            return []

    # The load besides the tournaments

    @asynccontextmanager
    async def visited_by_others(self) -> AsyncIterator[None]:
        """Let authors upload and visitors play inside the block. After it, the website must answer."""
        async with asyncio.TaskGroup() as tasks:
            visits = [tasks.create_task(self._keep_uploading()), tasks.create_task(self._keep_playing())]
            yield
            for task in visits:
                task.cancel()
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(self._is_website_up) or self._running_challenges():  # noqa: ASYNC110
                await asyncio.sleep(_LOOK)

    def _running_challenges(self) -> set[str]:
        """Return the games of visitors that are running, because a server that stops would wait for them."""
        return {slug for slug in self.unfinished() if slug.startswith("challenge-")}

    async def _keep_uploading(self) -> None:
        edition = 0
        while True:
            edition += 1
            await self._upload(_LATER, edition)
            await asyncio.sleep(_PAUSE)

    async def _upload(self, bot: str, edition: int) -> None:
        """Upload an edition of a bot, and repeat this until it succeeds: the same content again is the same version."""
        content = _SOURCE.format(edition=edition).encode()
        digest = hashlib.sha256(content).digest()

        async def call(request: bots_pb2.Submission, **options: Any) -> bots_pb2.SubmitBotResponse:
            async def requests() -> AsyncIterator[bots_pb2.SubmitBotRequest]:
                yield bots_pb2.SubmitBotRequest(submission=request)
                yield bots_pb2.SubmitBotRequest(chunk=content)

            response: bots_pb2.SubmitBotResponse = await self.bot_service.SubmitBot(requests(), **options)
            return response

        submission = bots_pb2.Submission(bot=bot, kind="py", size=len(content), sha256=digest, file_name="bot.py")
        while True:
            try:
                response = await self.call(call, submission, _AUTHOR)
            except grpc.aio.AioRpcError as error:
                if error.code() in _REFUSED:
                    self.refusals.append(error.details() or "")
                elif error.code() not in PASSING:  # repeat: kills can come faster than a trial ends
                    raise AssertionError(f"an upload failed\n{self.log()[-6_000:]}") from error
            else:
                self.uploaded[response.version.name] = digest
                return

    async def _keep_playing(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self._play_at_the_site)
            except (OSError, http.client.HTTPException) as error:
                self.tally.visits[type(error).__name__] += 1
            await asyncio.sleep(_PAUSE)

    def _play_at_the_site(self) -> None:
        """Play a game against a bot of the server; give up after an error, as people do."""
        form = {"opponent": "house:first-free", "variant": "tictactoe", "begins": "you", "mark": "begins"}
        status, location, _ = self._request("POST", "/play", form)
        if status != 303:
            self.tally.visits[f"no table: {status}"] += 1
            return
        status, _, body = self._request("GET", f"{location}/state")
        for number, cell in enumerate(_CELLS):
            move = {"game": json.loads(body)["game"], "cell": str(cell), "ply": str(2 * number)}
            for _ in range(50):
                status, _, answer = self._request("POST", f"{location}/move", move)
                if status != 409:
                    break
            if status != 200:
                self.tally.visits[f"no move: {status} {answer.decode(errors='replace')[:80]}"] += 1
                self._request("POST", f"{location}/resign", move)
                break
        else:
            self.tally.visits["games"] += 1
        self._request("POST", f"{location}/leave", move)

    def _is_website_up(self) -> bool:
        try:
            return self._request("GET", "/")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def _request(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, bytes]:
        """Return status, Location and body of an answer."""
        connection = http.client.HTTPConnection(self.website, timeout=_ANSWER_SECONDS)
        try:
            headers = {"content-type": "application/x-www-form-urlencoded"} if form is not None else {}
            connection.request(method, path, urlencode(form) if form is not None else None, headers)
            response = connection.getresponse()
            return response.status, response.getheader("location") or "", response.read()
        finally:
            connection.close()

    # Checks at the end

    def check_uploads(self, slug: str, expected: list[list[tuple[Any, ...]]]) -> None:
        """Compare the uploaded bot's tournament with an undisturbed one. Games that it lost by a crash can differ."""
        stored_games, expected_games = self.records_of(slug)[0], expected[0]
        games = {row[0]: row[1:] for row in stored_games}
        undisturbed = {row[0]: row[1:] for row in expected_games}
        uploaded_entry = min(first for first, *_ in undisturbed.values())  # the uploaded bot was entered first
        self.tally.lost += len(undisturbed.keys() - games.keys())
        self.tally.doubled += len(stored_games) - len(games)
        for ordinal, game in games.items():
            first, second, result, termination, _ = game
            if game == undisturbed.get(ordinal):
                continue
            loser = {Result.FIRST_WINS: second, Result.SECOND_WINS: first}.get(result)
            if termination == Termination.CRASHED and loser == uploaded_entry:
                self.tally.crashed += 1
            else:
                self.tally.differing += 1

    def check_versions(self) -> None:
        """Count acknowledged uploads that are not stored, and contents that are stored twice."""
        query = (
            "SELECT bots.name, programs.hash FROM submissions JOIN programs ON programs.id = program_id"
            " JOIN bot_versions ON bot_versions.id = bot_version_id JOIN bots ON bots.id = bot_id"
        )
        stored = Counter((name, bytes(digest)) for name, digest in self.rows(query))
        acknowledged = {(version.split("/")[1], digest) for version, digest in self.uploaded.items()}
        self.tally.lost += len(acknowledged - stored.keys())
        self.tally.doubled += stored.total() - len(stored)
        if len(self.refusals) > self.tally.disruptions["kill child"]:
            self.tally.left += [f"refusal: {text}" for text in self.refusals]
        self.tally.uploads = len(self.uploaded)
