"""Bots count as slow by their processor time or repeated waits, and later as quick again."""

from noughts_bots.connection.thinking_thread import Pace


class Clocks:
    """The two clocks of `Pace`, which a test advances: wall time and the thread's processor time, in seconds."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def thought(self, wall: float, processor: float) -> None:
        """Advance both clocks by the times of one thought."""
        self.wall += wall
        self.processor += processor

    def pace(self, quick_answers: int = 100) -> Pace:
        return Pace(wall=lambda: self.wall, processor=lambda: self.processor, answers_to_recover=quick_answers)


def watch(pace: Pace, clocks: Clocks, *, wall: float, processor: float, times: int = 1) -> None:
    for _ in range(times):
        pace.watch(lambda: clocks.thought(wall, processor))


def test_a_bot_that_works_for_twenty_milliseconds_is_slow_at_once() -> None:
    clocks = Clocks()
    pace = clocks.pace()
    watch(pace, clocks, wall=0.019, processor=0.019, times=50)
    assert not pace.slow
    watch(pace, clocks, wall=0.021, processor=0.0205)
    assert pace.slow


def test_a_bot_that_the_machine_did_not_schedule_is_not_slow() -> None:
    clocks = Clocks()
    pace = clocks.pace()
    for _ in range(20):
        watch(pace, clocks, wall=0.2, processor=0.001, times=2)
        watch(pace, clocks, wall=0.001, processor=0.001, times=100)
        assert not pace.slow


def test_a_bot_that_waits_repeatedly_is_slow() -> None:
    clocks = Clocks()
    pace = clocks.pace()
    for waited in (1, 2, 3):
        watch(pace, clocks, wall=0.001, processor=0.001, times=99)
        watch(pace, clocks, wall=0.1, processor=0.0)
        assert pace.slow is (waited == 3)


def test_a_bot_that_waits_for_half_a_second_is_slow_at_once() -> None:
    clocks = Clocks()
    pace = clocks.pace()
    watch(pace, clocks, wall=0.5, processor=0.0)
    assert pace.slow


def test_a_slow_bot_is_quick_again_after_more_quick_answers_each_time() -> None:
    clocks = Clocks()
    pace = clocks.pace(quick_answers=10)
    for answer_count in (10, 20, 40):
        watch(pace, clocks, wall=0.03, processor=0.03)
        watch(pace, clocks, wall=0.001, processor=0.001, times=answer_count - 1)
        assert pace.slow
        watch(pace, clocks, wall=0.03, processor=0.001)  # one slow answer restarts the count
        watch(pace, clocks, wall=0.001, processor=0.001, times=answer_count - 1)
        assert pace.slow
        watch(pace, clocks, wall=0.001, processor=0.001)
        assert not pace.slow
