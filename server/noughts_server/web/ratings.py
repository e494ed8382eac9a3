"""The rating of a bot that pages show."""

from noughts_server.web.documents import Document


def shown_rating(rated: Document) -> float:
    """Return the rating of a bot's row in a leaderboard or of its summary: computed from all games, else the live one.

    Without a rated game, it is the lowest possible number.
    """
    ratings = (rated["view_rating"], rated["rating"])
    return next((float(rating) for rating in ratings if rating is not None), float("-inf"))
