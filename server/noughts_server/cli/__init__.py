"""The command line, `noughts`."""

import gc
import io
import os
import sys

# Until a server or a bot sets its own: half of the time of loading modules would go into looking for cycles.
_COLLECTOR_THRESHOLDS = (100_000, 20, 20)


def main() -> None:
    """What the console script runs."""
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    # Bots' processes are started by fork and exec, which gRPC would comment on, on stderr, each time.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
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
