"""A bot's connection to its referee: over a stream to a server, or over the pipes of a child process."""
