"""The command `noughts tuning show`."""

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tuning_summary import print_tuning, tuning_document
from noughts_server.cli.options.names import TuningArgument, read_tuning
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.server_games.tuning_work import read_course
from noughts_server.core.spec_template import SpecTemplate
from noughts_server.statistics.optima import tuned_parameters


@command(
    example="""
$ noughts tuning show depth
nextstep:depth=$depth: 1 iteration, seed 1
...
parameter  start  last value  optimum  95 % interval  tuned
...
depth          2 ...
...
Check: noughts match ...
""",
    extra="server",
)
def show(name: TuningArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Show the curves, the values and the optima of a tuning.

    They are computed here, from the results of all iterations.
    """
    request = pb.GetTuningRequest(name=read_tuning(name))
    with server.connected() as client:
        tuning = client.call(client.tunings.GetTuning, request).tuning
        course = read_course(client, tuning)
    bot, rows = SpecTemplate(tuning.bot), tuned_parameters(course)
    document = {
        "tuning": tuning.name,
        **tuning_document(bot, course, rows),
        "games_lost_by_fault": tuning.games_lost_by_fault,
        "workers": tuning.workers,
    }
    output.show(document, lambda: print_tuning(bot, course, rows))
