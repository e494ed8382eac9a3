"""What can be wrong with a bot before it plays. Each error says on one line what was given and what to do.

BotError
├── BotSpecError      a spec that cannot be read, or names a bot or an option that does not exist
├── VariantRefused    a bot that does not play the variant asked for
├── BotFault          a bot in a process of its own that does not play as it should
├── BotRefusal        a bot whose own host cannot load it, in the host's words
└── TableError        a table's file that is missing, in use, or says something that no table says
"""


class BotError(ValueError):
    """A bot that cannot be had as asked."""

    subject: str
    """What the error is about, e.g. `bot 'nextstep', option depth`."""
    got: str
    """What was given."""
    expected: str
    """What would have been right."""
    advice: str
    """What to do about it."""

    def __init__(self, subject: str, got: str, expected: str, advice: str) -> None:
        super().__init__(f"{subject}: got {got}, expected {expected}; {advice}")
        self.subject = subject
        self.got = got
        self.expected = expected
        self.advice = advice


class BotSpecError(BotError):
    """A spec that cannot be read, or names a bot or an option that does not exist."""


class VariantRefused(BotError):
    """A bot that does not play the variant asked for."""


class BotFault(BotError):
    """A bot in a process of its own that ends, is silent, or says what is no answer."""


class BotRefusal(BotSpecError):
    """A bot that its host, in another process, cannot load: a BotSpecError there, of which the text has arrived."""

    def __init__(self, text: str) -> None:
        ValueError.__init__(self, text)
        self.subject, _, rest = text.partition(": got ")
        self.got, _, rest = rest.partition(", expected ")
        self.expected, _, self.advice = rest.rpartition("; ")


class TableError(BotError):
    """A table's file that is missing, in use, or says something that no table says."""
