"""Databases that are really damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path


def damage_last_games(database: Path) -> None:
    """Overwrites the page of the table `games` with its last rows, of the youngest tournament. Nobody has it open."""
    with closing(sqlite3.connect(database)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        leaves = "SELECT pageno FROM dbstat WHERE name = 'games' AND pagetype = 'leaf' ORDER BY path DESC"
        (page,) = connection.execute(leaves).fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
