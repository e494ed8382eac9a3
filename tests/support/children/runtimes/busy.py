"""Threads, files, programs, locks and a database in Python."""

import asyncio
import fcntl
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


async def copied() -> bytes:
    program = await asyncio.create_subprocess_exec("cat", "copy", stdout=asyncio.subprocess.PIPE)
    return (await program.communicate())[0]


with ThreadPoolExecutor(4) as pool:
    done = sum(pool.map(lambda number: 1, range(4)))
Path("note").write_text("here")
shutil.copy2("note", "copy")
with sqlite3.connect("data") as database, Path("note").open() as note:
    fcntl.flock(note, fcntl.LOCK_EX)
    database.execute("create table t (n)")
    database.execute("insert into t values (1)")
sys.stdout.write(f"{done} {asyncio.run(copied()).decode()}\n")
