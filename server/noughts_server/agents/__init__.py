"""The tools of `noughts mcp`, with which language models and agents use a server, by the Model Context Protocol."""
