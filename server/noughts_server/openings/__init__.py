"""Openings that games begin with: chosen by chance, found balanced by a search, or read from files. Pure: no clock."""
