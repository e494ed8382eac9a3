"""Every command: where the help lists it, and the function that runs it.

To add one, write a function with a docstring in `bots/`, `local/`, `operator/` or `remote/`, declare it with `command`,
and name it here. Its module is imported when the command runs.
"""

from collections.abc import Mapping
from typing import NamedTuple

_START = "Start here"
_BOTS = "Bots"
_LOCAL = "Local games"
_USE = "Use a server"
_RUN = "Run a server"
_ANALYSIS = "Analysis"
_COMMANDS = "Commands"
FORMER_NAMES = "Former names"
"""Commands under this heading work, but no help lists them."""


class Group(NamedTuple):
    """A command that only contains commands."""

    summary: str
    panels: "Mapping[str, Mapping[str, str | Group]]"
    """By heading and name: a group, or a command's function as `MODULE:FUNCTION` under `noughts_server.cli`."""


def _group(summary: str, **commands: str | Group) -> Group:
    """Return a group whose help has a single list."""
    return Group(summary, {_COMMANDS: commands})


TREE = Group(
    "Run tournaments between bots that play k-in-a-row games, on this machine or on a server.\n\n"
    "Commands print text; with `--format json` they print one JSON document, or JSON lines. Exit codes: 0 done, "
    "1 failed, 2 usage error, 130 interrupted.",
    {
        _START: {"demo": "local.tournament:demo", "match": "local.tournament:match", "play": "local.play:play"},
        _BOTS: {
            "bot": _group(
                "Write, check, run, submit and look up bots.",
                new="bots.new:new",
                check="bots.check:check",
                run="bots.run:run",
                submit="bots.submit:submit",
                ask="bots.bot:ask",
                list="bots.bot:list_bots",
                show="bots.history:show",
                history="bots.history:history",
                games="bots.history:games",
                register="bots.bot:register",
                rename="bots.bot:rename",
                retire="bots.bot:retire",
                learn="bots.tables:learn",
                header="bots.check:header",
                gomocup="bots.gomocup:gomocup",
                table=_group("Write the files that the bot `table` plays from.", build="bots.tables:build"),
            ),
            "estimate": "local.estimate:estimate",
        },
        _LOCAL: {
            "variants": "local.variants:variants",
            "records": _group(
                "Convert, check, list, show and sample game files.",
                convert="local.records:convert",
                check="local.records:check",
                list="local.records:list_games",
                show="local.records:show",
                sample="local.records:sample",
            ),
            "solve": "local.solve:solve_position",
            "rules": _group("Apply the rules to positions in a file.", check="local.rules:check"),
        },
        _USE: {
            "tournament": Group(
                "Run a tournament on this machine, or organise one on a server.",
                {
                    _LOCAL: {"run": "local.tournament:run", "tables": "tables:tables"},
                    _USE: {
                        "create": "remote.tournament:create",
                        "join": "remote.tournament:join",
                        "withdraw": "remote.tournament:withdraw",
                        "start": "remote.tournament:start",
                        "extend": "remote.tournament:extend",
                        "pause": "remote.tournament:pause",
                        "cancel": "remote.tournament:cancel",
                        "wait": "remote.tournament:wait",
                        "show": "remote.tournament:show",
                        "verify": "remote.tournament_verify:verify",
                        "list": "remote.tournament:list_tournaments",
                        "watch": "remote.watch:watch",
                    },
                },
            ),
            "test": Group(
                "Test a bot version against another one on a server.",
                {
                    _COMMANDS: {
                        "create": "remote.test:create",
                        "list": "remote.test:list_tests",
                        "show": "remote.test:show",
                        "stop": "remote.test:stop",
                        "resume": "remote.test:resume",
                        "wait": "remote.test:wait",
                    }
                },
            ),
            "watch": "remote.watch:watch",
            "challenge": "remote.challenge:challenge",
            "leaderboard": "remote.leaderboard:leaderboard",
            "rating-lists": "bots.history:rating_lists",
            "head-to-head": "bots.history:head_to_head",
            "game": _group(
                "List, show and explain games on a server.",
                list="remote.game:list_games",
                show="remote.game:show",
                explain="local.explain:explain",
            ),
            "mcp": "operator.mcp:mcp",
            "webhook": _group(
                "Let a server report events to your own address, Discord or Slack.",
                create="remote.webhook:create",
                list="remote.webhook:list_webhooks",
                test="remote.webhook:test",
                delete="remote.webhook:delete",
            ),
        },
        _RUN: {
            "serve": "operator.serve:serve",
            "live": "operator.live:live",
            "web": "operator.web:web",
            "referee": "operator.referee:referee",
            "nodes": "operator.nodes:nodes",
            "status": "operator.status:status",
            "health": "operator.health:health",
            "token": _group(
                "Create, list and revoke tokens in a database, or your own tokens on a server (--server).",
                create="operator.token:create",
                list="operator.token:list_tokens",
                revoke="operator.token:revoke",
            ),
            "course": _group(
                "Run a league for a class, with a tournament each night.",
                init="operator.course:init",
                serve="operator.course:serve",
                add="operator.course:add",
                night="operator.course:night",
                report="operator.course:report",
            ),
            "ratings": _group(
                "Maintain the rating lists of a database, on the server's machine.", rebuild="operator.ratings:rebuild"
            ),
            "db": _group(
                "Check, back up, copy and prune databases, on the server's machine.",
                check="operator.db:check",
                backup="operator.db:backup",
                copy="operator.db:copy",
                prune="operator.db:prune",
                explorer=_group("Maintain the opening explorer.", rebuild="operator.db:rebuild_explorer"),
            ),
        },
        _ANALYSIS: {"report": "report:report", "rate": "local.rate:rate", "sprt": "local.sprt:sprt"},
        FORMER_NAMES: {"gym": "local.estimate:estimate"},
    },
)
