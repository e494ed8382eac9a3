"""A rating list that a server has fitted to all its games, as JSON and as a table."""

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import output
from noughts_server.cli.drawing.rating_table import print_ratings, ratings_document
from noughts_server.resource_names import short
from noughts_server.statistics.rating_table import AdvantageBound, RatedPlayer, RatingTable


def show_fitted(answer: pb.GetBatchRatingsResponse) -> None:
    table = _table(answer)
    output.show({"rating_list": answer.rating_list, **ratings_document(table)}, lambda: _print(answer, table))


def _print(answer: pb.GetBatchRatingsResponse, table: RatingTable) -> None:
    output.heading(output.stdout(), f"{answer.rating_list}: ratings from all games at once")
    if table.players:
        print_ratings(table)
    else:
        output.stdout().print("No games.")


def _table(answer: pb.GetBatchRatingsResponse) -> RatingTable:
    players = tuple(
        RatedPlayer(
            rank=row.rank,
            name=short(row.bot),
            rating=row.rating if row.HasField("rating") else None,
            error95=row.error95 if row.HasField("error95") else None,
            games=row.wins + row.draws + row.losses,
            wins=row.wins,
            draws=row.draws,
            losses=row.losses,
            opposition=row.opposition if row.HasField("opposition") else None,
            los_next=row.los_next if row.HasField("los_next") else None,
            group=row.group,
            anchored=row.anchored,
        )
        for row in answer.ratings
    )
    bound = pb.AdvantageBound.Name(answer.advantage_bound).removeprefix("ADVANTAGE_BOUND_")
    return RatingTable(
        players=players,
        games=answer.games,
        draw_rate=answer.draws / answer.games if answer.games else None,
        advantage=answer.advantage if answer.HasField("advantage") else None,
        advantage_error95=answer.advantage_error95 if answer.HasField("advantage_error95") else None,
        bound=AdvantageBound[bound],
        prior=answer.prior,
    )
