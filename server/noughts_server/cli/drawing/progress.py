"""Progress of local games and other long work, drawn only on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from noughts_server.cli.output import points, printable, stderr
from noughts_server.local.plan import LocalProgress


@contextmanager
def showing_progress() -> Iterator[Callable[[LocalProgress], None]]:
    """Yield a function that takes the progress; on a terminal it draws a bar on stderr, removed at the end."""
    console = stderr()
    if not console.is_terminal:
        yield lambda progress: None
        return
    with _bar(console) as bar:
        task, playing = bar.add_task("Starting bots", total=None, rest=""), False

        def show(progress: LocalProgress) -> None:
            nonlocal task, playing
            if not progress.games_total:
                bar.update(task, total=progress.bots_expected, completed=progress.bots_online)
                return
            if not playing:
                # A new task: the start of the bots must not count for the estimated time.
                bar.remove_task(task)
                task, playing = bar.add_task("Games", total=progress.games_total, rest=""), True
            bar.update(task, total=progress.games_total, completed=progress.games_done, rest=_leader(progress))

        yield show


@contextmanager
def counting(description: str) -> Iterator[Callable[..., None]]:
    """Yield a function of the number done, the total and perhaps a text, drawn as by `showing_progress`."""
    console = stderr()
    if not console.is_terminal:
        yield lambda done, total, rest="": None
        return
    with _bar(console) as bar:
        task = bar.add_task(description, total=None, rest="")
        yield lambda done, total, rest="": bar.update(task, completed=done, total=total, rest=rest)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[rest]}", markup=False),
        console=console,
        transient=True,
    )


def _leader(progress: LocalProgress) -> str:
    if progress.sprt is not None:
        from noughts_server.cli.drawing.estimate_lines import llr_text

        return llr_text(progress.sprt)
    if not progress.standings or not progress.games_done:
        return ""
    first = progress.standings[0]
    return f"{printable(first.label)} leads with {points(first.points)}"
