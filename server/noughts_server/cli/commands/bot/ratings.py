"""The ratings of a bot, for `noughts bot show` and `history`."""

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.client.client import Client

_MOST_RATING_LISTS = 1_000


def ratings_of(client: Client, bot: str) -> list[pb.BotRating]:
    """Return the ratings of a bot, one for each rating list."""
    request = pb.ListBotRatingsRequest(bot=bot)
    return list(
        client.list_items(client.leaderboards.ListBotRatings, request, lambda page: page.ratings, _MOST_RATING_LISTS)
    )
