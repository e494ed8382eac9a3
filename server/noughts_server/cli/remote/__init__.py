"""Commands at a server: `tournament`, `watch`, `leaderboard`, `challenge`, `game`."""
