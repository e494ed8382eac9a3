"""The board in a terminal, with two modes: play and watch."""
