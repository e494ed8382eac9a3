"""`python -m noughts_server.records.parquet_child FOLDER` writes the games of a Parquet file as JSON lines.

Standard input is the file. Before the process loads the decoder, which starts threads, it gives up all rights except
reading standard input and writing standard output.
"""

import os
import sys

from noughts_referee.children import kernel
from noughts_referee.children.sandbox import Limits, Sandbox, forbid, tasks_of
from noughts_server.records.data_set import READER_BYTES

if __name__ == "__main__":
    if kernel.is_linux():
        forbid()
        limits = Limits(memory_bytes=READER_BYTES)
        Sandbox(limits, sys.argv[1], readable=(), programs=False, user=None, tasks=tasks_of(os.getuid())).restrict()
    from noughts_server.records.parquet import lines_of

    sys.stdout.writelines(lines_of(sys.stdin.buffer))
