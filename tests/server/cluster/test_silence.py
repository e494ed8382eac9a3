"""The longest silence of a node of a cluster on the bus."""

from noughts_server.cluster.silence import Silence


def test_node_is_gone_after_its_own_limit_and_is_known_when_it_returns() -> None:
    gone: list[str] = []
    silence = Silence(lambda node: {"slow": 12.0}.get(node, 5.0))
    for node in ("fast", "slow"):
        assert not silence.record_message(node)
    for _ in range(6):
        silence.count(1.0, gone.append)
    assert gone == ["fast"]
    assert list(silence) == ["slow"]
    assert silence.record_message("fast")
    assert not silence.record_message("fast")


def test_stall_of_this_node_does_not_make_others_silent() -> None:
    gone: list[str] = []
    silence = Silence()
    silence.record_message("other")
    silence.count(60.0, gone.append)  # this node was stalled, and has not read the messages that wait for it
    assert gone == []
    silence.record_message("other")
    silence.count(60.0, gone.append)
    assert gone == []


def test_node_that_left_is_not_gone_again() -> None:
    gone: list[str] = []
    silence = Silence()
    silence.record_message("other")
    silence.forget("other")
    silence.count(60.0, gone.append)
    assert (gone, list(silence), silence.record_message("other")) == ([], [], False)
