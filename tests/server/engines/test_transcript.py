"""The size of an engine's transcript is limited."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from noughts_referee.game import Game
from noughts_server.engines.transcript import LARGEST_BYTES, Transcripts


def test_transcript_of_an_endless_writer_is_bounded(tmp_path: Path) -> None:
    with Transcripts(tmp_path) as transcripts:
        transcript = transcripts.of("talker")
        assert transcript is not None
        transcript.begin(cast(Game, SimpleNamespace(slot=(1, 0), moves=[])))
        for _ in range(2 * LARGEST_BYTES // 4_000):
            transcript.record_line("MESSAGE " + "x" * 4_000)
        transcript.finish()
    (log,) = tmp_path.iterdir()
    assert log.stat().st_size < 1.1 * LARGEST_BYTES
    assert log.read_text().endswith("wrote more than 8 MiB in this game: its further lines are left out\n")
