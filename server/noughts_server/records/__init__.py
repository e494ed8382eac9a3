"""Games as files: a module for each format."""
