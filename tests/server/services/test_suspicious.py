"""Only admins see results that look as if they were arranged."""

from pathlib import Path

import grpc

from noughts_proto.v1 import leaderboards_pb2 as pb
from tests.support.arena import open_arena
from tests.support.arranged import ROUNDS, arrange
from tests.support.client import bearer, client_of, refusal_of


async def test_only_an_admin_gets_suspicious_results_with_their_figures(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await arrange(arena)
    async with client_of(tmp_path / "x.sqlite") as client:
        find = client.leaderboards.FindSuspiciousResults
        organiser = bearer(await client.token("alice"))
        refusal = await refusal_of(find(pb.FindSuspiciousResultsRequest(), metadata=organiser))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
        admin = bearer(await client.token("root", "admin"))
        results = (await find(pb.FindSuspiciousResultsRequest(), metadata=admin)).results
    assert {row.pattern for row in results} == set(pb.SuspiciousPattern.values()) - {0}
    (given_up,) = (row for row in results if row.pattern == pb.SUSPICIOUS_PATTERN_GIVEN_UP)
    assert (given_up.bot, given_up.other_owner, given_up.counted) == ("bots/eve", "alice", ROUNDS)
    assert given_up.HasField("share_elsewhere")
    assert not given_up.rating_list
