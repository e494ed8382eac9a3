"""The command line, `noughts`."""


def main() -> None:
    """What the console script runs."""
    from noughts_server.cli.app import app

    app(prog_name="noughts")
