"""Who plays and who may: bots, what was submitted, tokens."""
