"""`noughts bot ...`: bots of this machine, and those registered at a server."""
