"""The protocol between bots, referee and server."""
