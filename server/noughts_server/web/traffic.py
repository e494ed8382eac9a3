"""Counts of the responses of the website, for its metrics."""

from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Traffic:
    """The responses of the website since its start. `counting` wraps the application that it counts."""

    def __init__(self) -> None:
        self.responses: Counter[int] = Counter()
        """Responses by HTTP status."""
        self.running = 0
        """Requests whose response has not ended, streams of live events among them."""

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Return the application, which now counts its responses."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def count(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self.responses[message["status"]] += 1
                await send(message)

            self.running += 1
            try:
                await app(scope, receive, count)
            finally:
                self.running -= 1

        return counted
