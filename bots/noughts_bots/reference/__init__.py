"""The reference bots: players of published articles, faithful to them down to their quirks, and `threats`, our own."""
