"""The command `noughts tuning list`."""

from functools import partial
from typing import Annotated, Any

from typer import Option

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import iso, milliseconds
from noughts_server.core.resource_names import short

_STATES = {pb.TUNING_STATE_RUNNING: "running", pb.TUNING_STATE_FINISHED: "finished"}


@command(
    example="""
$ noughts tuning list
tuning  state     owner  iterations  workers  values
...
depth   finished  alice      1 of 1        0  depth ...
"""
)
def list_tunings(
    owner: Annotated[str, Option("--owner", metavar="NAME", help="Only tunings of this owner")] = "",
    *,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List the tunings of a server, newest first."""
    with server.connected() as client:
        request = pb.ListTuningsRequest(owner=owner)
        pages = partial(client.list_items, client.tunings.ListTunings, request, lambda page: page.tunings)
        tunings = list(output.limited(pages))
    output.show_rows(
        {"tunings": [_document(tuning) for tuning in tunings]},
        ("tuning", "state", "owner", ">iterations", ">workers", "values"),
        map(_row, tunings),
        "No tunings yet. Create one: noughts tune FILE --name NAME",
    )


def _row(tuning: pb.Tuning) -> tuple[object, ...]:
    return (
        short(tuning.name),
        _STATES.get(tuning.state, ""),
        tuning.owner,
        f"{tuning.iterations_done:,} of {tuning.iterations:,}",
        tuning.workers,
        ", ".join(f"{parameter.name} {parameter.last:.4g}" for parameter in tuning.parameters),
    )


def _document(tuning: pb.Tuning) -> dict[str, Any]:
    return {
        "tuning": tuning.name,
        "state": _STATES.get(tuning.state),
        "owner": tuning.owner,
        "bot": tuning.bot,
        "iterations": tuning.iterations_done,
        "iterations_total": tuning.iterations,
        "games": tuning.games_done,
        "games_lost_by_fault": tuning.games_lost_by_fault,
        "workers": tuning.workers,
        "values": {parameter.name: parameter.last for parameter in tuning.parameters},
        "create_time": iso(milliseconds(tuning.create_time)),
        "end_time": iso(milliseconds(tuning.end_time)),
    }
