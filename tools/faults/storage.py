"""Faults of the store, and of files of games."""

from tools.faults.fault import Fault

_STORE = "server/noughts_server/store"
_TESTS = ("tests/server/store", "tests/server/runtime")
_RECORDS = "server/noughts_server/records"
_RECORD_TESTS = ("tests/server/records", "tests/server/core", "tests/server/convert")

STORE = (
    Fault(
        name="result-of-stale-attempt",
        file=f"{_STORE}/games/results.py",
        before="if attempts.get((ordinal - 1) // unit_games) != game.attempt or ordinal > total:",
        after="if ordinal > total:",
        harm="A game of a referee that was considered dead is stored, although another one plays it again.",
        near=("tests/server/store/test_results.py",),
        wider=_TESTS,
    ),
    Fault(
        name="repeated-commit-reports-nothing",
        file=f"{_STORE}/games/results.py",
        before="    if again and duplicates:\n",
        after="    if again and duplicates and fresh:\n",
        harm="After a lost connection to the database, watchers never see the games of that commit.",
        near=("tests/server/store/test_results.py", "tests/server/store/test_matches.py"),
        wider=_TESTS,
    ),
    Fault(
        name="dropped-games-keep-scores",
        file=f"{_STORE}/games/results.py",
        before="_count_scores(connection, row, progress, later, -1)",
        after="_count_scores(connection, row, progress, later, 0)",
        harm="The scores of a decided test count games that were deleted.",
        near=("tests/server/store/test_matches.py",),
        wider=_TESTS,
    ),
    Fault(
        name="revocation-reaches-other-owners",
        file=f"{_STORE}/people/tokens.py",
        before=".where(created.c.made_by == doomed.c.id, same_owner)",
        after=".where(created.c.made_by == doomed.c.id)",
        harm="An organiser's revoked token takes the tokens of all owners with it.",
        near=("tests/server/store/test_tokens.py",),
        wider=_TESTS,
    ),
    Fault(
        name="request-id-of-another-token",
        file=f"{_STORE}/engine/idempotency.py",
        before="(requests.c.token_id == token_id, requests.c.request_id == request_id)",
        after="(requests.c.request_id == request_id,)",
        harm="A caller gets the answer to another owner's request with the same ID.",
        near=("tests/server/store/test_idempotency.py",),
        wider=("tests/server/store", "tests/server/services"),
    ),
    Fault(
        name="item-on-two-pages",
        file=f"{_STORE}/engine/pages.py",
        before="sort_key < last_key if descending",
        after="sort_key <= last_key if descending",
        harm="The last item of a page is also the first of the next one.",
        near=("tests/server/store/test_pages.py", "tests/server/store/test_tournaments.py"),
        wider=("tests/server/store", "tests/server/services"),
    ),
    Fault(
        name="sqlite-locks-late",
        file=f"{_STORE}/engine/sqlite.py",
        before='begin = "BEGIN IMMEDIATE" if writes else "BEGIN"',
        after='begin = "BEGIN"',
        harm="Two processes that write at the same time fail instead of waiting for each other.",
        near=("tests/server/store/test_database.py", "tests/server/store/test_turns.py"),
        wider=_TESTS,
    ),
    Fault(
        name="postgresql-writes-without-lock",
        file=f"{_STORE}/engine/postgresql.py",
        before="        if self._locks_database:\n",
        after="        if not self._locks_database:\n",
        harm="Two servers with one database overwrite each other's scores.",
        near=("tests/server/store/test_postgresql.py",),
        wider=("tests/server/store", "tests/cluster"),
    ),
    Fault(
        name="restarted-referee-skips-its-units",
        file=f"{_STORE}/tournaments/claims.py",
        before="return case((units.c.holder == holder, units.c.number.in_(list(holding))), else_=alive)",
        after="return case((units.c.holder == holder, units.c.holder.is_not(None)), else_=alive)",
        harm="Games that a referee held when it crashed are never played after its restart.",
        near=("tests/server/store/test_nodes.py", "tests/server/store/test_tournaments.py"),
        wider=("tests/server/store", "tests/cluster"),
    ),
)

RECORDS = (
    Fault(
        name="pgn-backslash-not-escaped",
        file=f"{_RECORDS}/pgn.py",
        before='text.replace("\\\\", "\\\\\\\\").replace(',
        after="text.replace(",
        harm="A name with two backslashes is another name after a PGN file is read.",
        near=("tests/server/records/test_pgn.py",),
        wider=_RECORD_TESTS,
    ),
    Fault(
        name="formula-after-a-space",
        file="server/noughts_server/core/plain_text.py",
        before="_FORMULA = re.compile(r\"(^|[;|\\n])(?=[\\s']*[",
        after='_FORMULA = re.compile(r"(^|[;|\\n])(?=[',
        harm="A bot's name such as ` =cmd()` runs as a formula in an organiser's spreadsheet.",
        near=("tests/server/core", "tests/server/records/test_csv_rows.py"),
        wider=_RECORD_TESTS,
    ),
    Fault(
        name="allowance-of-the-other-side",
        file="server/noughts_server/convert/games.py",
        before="second_allowance=None if second_allowance is None else _allowance_message(second_allowance)",
        after="second_allowance=None if second_allowance is None else _allowance_message(first_allowance)",
        harm="A game shows the network allowance of the first side for both.",
        near=("tests/server/convert",),
        wider=("tests/server/services", "tests/server/cli/options/test_margins.py"),
    ),
    Fault(
        name="contradicting-results-accepted",
        file=f"{_RECORDS}/pgn.py",
        before="if tag_result in RESULTS and final_results and final_results != [tag_result]:",
        after="if tag_result in RESULTS and final_results and tag_result not in final_results:",
        harm="A PGN game with two results after its moves counts as won by one of them.",
        near=("tests/server/records/test_pgn.py",),
        wider=_RECORD_TESTS,
    ),
    Fault(
        name="text-direction-not-removed",
        file="server/noughts_server/core/plain_text.py",
        before="\\u202a-\\u202e",
        after="",
        harm="A name can turn the rest of a line around and so show a different opponent.",
        near=("tests/server/core", "tests/server/records"),
        wider=_RECORD_TESTS,
    ),
)
