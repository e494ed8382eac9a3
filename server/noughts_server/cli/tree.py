"""Every command: where the help lists it, and the function that runs it.

To add one, write a function with a docstring in `bots/`, `local/`, `operator/` or `remote/`, declare it with `command`,
and name it here. Its module is imported when the command is run.
"""

from collections.abc import Mapping
from typing import NamedTuple

_HERE = "On this machine"
_AT_A_SERVER = "At a server"
_BOTS = "Bots"
_SERVER = "Server"
_COMMANDS = "Commands"
FORMER_NAMES = "Former names"
"""Commands beneath this heading work, and no help lists them."""


class Group(NamedTuple):
    """A command that only has commands beneath it."""

    summary: str
    panels: "Mapping[str, Mapping[str, str | Group]]"
    """By heading and name: a group, or a command's function as `MODULE:FUNCTION` beneath `noughts_server.cli`."""


TREE = Group(
    "Tournaments of bots that play k-in-a-row games: on this machine, or at a server that bots dial into.\n\n"
    "Commands print for people; with `--format json` they print one JSON document, or JSON lines. Exit codes: 0 done, "
    "1 failed, 2 wrong usage, 130 interrupted.",
    {
        _HERE: {
            "demo": "local.tournament:demo",
            "match": "local.tournament:match",
            "estimate": "local.estimate:estimate",
            "play": "local.play:play",
            "report": "report:report",
            "variants": "local.variants:variants",
            "records": Group(
                "Files of games: converted, checked, listed, shown, sampled.",
                {
                    _COMMANDS: {
                        "convert": "local.records:convert",
                        "check": "local.records:check",
                        "list": "local.records:list_games",
                        "show": "local.records:show",
                        "sample": "local.records:sample",
                    }
                },
            ),
            "rate": "local.rate:rate",
            "sprt": "local.sprt:sprt",
            "rules": Group("What the rules say: of positions in a file.", {_COMMANDS: {"check": "local.rules:check"}}),
        },
        _SERVER: {
            "serve": "operator.serve:serve",
            "referee": "operator.referee:referee",
            "nodes": "operator.nodes:nodes",
            "web": "operator.web:web",
            "live": "operator.live:live",
            "status": "operator.status:status",
            "health": "operator.health:health",
            "token": Group(
                "Tokens: who may run bots and organise tournaments. On the database, for the operator of the "
                "machine; with --server your own.",
                {
                    _COMMANDS: {
                        "create": "operator.token:create",
                        "list": "operator.token:list_tokens",
                        "revoke": "operator.token:revoke",
                    }
                },
            ),
            "course": Group(
                "Courses: a league for a class, whose bots meet each night.",
                {
                    _COMMANDS: {
                        "init": "operator.course:init",
                        "serve": "operator.course:serve",
                        "add": "operator.course:add",
                        "night": "operator.course:night",
                        "report": "operator.course:report",
                    }
                },
            ),
            "ratings": Group(
                "Rating lists. For the operator, on the server's machine.",
                {_COMMANDS: {"rebuild": "operator.ratings:rebuild"}},
            ),
            "db": Group(
                "Databases: checked, copied, pruned. For the operator, on the server's machine.",
                {
                    _COMMANDS: {
                        "check": "operator.db:check",
                        "backup": "operator.db:backup",
                        "copy": "operator.db:copy",
                        "prune": "operator.db:prune",
                    }
                },
            ),
        },
        _AT_A_SERVER: {
            "leaderboard": "remote.leaderboard:leaderboard",
            "rating-lists": "bots.history:rating_lists",
            "head-to-head": "bots.history:head_to_head",
            "watch": "remote.watch:watch",
            "challenge": "remote.challenge:challenge",
            "tournament": Group(
                "Tournaments: run one here, or organise one at a server.",
                {
                    _AT_A_SERVER: {
                        "create": "remote.tournament:create",
                        "join": "remote.tournament:join",
                        "withdraw": "remote.tournament:withdraw",
                        "start": "remote.tournament:start",
                        "extend": "remote.tournament:extend",
                        "pause": "remote.tournament:pause",
                        "cancel": "remote.tournament:cancel",
                        "show": "remote.tournament:show",
                        "verify": "remote.tournament_verify:verify",
                        "list": "remote.tournament:list_tournaments",
                        "watch": "remote.watch:watch",
                    },
                    _HERE: {"tables": "tables:tables", "run": "local.tournament:run"},
                },
            ),
            "game": Group(
                "Games that were played at a server.",
                {_COMMANDS: {"list": "remote.game:list_games", "show": "remote.game:show"}},
            ),
        },
        _BOTS: {
            "bot": Group(
                "Bots: run one at a server, ask one about a position, see which there are.",
                {
                    _COMMANDS: {
                        "run": "bots.run:run",
                        "submit": "bots.submit:submit",
                        "ask": "bots.bot:ask",
                        "list": "bots.bot:list_bots",
                        "register": "bots.bot:register",
                        "rename": "bots.bot:rename",
                        "retire": "bots.bot:retire",
                        "show": "bots.history:show",
                        "history": "bots.history:history",
                        "games": "bots.history:games",
                        "learn": "bots.tables:learn",
                        "check": "bots.check:check",
                        "new": "bots.new:new",
                        "header": "bots.check:header",
                        "gomocup": "bots.gomocup:gomocup",
                        "table": Group(
                            "Tables: files of ratings that the bot `table` plays from.",
                            {_COMMANDS: {"build": "bots.tables:build"}},
                        ),
                    }
                },
            )
        },
        FORMER_NAMES: {"gym": "local.estimate:estimate"},
    },
)
