"""A cluster gets through whatever may happen to its parts, one after the other, with nothing lost but time."""

import nats
import pytest
from nats.aio.msg import Msg

from noughts_referee.rules import ON_THE_BOARD
from tests.chaos.forgery import wrong_messages
from tests.cluster.cluster import running_cluster
from tests.cluster.disruptions import CUT_LINK, DISRUPTIONS, Tally
from tests.cluster.run import Scenario, run

pytestmark = pytest.mark.at_length


@pytest.mark.timeout(900)  # it ends when its work is done, which a busy machine does slowly
async def test_kills_freezes_and_cut_links_cost_nothing_but_time() -> None:
    tally = Tally()
    # With clocks: nobody may lose on time for what happens to others. Those who sleep leave the cores to other tests.
    scenario = Scenario(60, "mnk:9,9,5", "Unhurried", "Unhurried", referees=2, move_seconds=20, rest=0.2)
    await run(scenario, tally)
    assert tally.checked == {"lost": 0, "stored twice": 0, "ratings that differ": 0, "other damage": 0}
    assert tally.seconds.keys() == {*DISRUPTIONS, CUT_LINK}
    assert max(tally.seconds.values()) < tally.most_seconds, (tally.seconds, tally.slowness)
    assert tally.endings.keys() <= ON_THE_BOARD, tally.endings
    assert tally.again, "no unit was ever played again: the disruptions came at the wrong moments"
    assert tally.gaps == []
    assert tally.plies


async def test_forged_messages_of_the_bus_end_nothing() -> None:
    names = ["amy", "ben"]
    async with running_cluster(servers=1, referees=1) as cluster:
        cluster.start_bots(names)
        await cluster.wait_until_online(names)
        bus = await nats.connect(cluster.nats.url)
        seen: dict[str, bytes] = {}

        async def keep(message: Msg) -> None:
            seen[message.subject] = max(seen.get(message.subject, b""), message.data, key=len)

        await bus.subscribe("noughts.>", cb=keep)
        await cluster.organise("first", names, games_per_pair=40)
        await cluster.wait_until_finished("first")
        for subject in (*seen, "noughts.servers", "noughts.referees", "noughts.wants"):
            data = seen.get(subject, b"")
            for wrong_message in wrong_messages(subject, data):
                await bus.publish(subject, wrong_message)
        await bus.flush()
        await cluster.organise("second", names, games_per_pair=40)
        assert (await cluster.wait_until_finished("second")).games_done == 40
        await bus.close()
        assert "bus_messages_dropped" in cluster.logs()
        assert "Traceback" not in cluster.logs()


async def test_long_texts_of_bots_cost_other_bots_nothing() -> None:
    async with running_cluster(servers=1, referees=1) as cluster:
        cluster.start_bots(["loud", "louder"], "Talkative")
        cluster.start_bots(["amy", "ben"], "Hasty")
        await cluster.wait_until_online(["loud", "louder", "amy", "ben"])
        await cluster.organise("noise", ["loud", "louder"], games_per_pair=1_000)
        await cluster.organise("league", ["amy", "ben"], games_per_pair=200)
        await cluster.wait_until_finished("league")
        await cluster.wait_until_finished("noise")
        assert "bus_message_too_large" not in cluster.logs()
        await cluster.check_records("league", "noise")
