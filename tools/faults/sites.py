"""Faults of the website, of clusters, and of submitted bots."""

from tools.faults.fault import Fault

_WEB = "server/noughts_server/web"
_TESTS = ("tests/server/web",)
_HOSTING = "server/noughts_server/hosting"
_HOSTING_TESTS = ("tests/server/hosting",)
_CLUSTER = "server/noughts_server/cluster"
_CLUSTER_TESTS = ("tests/server/cluster", "tests/cluster")

WEB = (
    Fault(
        name="form-without-secret",
        file=f"{_WEB}/signin.py",
        before="if not hmac.compare_digest(secret.encode(), visitor.csrf.encode()):",
        after="if secret and not hmac.compare_digest(secret.encode(), visitor.csrf.encode()):",
        harm="A page of another site can act for a signed-in visitor.",
        near=("tests/server/web/test_signin.py",),
        wider=_TESTS,
    ),
    Fault(
        name="sign-in-leads-elsewhere",
        file=f"{_WEB}/signin.py",
        before=' and address.isprintable() and "\\\\" not in address',
        after=" and address.isprintable()",
        harm="A link to the sign-in page can lead to another site afterwards.",
        near=("tests/server/web/test_signin.py",),
        wider=_TESTS,
    ),
    Fault(
        name="title-of-picture-not-escaped",
        file="server/noughts_server/drawing/board_svg.py",
        before="<title>{escape(title)}</title>",
        after="<title>{title}</title>",
        harm="A label with a tag runs scripts in the picture of a game.",
        near=("tests/server/drawing/test_board_svg.py",),
        wider=_TESTS,
    ),
    Fault(
        name="unread-bytes-never-released",
        file=f"{_WEB}/visitors.py",
        before="            add(self._connections.unread, self._address, -self._unread)\n",
        after="",
        harm="Visitors at a slow line are locked out after some pages.",
        near=("tests/server/web/test_bounds.py", "tests/server/web/test_slow_browsers.py"),
        wider=_TESTS,
    ),
    Fault(
        name="anyone-names-an-address",
        file=f"{_WEB}/visitors.py",
        before="if client is not None and client[0] in self._proxies:",
        after="if client is not None:",
        harm="A visitor evades every limit by sending the header of a proxy.",
        near=("tests/server/web/test_signin.py",),
        wider=_TESTS,
    ),
    Fault(
        name="numbers-of-games-begin-again",
        file=f"{_WEB}/downloads.py",
        before="                before += len(games)\n",
        after="",
        harm="In a downloaded file the games of each page are numbered from 1, and CSV repeats its heading.",
        near=("tests/server/web/test_downloads.py",),
        wider=_TESTS,
    ),
)

HOSTING = (
    Fault(
        name="links-in-zip-accepted",
        file=f"{_HOSTING}/programs.py",
        before="if kind not in (0, stat.S_IFREG, stat.S_IFDIR):",
        after="if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):",
        harm="A submitted zip file with symbolic links is accepted, and its bot does not start.",
        near=("tests/server/hosting/test_programs.py",),
        wider=_HOSTING_TESTS,
    ),
    Fault(
        name="unpacked-size-without-limit",
        file=f"{_HOSTING}/programs.py",
        before="                        bytes_left -= len(data)\n",
        after="",
        harm="A small zip file fills the disk.",
        near=("tests/server/hosting/test_programs.py",),
        wider=_HOSTING_TESTS,
    ),
    Fault(
        name="charge-lost-with-the-database",
        file=f"{_HOSTING}/processor_time.py",
        before="            self._unsaved += charges\n",
        after="",
        harm="If the database is unavailable, the processor time of submitted bots is free.",
        near=("tests/server/hosting/test_processor_time.py",),
        wider=_HOSTING_TESTS,
    ),
    Fault(
        name="charge-lost-while-saving",
        file=f"{_HOSTING}/processor_time.py",
        before="partial(processor_time, day=day)) + self._unsaved",
        after="partial(processor_time, day=day))",
        harm="What bots use while the database answers is not counted until the next look.",
        near=("tests/server/hosting/test_processor_time.py",),
        wider=_HOSTING_TESTS,
    ),
    Fault(
        name="spent-time-ends-no-game",
        file=f"{_HOSTING}/submitted.py",
        before="is_spent = self._time.is_spent(each.submission.owner_id)",
        after="is_spent = False",
        harm="Bots of an owner without processor time play on until their games end.",
        near=("tests/server/hosting/test_charged_processor_time.py",),
        wider=_HOSTING_TESTS,
    ),
    Fault(
        name="last-seconds-not-charged",
        file=f"{_HOSTING}/submitted.py",
        before="        finally:\n            charge_rest()\n",
        after="        finally:\n            playing.process = None\n",
        harm="The processor time of a process between the last look and its end is free.",
        near=("tests/server/hosting/test_charged_processor_time.py",),
        wider=_HOSTING_TESTS,
    ),
)

CLUSTER = (
    Fault(
        name="returned-referee-waits",
        file=f"{_CLUSTER}/remote_referee.py",
        before="for version in self._players:",
        after="for version in ():",
        harm="Games of a referee that was silent for a while stand still until bots lose on time.",
        near=("tests/server/cluster",),
        wider=_CLUSTER_TESTS,
    ),
    Fault(
        name="returned-referee-keeps-units",
        file=f"{_CLUSTER}/supply.py",
        before="        while await self._release_units():\n",
        after="        while supply.referee.count_running(supply.key):\n",
        harm="A tournament stands still after a referee was frozen: nobody plays the units that it holds.",
        near=("tests/server/cluster/test_supply.py",),
        wider=_CLUSTER_TESTS,
    ),
    Fault(
        name="differing-game-continues",
        file=f"{_CLUSTER}/remote_referee.py",
        before="if abs(game.ply - ply) <= 1 and moves_agree:",
        after="if abs(game.ply - ply) <= 1:",
        harm="A bot continues a position that its referee does not have, and loses by an illegal move.",
        near=("tests/server/cluster",),
        wider=_CLUSTER_TESTS,
    ),
    Fault(
        name="moved-bot-gets-new-time",
        file=f"{_CLUSTER}/remote_referee.py",
        before="if spent and spent[row] and player.wire is not None:",
        after="if spent and spent[row] < 0 and player.wire is not None:",
        harm="A bot gains the time of its move by connecting to another server of the cluster.",
        near=("tests/server/cluster",),
        wider=_CLUSTER_TESTS,
    ),
    Fault(
        name="stalled-node-declares-others-dead",
        file=f"{_CLUSTER}/silence.py",
        before="self._seconds[node] += min(seconds, 2 * BEAT_SECONDS)",
        after="self._seconds[node] += seconds",
        harm="A server that was frozen for some seconds drops the games of all referees.",
        near=("tests/server/cluster/test_silence.py",),
        wider=_CLUSTER_TESTS,
    ),
    Fault(
        name="old-login-wins",
        file=f"{_CLUSTER}/presence.py",
        before="if bot.fresh and bot.online:",
        after="if bot.fresh and not bot.online:",
        harm="A bot that moved to another server is online at both, and gets each question twice.",
        near=("tests/server/cluster",),
        wider=_CLUSTER_TESTS,
    ),
)
