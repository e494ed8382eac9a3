"""Modules that every other package of the server can use: errors, limits, names of resources, and plain texts."""
