"""A tournament as a self-contained page: tables, charts, and games on a board."""
