"""The first thing that runs in a child of the unlocked launcher: `python session_leader.py PARENT CORES COMMAND...`.

Asks Linux to end the process when its parent ends, then becomes the command. Runs without site packages.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1
_CANNOT_RUN = 127


def main(arguments: list[str]) -> int:
    """Becomes the command; returns only when that cannot be."""
    parent, cores, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != int(parent):
        return _CANNOT_RUN  # it has gone already
    if cores:
        os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    # Python ignores these, and what is ignored stays so: the command expects them as they are everywhere.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201  # the bot's owner reads it
    return _CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
