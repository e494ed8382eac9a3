"""Games: storage, queries and statistics."""
