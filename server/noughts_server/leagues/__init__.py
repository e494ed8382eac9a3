"""Leagues that continue by themselves on a server: the course of a class, and the ladders of `noughts live`."""
