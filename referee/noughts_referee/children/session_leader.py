"""First program of an unsandboxed child: `python session_leader.py PARENT CORES COMMAND...`.

It asks Linux to end the process when the parent ends, then becomes the command. It runs without site packages.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1
_CANNOT_RUN = 127
"""The exit code if the program cannot run, as in shells."""


def main(arguments: list[str]) -> int:
    """Become the command. Returns only if that fails."""
    parent, cores, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != int(parent):
        return _CANNOT_RUN  # the parent has already ended
    if cores:
        os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    # Python ignores these signals, and the command would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201  # for the bot's owner
    return _CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
