"""Commands that use a server: `tournament`, `watch`, `leaderboard`, `challenge`, `game`."""
