"""The command line, `noughts`."""


def main() -> None:
    """What the console script runs."""
    # Before grpc is loaded: see there.
    import noughts_proto  # noqa: F401

    from noughts_server.cli.app import app

    app(prog_name="noughts")
