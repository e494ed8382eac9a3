"""Progress of local games and other long work, drawn only on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from noughts_server.cli.printing import points, printable, stderr
from noughts_server.local.plan import LocalProgress
from noughts_server.tables.standings import lead


@contextmanager
def showing_progress() -> Iterator[Callable[[LocalProgress], None]]:
    """Yield a function that takes the progress; on a terminal it draws a bar on stderr, removed at the end."""
    with counting("Starting bots") as show:

        def progress(now: LocalProgress) -> None:
            if now.games_total:
                show(now.games_done, now.games_total, _leader(now), "Games")
            else:
                show(now.bots_online, now.bots_expected)

        yield progress


@contextmanager
def counting(description: str) -> Iterator[Callable[..., None]]:
    """Yield a function of the number done, the total (None: unknown), and perhaps a text and another description."""
    console = stderr()
    if not console.is_terminal:
        yield lambda *_: None
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[rest]}", markup=False),
        console=console,
        transient=True,
    ) as bar:
        task, described = bar.add_task(description, total=None, rest=""), description

        def show(done: int, total: int | None, rest: str = "", description: str = description) -> None:
            nonlocal described
            if description != described:
                described = description
                # What was done before must not count for the estimated time.
                bar.reset(task, description=description)
            bar.update(task, completed=done, total=total, rest=rest)

        yield show


def _leader(progress: LocalProgress) -> str:
    if progress.sprt is not None:
        from noughts_server.cli.drawing.estimate_lines import llr_text

        return llr_text(progress.sprt)
    if not progress.standings or not progress.games_done:
        return ""
    first = [row for row in progress.standings if row.rank == 1]
    return f"{printable(lead([row.label for row in first]))} with {points(first[0].points)}" if first else ""
