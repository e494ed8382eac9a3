"""The reference bots: exact versions of players from published articles, with their quirks, and our own `threats`."""
