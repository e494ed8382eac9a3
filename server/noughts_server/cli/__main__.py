"""`python -m noughts_server.cli`: the same as `noughts`."""

from noughts_server.cli import main

main()
