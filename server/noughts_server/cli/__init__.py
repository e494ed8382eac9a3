"""The command line, `noughts`."""

import faulthandler
import gc
import io
import os
import sys

# Until a server or a bot sets its own: half of the time of loading modules would go into looking for cycles.
_COLLECTOR_THRESHOLDS = (100_000, 20, 20)


def main() -> None:
    """Run the console script."""
    _open_missing_streams()
    # A crash of a library (SIGSEGV, SIGBUS, SIGABRT) says where it happened, on stderr.
    faulthandler.enable(sys.__stderr__ or 2)
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    # Bots' processes are started by fork and exec, which gRPC would comment on, on stderr, each time.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    # No output fits into 0 columns: the environment does not know the width.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    # A sign that the terminal cannot show is no reason to fail.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    from noughts_server.cli import interrupts
    from noughts_server.cli.errors import INTERRUPTED

    interrupts.install()
    try:
        from noughts_server.cli.app import run

        run(sys.argv[1:])
    except KeyboardInterrupt:  # while it was loading
        sys.exit(INTERRUPTED)


def _open_missing_streams() -> None:
    """Open each standard stream that the caller has closed on the null device.

    Otherwise the next file or socket that is opened takes its descriptor, and Python has no object for the stream.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor: this one
            setattr(sys, name, open(descriptor, "w" if descriptor else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
