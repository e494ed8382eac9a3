"""What keeps a server going: games for tournaments, results for the store, bots let in, tokens that expire."""
