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

        def show_progress(progress: LocalProgress) -> None:
            if progress.games_total:
                show(progress.games_done, progress.games_total, _leader(progress), "Games")
            else:
                show(progress.bots_online, progress.bots_expected)

        yield show_progress


@contextmanager
def counting(description: str) -> Iterator[Callable[..., None]]:
    """Yield a function that shows progress; without a terminal it does nothing.

    Its arguments are the number done, the total (None: unknown), an optional text, and an optional new description.
    """
    console = stderr()
    if not console.is_terminal:
        yield lambda *_: None
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task(description, total=None, text="")
        last_description = description

        def show(done: int, total: int | None, text: str = "", description: str = description) -> None:
            nonlocal last_description
            if description != last_description:
                last_description = description
                # Restart the estimate of the remaining time, because this is other work.
                bar.reset(task, description=description)
            bar.update(task, completed=done, total=total, text=text)

        yield show


def _leader(progress: LocalProgress) -> str:
    """Return the state of the test, else the leading bots with their points; empty before the first game."""
    if progress.sprt is not None:
        from noughts_server.cli.drawing.estimate_lines import llr_text

        return llr_text(progress.sprt)
    if not progress.standings or not progress.games_done:
        return ""
    leaders = [row for row in progress.standings if row.rank == 1]
    if not leaders:
        return ""
    return f"{printable(lead([row.label for row in leaders]))} with {points(leaders[0].points)}"
