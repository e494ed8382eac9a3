"""Tournaments and challenges on a server, as commands and screens play them."""
