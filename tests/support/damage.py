"""Damage to the pages of a SQLite file."""

import sqlite3
from contextlib import closing
from pathlib import Path


def damage_last_games(database: Path) -> None:
    """Overwrite the page with the last rows of the table `games`, which are those of the newest tournament.

    No program may have the database open.
    """
    with closing(sqlite3.connect(database)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        leaves = "SELECT pageno FROM dbstat WHERE name = 'games' AND pagetype = 'leaf' ORDER BY path DESC"
        (page,) = connection.execute(leaves).fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
