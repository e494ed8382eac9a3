"""The rating of a bot that pages show, and its margin."""

from noughts_server.web.documents import Document


def shown_rating(rated: Document) -> float:
    """Return the rating of a bot's row in a leaderboard or of its summary: computed from all games, else the live one.

    Without a rated game, it is the lowest possible number.
    """
    ratings = (rated["view_rating"], rated["rating"])
    return next((float(rating) for rating in ratings if rating is not None), float("-inf"))


def shown_margin(row: Document) -> float:
    """Return half the 95 % interval of the rating that pages show for a row of a leaderboard."""
    return float(row["error95"] if row["view_rating"] is None else row["view_error95"])
