"""Output in a terminal: boards, tables, charts, progress, the result of a match; and the file of a learning curve."""
