"""Faults of the referee, its children, and the runtime of a server."""

from tools.faults.fault import Fault

_ARBITER = "referee/noughts_referee/arbiter.py"
_DEADLINES = "referee/noughts_referee/deadlines.py"
_CHILDREN = "referee/noughts_referee/children"
_RUNTIME = "server/noughts_server/runtime"
_TESTS = ("tests/referee",)
_LOCK_TESTS = ("tests/referee/children",)
_RUNTIME_TESTS = ("tests/server/runtime", "tests/server/services")

REFEREE = (
    Fault(
        name="resumed-clocks-exchanged",
        file=_ARBITER,
        before="game.left_us = [begun.first_clock_us, begun.second_clock_us]",
        after="game.left_us = [begun.second_clock_us, begun.first_clock_us]",
        harm="After a restart each side plays with the clock of the other.",
        near=("tests/referee/test_resumed_games.py",),
        wider=_TESTS,
    ),
    Fault(
        name="sides-change-without-clocks",
        file="referee/noughts_referee/game.py",
        before="        self.left_us = self.left_us[::-1]\n",
        after="",
        harm="If sides change in the opening, a side plays with the base time of the other.",
        near=("tests/referee/test_arbiter_agreement.py",),
        wider=_TESTS,
    ),
    Fault(
        name="void-end-not-announced",
        file=_ARBITER,
        before="if player.stored_ends and game.result is not Result.VOID:",
        after="if player.stored_ends:",
        harm="A bot that waits for stored results never learns that a void game has ended.",
        near=("tests/referee/test_stored_ends.py",),
        wider=_TESTS,
    ),
    Fault(
        name="reconnect-restarts-clocks",
        file=_DEADLINES,
        before="self._resent = {game for game in self._outbox_games() if game in self._written}",
        after="self._resent = set()",
        harm="A bot gains the whole time of its move by connecting again.",
        near=("tests/referee/test_reconnect.py",),
        wider=_TESTS,
    ),
    Fault(
        name="early-answer-is-free",
        file=_DEADLINES,
        before="written[game] = min(arrived, since)",
        after="written[game] = arrived",
        harm="A bot that reads the public feed and delays its own frames thinks without using its time.",
        near=("tests/referee/test_silence.py", "tests/referee/test_time_limits.py"),
        wider=_TESTS,
    ),
    Fault(
        name="deleted-files-are-free",
        file=f"{_CHILDREN}/watch.py",
        before="            size += deleted_bytes(processes, limits.file_bytes)\n",
        after="",
        harm="A bot fills the disk with files that it has deleted and holds open.",
        near=("tests/referee/children/sandbox", "tests/referee/children/test_scratch.py"),
        wider=_LOCK_TESTS,
    ),
    Fault(
        name="shared-folder-is-readable",
        file=f"{_CHILDREN}/sandbox.py",
        before="        readable = (real,)\n",
        after="        readable = (folder,)\n",
        harm="A bot whose file lies in a home folder can read the whole folder.",
        near=("tests/referee/children/sandbox",),
        wider=_LOCK_TESTS,
    ),
)

RUNTIME = (
    Fault(
        name="signature-without-time",
        file=f"{_RUNTIME}/webhooks.py",
        before='b"%d.%b" % (timestamp, body)',
        after="body",
        harm="An old request to a webhook can be sent again with a new time.",
        near=("tests/server/runtime/test_webhooks.py",),
        wider=_RUNTIME_TESTS,
    ),
    Fault(
        name="webhook-reaches-own-machine",
        file=f"{_RUNTIME}/public_addresses.py",
        before="addresses = [address for address in public_addresses if not is_own(address)]",
        after="addresses = public_addresses",
        harm="A webhook reaches services of the server's own machine at its public address.",
        near=("tests/server/runtime/test_public_addresses.py",),
        wider=_RUNTIME_TESTS,
    ),
    Fault(
        name="backlog-without-limit",
        file=f"{_RUNTIME}/recorder.py",
        before="while self.backlog > self.backlog_limit:",
        after="while False:",
        harm="If the database is slow, finished games fill the memory of the server.",
        near=("tests/server/runtime/test_recorder.py",),
        wider=_RUNTIME_TESTS,
    ),
    Fault(
        name="revoked-token-keeps-games",
        file=f"{_RUNTIME}/sessions.py",
        before="                    wire.close(closed())\n                    wire.dismiss()\n",
        after="                    wire.close(closed())\n",
        harm="The opponents of a bot whose token was revoked wait for its reconnect timeout.",
        near=("tests/server/services/test_scopes.py", "tests/server/runtime/test_sessions.py"),
        wider=_RUNTIME_TESTS,
    ),
    Fault(
        name="absences-add-up",
        file=f"{_RUNTIME}/inactivity.py",
        before="checks_before = self._checks\n        self._checks = {}",
        after="checks_before = self._checks",
        harm="A bot that was away several times for a short while is withdrawn.",
        near=("tests/server/runtime/test_inactivity.py",),
        wider=_RUNTIME_TESTS,
    ),
)
