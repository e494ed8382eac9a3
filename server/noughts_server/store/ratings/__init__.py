"""Ratings, their lists and leaderboards."""
