"""Folders of submitted programs: when they are removed, and how much of the disk they can take."""

import io
import os
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from noughts_referee.children.scratch import OwnedFolder
from noughts_server.core.limits import Limits
from tests.server.hosting.submitting import ALL_SCOPES, FIRST_CELL_BOT, RANDOM_BOT, hosting, submit
from tests.support.loopback import wait_until


async def test_starting_server_removes_folders_of_killed_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for number in range(112):  # as killed servers leave them: no process holds their locks
        (tmp_path / f"noughts-bots-{number}" / "trial-x").mkdir(parents=True)
    with closing(OwnedFolder("noughts-bots-")) as running:
        (Path(running.path) / "bot.py").touch()
        async with hosting(tmp_path):
            folders = _folders(tmp_path)
            assert len(folders) == 2
            assert running.path in folders
        assert _folders(tmp_path) == [running.path]
        assert os.listdir(running.path) == ["bot.py"]


def _folders(temporary: Path) -> list[str]:
    return list(map(str, temporary.glob("noughts-bots-*")))


async def test_folders_of_bots_are_removed_after_their_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with hosting(tmp_path) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        for name in ("one", "two"):
            await submit(client, token, name, RANDOM_BOT)
        await client.create(token)
        for name in ("one", "two"):
            await client.join(token, name)
        await client.start(token)
        await client.until(lambda cup: cup.games_done == 2)
        await wait_until(lambda: not submitted_bots.playing())
        [folder] = _folders(tmp_path)
        assert os.listdir(folder) == ["programs"]


def zip_of(content: dict[str, bytes]) -> bytes:
    """Return a zip file with these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return packed.getvalue()


async def test_unpacked_programs_of_an_owner_have_a_limit(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(unpacked_mib=50)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        large_zip = zip_of({"bot.py": FIRST_CELL_BOT.encode(), "zeros.bin": bytes(40 << 20)})
        assert len(large_zip) < 1 << 16
        with capture_logs() as logs:
            for bot in ("one", "two"):
                await submit(client, token, bot, large_zip)
            await client.create(token, games_per_pair=2, concurrency=2)
            for bot in ("one", "two"):
                await client.join(token, bot)
            await client.start(token)
            await wait_until(lambda: any(entry["event"] == "submission_not_accepted" for entry in logs))
        (refusal,) = (entry for entry in logs if entry["event"] == "submission_not_accepted")
        assert "unpacked_mib" in refusal["error"], refusal
        await wait_until(lambda: not submitted_bots._playing)
        assert not submitted_bots._unpacked._bytes
