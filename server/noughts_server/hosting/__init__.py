"""Bots that a server or referee plays for others: those that were submitted, those that it offers."""
