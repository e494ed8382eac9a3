"""The pause before a question to an engine that loses input that directly follows its own output."""

from noughts_server.engines.settle_pause import SettlePause


def answers_until_change(pause: SettlePause) -> int:
    before, answers = pause.us, 0
    while pause.us == before:
        pause.record_answer()
        answers += 1
    return answers


def test_pause_grows_with_losses_up_to_20_ms() -> None:
    pause, pauses_us = SettlePause(None), []
    for _ in range(6):
        pause.record_loss()
        pauses_us.append(pause.us)
    assert pauses_us == [2_000, 4_000, 8_000, 16_000, 20_000, 20_000]
    assert pause.longest_us == 20_000


def test_pause_shrinks_while_nothing_is_lost() -> None:
    pause, pauses_us = SettlePause(None), []
    for _ in range(3):
        pause.record_loss()
    while pause.us:
        answers_until_change(pause)
        pauses_us.append(pause.us)
    assert pauses_us == [4_000, 2_000, 0]
    assert pause.longest_us == 8_000
    pause.record_answer()
    assert pause.us == 0


def test_engine_that_needs_its_pause_keeps_it_for_longer_each_time() -> None:
    pause, answers_before_change = SettlePause(None), []
    pause.record_loss()
    for _ in range(10):
        answers_before_change.append(answers_until_change(pause))
        pause.record_loss()
    assert answers_before_change[:4] == [16, 32, 64, 128]
    assert answers_before_change[-1] == 4_096


def test_chosen_pause_never_changes() -> None:
    for chosen_us in (0, 5_000, 400_000):
        pause = SettlePause(chosen_us)
        for _ in range(5):
            pause.record_loss()
        assert (pause.us, pause.has_grown) == (chosen_us, False)
        for _ in range(100):
            pause.record_answer()
        assert pause.us == pause.longest_us == chosen_us
