"""Modules for every other package of the server: errors, limits, names of resources, and texts of others."""
