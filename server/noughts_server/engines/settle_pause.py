"""The pause before a question to an engine that loses words of a command that directly follows its own line."""

# The pause after its first increase, and its limit.
_FIRST_US = 2_000
_LONGEST_US = 20_000
# The number of answers in a row before the pause gets shorter, at first and at most.
_CALM = 16
_MOST_CALM = 4_096


class SettlePause:
    """Doubles with each loss, up to 20 ms, and is halved after 16 answers in a row without a loss.

    After a further loss, the next reduction takes twice as many answers. A pause that the user has set never changes.
    """

    def __init__(self, set_us: int | None) -> None:
        self.us = self.longest_us = set_us or 0
        """The pause now, and the longest one so far, in microseconds."""
        self._is_set = set_us is not None
        self._calm = 0
        """Answers since the pause changed."""
        self._calm_needed = _CALM

    @property
    def has_grown(self) -> bool:
        """Return whether there is a pause because the engine lost words."""
        return self.us > 0 and not self._is_set

    def record_loss(self) -> None:
        """Record that the engine lost words of a question."""
        if self._is_set:
            return
        if self.longest_us:
            self._calm_needed = min(2 * self._calm_needed, _MOST_CALM)
        self._calm = 0
        self.us = min(_LONGEST_US, max(_FIRST_US, 2 * self.us))
        self.longest_us = max(self.longest_us, self.us)

    def record_answer(self) -> None:
        """Record an answer to a question of which the engine lost no words."""
        if self.has_grown:
            self._calm += 1
            if self._calm >= self._calm_needed:
                self._calm = 0
                self.us = self.us // 2 if self.us > _FIRST_US else 0
