"""What lists and answers say about finished tournaments: entries, winners, months of ends, and the story."""

from noughts_proto.v1 import tournaments_pb2 as pb
from tests.support.client import Client, refusal_of

FINISHED = pb.TOURNAMENT_STATE_FINISHED


async def finish_cup(client: Client) -> pb.Tournament:
    """Play `cup` of ada and bob."""
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        await client.create(token)
        for bot in ("ada", "bob"):
            await client.join(token, bot)
        await client.start(token)
        return await client.until(lambda cup: cup.state == FINISHED)


async def test_lists_have_entries_winners_and_months(client: Client) -> None:
    cup = await finish_cup(client)
    month = f"{cup.end_time.ToDatetime():%Y-%m}"
    listed = await client.tournaments.ListTournaments(pb.ListTournamentsRequest(month=month, show_months=True))
    (row,) = listed.tournaments
    first = [standing.label for standing in cup.standings if standing.rank == 1]
    assert (row.entries, list(row.winners), list(cup.winners)) == (2, first, first)
    assert list(listed.months) == [pb.TournamentMonth(month=month, tournaments=1)]
    other = await client.tournaments.ListTournaments(pb.ListTournamentsRequest(month="2001-02", show_months=True))
    assert (len(other.tournaments), list(other.months)) == (0, list(listed.months))
    assert not (await client.tournaments.ListTournaments(pb.ListTournamentsRequest())).months


async def test_wrong_month_is_refused(client: Client) -> None:
    for month in ("2026-13", "march", "1969-12", "9999-12", "2026-3"):
        refusal = await refusal_of(client.tournaments.ListTournaments(pb.ListTournamentsRequest(month=month)))
        assert "a year and a month, e.g. 2026-03" in str(refusal.details)


async def test_story_is_sent_on_request_after_the_end(client: Client) -> None:
    cup = await finish_cup(client)
    assert not cup.HasField("story")
    request = pb.GetTournamentRequest(name="tournaments/cup", show_story=True)
    story = (await client.tournaments.GetTournament(request)).tournament.story
    assert 1 <= story.longest_game <= cup.games_done
    assert story.longest_moves >= story.shortest_moves
    # Two bots have no upset.
    assert story.upset_game == 0
