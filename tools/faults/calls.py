"""Faults of the services, the pairings, and the command line."""

from tools.faults.fault import Fault

_SERVICES = "server/noughts_server/services"
_TESTS = ("tests/server/services",)
_COMPETITION = "server/noughts_server/competition"
_PAIRING_TESTS = ("tests/server/competition", "tests/server/store")
_CLI = "server/noughts_server/cli"
_CLI_TESTS = ("tests/server/cli",)

SERVICES = (
    Fault(
        name="concurrent-calls-without-limit",
        file=f"{_SERVICES}/admission.py",
        before='limiter.holding("token_calls", caller.owner, "concurrent calls with your tokens")',
        after="ExitStack()",
        harm="One owner can have any number of calls at once.",
        near=("tests/server/services/test_bounds.py",),
        wider=_TESTS,
    ),
    Fault(
        name="request-can-take-forever",
        file=f"{_SERVICES}/interceptor.py",
        before="async with asyncio.timeout(REQUEST_SECONDS):",
        after="async with asyncio.timeout(None):",
        harm="A client that never sends its request keeps its place for ever.",
        near=("tests/server/services/test_bounds.py",),
        wider=("tests/server/services", "tests/chaos/test_attacks.py"),
    ),
    Fault(
        name="any-token-names-visitors",
        file=f"{_SERVICES}/admission.py",
        before='        if not caller.permits(SITE):\n            return ""\n',
        after="",
        harm="Every owner can evade limits by naming a new visitor for each call.",
        near=("tests/server/services/test_answers.py", "tests/server/services/test_callers.py"),
        wider=_TESTS,
    ),
    Fault(
        name="failed-creation-is-charged",
        file=f"{_SERVICES}/creations.py",
        before='        limiter.charge("settings_bytes", caller.owner_id, -size)\n        raise\n',
        after="        raise\n",
        harm="Requests that fail use up the daily quota of their owner.",
        near=("tests/server/services/test_creations.py",),
        wider=_TESTS,
    ),
    Fault(
        name="ticket-opens-every-method",
        file=f"{_SERVICES}/admission.py",
        before="if access is Access.PLAY and secret and self._sessions.has_ticket(secret):",
        after="if secret and self._sessions.has_ticket(secret):",
        harm="A program with a one-time ticket can call every public method without any limit.",
        near=("tests/server/services/test_bounds.py", "tests/server/services/test_scopes.py"),
        wider=("tests/server/services", "tests/server/runtime"),
    ),
    Fault(
        name="large-request-costs-as-a-small-one",
        file=f"{_SERVICES}/interceptor.py",
        before="LARGE_WEIGHT if most == LARGE_REQUEST else 1",
        after="1",
        harm="One caller can keep the server busy with large requests.",
        near=("tests/server/services/test_bounds.py",),
        wider=("tests/server/services", "tests/chaos/test_attacks.py"),
    ),
)

COMPETITION = (
    Fault(
        name="swiss-bye-twice",
        file=f"{_COMPETITION}/formats/swiss.py",
        before="self._met[entry].add(_BYE)",
        after="pass",
        harm="In a Swiss the last bot gets the bye in every round.",
        near=("tests/server/competition/test_swiss.py",),
        wider=_PAIRING_TESTS,
    ),
    Fault(
        name="swiss-search-too-narrow",
        file=f"{_COMPETITION}/formats/swiss.py",
        before="return 4 * max(map(len, self._met.values())) + 2",
        after="return _NEARBY",
        harm="A round of a large Swiss pairs bots whose scores differ more than necessary, or it ends early.",
        near=("tests/server/competition/test_swiss.py",),
        wider=_PAIRING_TESTS,
    ),
    Fault(
        name="loss-of-rating-not-bounded",
        file=f"{_COMPETITION}/elo.py",
        before="if not -MOST_MOVED <= total <= MOST_MOVED:",
        after="if total > MOST_MOVED:",
        harm="An owner can lower the rating of another owner's bot without limit, with games against their own bots.",
        near=("tests/server/competition/test_elo.py", "tests/server/store/test_suspicious.py"),
        wider=_PAIRING_TESTS,
    ),
    Fault(
        name="danish-bye-for-the-last",
        file=f"{_COMPETITION}/formats/danish.py",
        before="min(reversed(order), key=entries_with_byes.count)",
        after="order[-1]",
        harm="The last bot of a Danish tournament gets the bye again and again.",
        near=("tests/server/competition/test_danish.py",),
        wider=_PAIRING_TESTS,
    ),
    Fault(
        name="gauntlet-sides-in-a-row",
        file=f"{_COMPETITION}/formats/gauntlet.py",
        before="if (cycle + place) % 2 else",
        after="if cycle % 2 else",
        harm="In a gauntlet the first entry has one side against all opponents before it changes.",
        near=("tests/server/competition/test_gauntlet.py",),
        wider=_PAIRING_TESTS,
    ),
)

CLI = (
    Fault(
        name="token-file-readable-by-all",
        file=f"{_CLI}/commands/token/tokens.py",
        before="os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600",
        after="os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644",
        harm="Every user of the machine can read a new token.",
        near=("tests/server/cli/commands/token/test_tokens.py",),
        wider=_CLI_TESTS,
    ),
    Fault(
        name="running-run-is-removed",
        file="server/noughts_server/local/kept_runs.py",
        before="            lock_file = locked(lock)\n",
        after="            lock_file = None\n",
        harm="Removing interrupted runs deletes the database of a running one.",
        near=("tests/server/cli/commands/db/test_runs.py",),
        wider=_CLI_TESTS,
    ),
    Fault(
        name="dry-run-deletes",
        file=f"{_CLI}/commands/db/prune.py",
        before="remaining = 0 if dry_run else ",
        after="remaining = ",
        harm="`noughts db prune --dry-run` deletes.",
        near=("tests/server/cli/commands/db/test_databases.py",),
        wider=_CLI_TESTS,
    ),
    Fault(
        name="sprt-counts-reversed",
        file=f"{_CLI}/commands/sprt.py",
        before="_show(output, test, (losses, draws, wins),",
        after="_show(output, test, (wins, draws, losses),",
        harm="`noughts sprt` accepts a change that lost.",
        near=("tests/server/cli/commands/test_sprt.py",),
        wider=_CLI_TESTS,
    ),
    Fault(
        name="refused-owner-leaves-database",
        file=f"{_CLI}/commands/token/create.py",
        before='    check_name("owner", owner)\n',
        after="",
        harm="A mistyped owner creates an empty database, which `serve` then uses.",
        near=("tests/server/cli/commands/token/test_tokens.py",),
        wider=_CLI_TESTS,
    ),
)
