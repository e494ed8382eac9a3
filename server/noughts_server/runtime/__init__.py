"""The work of a running server: tournaments, commits of results, sessions of bots, expiry of tokens."""
