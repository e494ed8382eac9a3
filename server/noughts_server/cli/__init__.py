"""The command line, `noughts`."""

import os


def main() -> None:
    """What the console script runs."""
    # Bots' processes are started by fork and exec, which gRPC would comment on, on stderr, each time.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    from noughts_server.cli.app import app

    app(prog_name="noughts")
