"""The reference bots: players of published articles, faithful to them down to their quirks."""
