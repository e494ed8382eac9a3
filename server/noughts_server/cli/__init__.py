"""The command line, `noughts`."""

import io
import os
import sys


def main() -> None:
    """What the console script runs."""
    # Bots' processes are started by fork and exec, which gRPC would comment on, on stderr, each time.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    # A sign that the terminal cannot show is no reason to fail.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    from noughts_server.cli.app import run

    run(sys.argv[1:])
