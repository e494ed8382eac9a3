"""What is wrong with a course or its night."""


class LeagueProblem(Exception):
    """Something to tell the teacher: what is wrong, and what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
