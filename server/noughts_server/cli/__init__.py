"""The command line, `noughts`."""

import faulthandler
import gc
import io
import os
import sys

# Few collections during the start: they would double the time that imports take. Servers and bots set their own.
_COLLECTOR_THRESHOLDS = (100_000, 20, 20)


def main() -> None:
    """Run the console script."""
    _open_missing_streams()
    # After a crash in a library (SIGSEGV, SIGBUS, SIGABRT), print the Python stack on stderr.
    faulthandler.enable(sys.__stderr__ or 2)
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    # gRPC would print a warning each time that a bot's process is started with fork and exec.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    # 0 means that the width is unknown.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    # Replace characters that the terminal cannot show, instead of raising an error.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    from noughts_server.cli.errors import INTERRUPTED
    from noughts_server.cli.processes import interrupts

    interrupts.install()
    try:
        from noughts_server.cli.app import run

        run(sys.argv[1:])
    except KeyboardInterrupt:  # during the imports
        sys.exit(INTERRUPTED)


def _open_missing_streams() -> None:
    """Connect each standard stream that the caller has closed to the null device.

    Otherwise the next file or socket would get the stream's descriptor, and `sys.stdout` would be None.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free descriptor, which is this one
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
