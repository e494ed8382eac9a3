"""Bots that a server or referee runs itself: submitted bots, and bots that it offers."""
