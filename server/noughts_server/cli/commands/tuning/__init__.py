"""The commands of `noughts tuning`, in the order of its help."""

from noughts_server.cli.lazy_commands import Command, Group

GROUP = Group(
    summary="Tunings at a server, whose games `noughts tune --name NAME` plays.",
    example="""
$ noughts tuning list
tuning  state     owner  iterations  workers  values
...
depth   finished  alice      1 of 1        0  depth ...
""",
    panels={
        "Commands": {
            "list": Command(
                "noughts_server.cli.commands.tuning.list:list_tunings",
                "List the tunings of a server, newest first.",
            ),
            "show": Command(
                "noughts_server.cli.commands.tuning.show:show",
                "Show the curves, the values and the optima of a tuning.",
            ),
            "delete": Command(
                "noughts_server.cli.commands.tuning.delete:delete",
                "Delete a tuning with its results.",
            ),
        },
    },
)
