"""The result of each fault of each kind of bot, in one table.

`test_fault_matrix.py` plays each cell, and compares `docs/reference/faults.md` with this table.
"""

from typing import NamedTuple

from noughts_referee.children.running_child import ChildSettings

KINDS = ("exec", "json", "lines", "py", "dll", "wasm", "gomocup", "remote")
CHILDREN = KINDS[:-1]
"""Kinds of bots that the referee starts."""


class Verdict(NamedTuple):
    """The ending of such a bot's games, and the reason that its owner reads."""

    termination: str
    """The termination of each lost game. `plays on`: the fault loses no game; `waits`: the games do not end."""
    reason: str = ""
    """A part of the reason for the end of its process or stream; empty: it continues."""
    note: str = ""
    """A part of the note that is stored with at least one of its lost games."""


class NotApplicable(NamedTuple):
    """This kind of bot cannot have the fault."""

    why: str


Cell = Verdict | NotApplicable

PATIENT = ChildSettings(start=60.0, silence=60.0, stop=3.0, heartbeat=2.0)
"""For bots that end or play on by themselves."""
QUICK = ChildSettings(start=60.0, silence=0.5, stop=0.2, restart=0.5, heartbeat=0.4)
"""For bots that hang."""
SILENT_ONLY = ChildSettings(start=60.0, silence=0.5, stop=0.2, restart=0.5, heartbeat=5.0)
"""For bots that must be found by their silence during a turn, not by missed heartbeats, also on a busy machine."""
QUICK_TO_END = ChildSettings(start=60.0, silence=60.0, stop=0.2, heartbeat=1.0)
"""For bots that do not end after the match."""
NEVER = ChildSettings(start=0.4, silence=60.0, stop=0.2)
"""For bots that never start."""


class Fault(NamedTuple):
    """A row of the table."""

    what: str
    """A phrase that follows "a bot that"."""
    habit: str
    cells: tuple[Cell, Cell, Cell, Cell, Cell]
    """Verdicts of `exec:`, `py:`, `dll:`, `gomocup:` and remote bots. Those of other kinds: JSON, LINES, WASM."""
    time: str = "none"
    times: ChildSettings = PATIENT
    in_both_modes: bool = False
    """Also play it without the sandbox. A few rows are enough, because the same code gives the verdicts."""

    def cell(self, kind: str) -> Cell:
        if kind == "json":
            return JSON.get(self.habit, self.cells[0])
        if kind == "lines":
            return LINES.get(self.what) or LINES[self.habit]
        if kind == "wasm":
            return WASM.get(self.what) or WASM[self.habit]
        return self.cells[("exec", "py", "dll", "gomocup", "remote").index(kind)]


PLAYS_ON = Verdict("plays on")
ILLEGAL = Verdict("illegal_move")
LATE = Verdict("timeout")
RESIGNS = Verdict("resigned")
WAITS = Verdict("waits")
LOST = Verdict("disconnected")
SILENT = Verdict("crashed", "silent for 0.5 s during its turn")
HUNG = Verdict("timeout", "hung: it had nothing to answer")
THINKS_ON = Verdict("timeout", "thought for 0.5 s about a game that was over")
NOT_STARTED = Verdict("crashed", "did not say Hello within 0.4 s")

ELSEWHERE = NotApplicable("it runs on its author's machine")
LIKE_SILENCE = NotApplicable("to the server it looks like silence")
NOT_ENDED = NotApplicable("the referee cannot end a remote process")
NOT_STARTED_HERE = NotApplicable("the referee does not start it")
HOST_WRITES = NotApplicable("its host process writes the frames")
HOST_READS = NotApplicable("its host process reads the frames")
NO_TCP = NotApplicable("it uses pipes, not TCP")
NO_TICKET = NotApplicable("it uses pipes and needs no ticket")
NOT_PYTHON = NotApplicable("only Python exceptions reach the host process")


def crash(reason: str, note: str = "") -> Verdict:
    return Verdict("crashed", reason, note or reason)


def cut_off(reason: str) -> Verdict:
    """Return the verdict of a remote bot whose stream the server ends."""
    return Verdict("disconnected", reason)


def refusal(reason: str) -> Verdict:
    """Return the verdict of a remote bot that the server refuses."""
    return Verdict("waits", reason)


FAULTS = (
    Fault(
        "crashes",
        "crash",
        (
            crash("ended with exit code 3", "what a pity"),
            crash("ended with exit code 3", "what a pity"),
            crash("was ended by signal 6 (SIGABRT)"),
            crash("ended with exit code 3", "what a pity"),
            LOST,
        ),
        in_both_modes=True,
    ),
    Fault(
        "accesses invalid memory (SIGSEGV)",
        "segfault",
        (
            crash("was ended by signal 11 (SIGSEGV)", "a pointer to nowhere"),
            crash("was ended by signal 11 (SIGSEGV)", "a pointer to nowhere"),
            crash("was ended by signal 11 (SIGSEGV)", "a pointer to nowhere"),
            crash("was ended by signal 11 (SIGSEGV)", "a pointer to nowhere"),
            NotApplicable("to the server it looks like any other crash"),
        ),
    ),
    Fault(
        "calls `exit()`",
        "exit",
        (
            crash("ended with exit code 7", "good bye"),
            crash("ended with exit code 7", "good bye"),
            crash("ended with exit code 7", "good bye"),
            crash("ended with exit code 7", "good bye"),
            LOST,
        ),
    ),
    Fault(
        "exits right after a move",
        "leave after a move",
        (
            crash("ended with exit code 0"),
            crash("ended with exit code 0"),
            crash("ended with exit code 0"),
            crash("ended with exit code 0"),
            LOST,
        ),
    ),
    Fault(
        "raises an exception",
        "raise",
        (
            NOT_PYTHON,
            RESIGNS._replace(note="RuntimeError: lost my way"),
            NOT_PYTHON,
            NOT_PYTHON,
            NotApplicable("the referee does not see its exceptions; our SDK resigns"),
        ),
    ),
    Fault("hangs, without a clock", "hang", (SILENT, SILENT, SILENT, SILENT, WAITS), times=SILENT_ONLY),
    Fault(
        "hangs and ignores SIGTERM",
        "hang ignoring SIGTERM",
        (SILENT, SILENT, SILENT, SILENT, NOT_ENDED),
        times=SILENT_ONLY,
        in_both_modes=True,
    ),
    Fault("is stopped (SIGSTOP)", "stop", (SILENT, SILENT, SILENT, SILENT, LIKE_SILENCE), times=SILENT_ONLY),
    Fault("loops", "loop", (HUNG, HUNG, HUNG, THINKS_ON, LIKE_SILENCE), time="0.5/move", times=QUICK),
    Fault("is silent, with a clock", "hang", (HUNG, HUNG, HUNG, THINKS_ON, LATE), time="0.5/move", times=QUICK),
    Fault("answers late", "late", (LATE, LATE, LATE, LATE, LATE), time="0.5/move"),
    Fault(
        "places a stone off the board",
        "off the board",
        (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL._replace(note="30,30 is not a point on the board"), ILLEGAL),
    ),
    Fault("places a stone on a taken cell", "occupied", (ILLEGAL,) * 5, in_both_modes=True),
    Fault(
        "writes endless output",
        "endless output",
        (crash("sent 1,001 unrequested frames"), HUNG, HUNG, THINKS_ON, LATE),
        time="0.5/move",
        times=QUICK,
    ),
    Fault(
        "writes a line, or a frame, of 50 MB",
        "50 MB",
        (
            crash("announced an oversized message: got 50000000 bytes", "what it sent began with"),
            PLAYS_ON,
            PLAYS_ON,
            PLAYS_ON,
            NotApplicable("the server refuses it by its announced length: see the frame above 2 MiB"),
        ),
    ),
    Fault(
        "sends a frame one byte larger than 2 MiB",
        "large frame",
        (
            crash("announced an oversized message: got 2097153 bytes", "what it sent began with"),
            HOST_WRITES,
            HOST_WRITES,
            HOST_WRITES,
            cut_off("RESOURCE_EXHAUSTED"),
        ),
    ),
    Fault(
        "sends an invalid answer",
        "no answer",
        (
            crash("sent 5 bytes that are not a PlayRequest", "what it sent began with b'hello'"),
            RESIGNS._replace(note="the centre"),
            NotApplicable("it can return only a number; a negative one resigns"),
            crash("silent for 2 s during its turn", "my move is h8"),
            cut_off("INVALID_ARGUMENT"),
        ),
        times=ChildSettings(start=60.0, silence=2.0, stop=0.2, restart=0.5),
    ),
    Fault(
        "sends columns that do not match",
        "uneven columns",
        (crash("was cut off: "), HOST_WRITES, HOST_WRITES, HOST_WRITES, cut_off("COLUMNS_UNEVEN")),
    ),
    Fault(
        "answers 100 questions that nobody asked",
        "unknown games",
        (crash("was cut off: "), HOST_WRITES, HOST_WRITES, HOST_WRITES, cut_off("TOO_MANY_COMPLAINTS")),
    ),
    Fault(
        "prints to its standard output",
        "print",
        (
            crash("announced an oversized message: ", "what it sent began with b'MESSAGE My move is the centre"),
            PLAYS_ON,
            PLAYS_ON,
            PLAYS_ON,
            NotApplicable("the referee does not see its output"),
        ),
    ),
    Fault(
        "closes its standard input",
        "closes its input",
        (
            crash("closed its standard input"),
            HOST_READS,
            HOST_READS,
            NotApplicable("it looks like a bot that hangs"),
            NotApplicable("it has a stream, which it can only close or not read"),
        ),
        times=QUICK_TO_END,
    ),
    Fault(
        "stops reading",
        "stops reading",
        (
            NotApplicable("it looks like a bot that hangs"),
            HOST_READS,
            HOST_READS,
            NotApplicable("it looks like a bot that hangs"),
            LATE,
        ),
        time="0.3/move",
    ),
    Fault("is behind half-open TCP", "half-open", (NO_TCP, NO_TCP, NO_TCP, NO_TCP, LATE), time="0.3/move"),
    Fault("takes 2 GB of memory", "memory", (PLAYS_ON, PLAYS_ON, PLAYS_ON, PLAYS_ON, ELSEWHERE)),
    Fault("forks endlessly", "fork bomb", (PLAYS_ON, PLAYS_ON, PLAYS_ON, PLAYS_ON, ELSEWHERE)),
    Fault(
        "leaves a process behind",
        "leaves a process",
        (
            crash("ended with exit code 4"),
            PLAYS_ON,
            PLAYS_ON,
            crash("ended with exit code 4"),
            ELSEWHERE,
        ),
    ),
    Fault("reads and writes files outside its folder", "files", (PLAYS_ON, PLAYS_ON, PLAYS_ON, PLAYS_ON, ELSEWHERE)),
    Fault("connects to the network", "network", (PLAYS_ON, PLAYS_ON, PLAYS_ON, PLAYS_ON, ELSEWHERE)),
    Fault(
        "ignores the end of the match",
        "ignores the end",
        (PLAYS_ON, PLAYS_ON, PLAYS_ON, PLAYS_ON, NOT_ENDED),
        times=QUICK_TO_END,
    ),
    Fault("is slow to start", "slow start", (PLAYS_ON,) * 5),
    Fault(
        "never starts",
        "never starts",
        (NOT_STARTED, NOT_STARTED, NOT_STARTED, crash("did not answer START 5 within 0.4 s"), WAITS),
        times=NEVER,
    ),
    Fault(
        "exits at once, three times",
        "dies at once",
        (
            crash("ended with exit code 9", "no licence found"),
            crash("ended with exit code 9", "no licence found"),
            crash("ended with exit code 9", "no licence found"),
            crash("ended with exit code 9", "no licence found"),
            NOT_STARTED_HERE,
        ),
    ),
    Fault(
        "sends a first frame without hello",
        "no hello",
        (
            crash("sent the wrong first frame"),
            HOST_WRITES,
            HOST_WRITES,
            HOST_WRITES,
            Verdict("waits", "INVALID_ARGUMENT"),
        ),
    ),
    Fault(
        "uses another protocol version",
        "old protocol",
        (crash("sent an invalid hello"), HOST_WRITES, HOST_WRITES, HOST_WRITES, refusal("PROTOCOL_UNSUPPORTED")),
    ),
    Fault(
        "logs in with a wrong ticket",
        "wrong ticket",
        (NO_TICKET, NO_TICKET, NO_TICKET, NO_TICKET, refusal("UNAUTHENTICATED")),
    ),
)

NO_JSON = "which is not a PlayRequest in JSON"
TOO_LONG = "wrote a line of more than 2,097,152 bytes"
JSON: dict[str, Cell] = {
    "50 MB": crash(TOO_LONG, "what it sent began with"),
    "large frame": crash(TOO_LONG, "what it sent began with"),
    "no answer": crash(NO_JSON, "what it sent began with b'hello'"),
    "print": crash(NO_JSON, "what it sent began with b'MESSAGE My move is the centre"),
}
"""Verdicts by habit of programs that speak JSON, `exec{frames=json}:`; the others equal those of frames."""

LIKE_HANGING = NotApplicable("it looks like a bot that hangs")
LINES: dict[str, Cell] = {
    "crash": crash("ended with exit code 3", "what a pity\nthe program has ended with exit code 3"),
    "segfault": crash("ended with exit code 139", "the program was ended by signal 11"),
    "exit": crash("ended with exit code 7", "good bye\nthe program has ended with exit code 7"),
    "leave after a move": crash("ended with exit code 0", "the program has ended with exit code 0"),
    "raise": NOT_PYTHON,
    "hang": SILENT,
    "hang ignoring SIGTERM": SILENT,
    "stop": SILENT,
    "is silent, with a clock": HUNG,
    "loop": HUNG,
    "late": LATE,
    "off the board": ILLEGAL,
    "occupied": ILLEGAL,
    "endless output": RESIGNS._replace(note="the program answered 'MESSAGE once more'"),
    "50 MB": RESIGNS._replace(note="the program answered with a line of 4,096 bytes or more"),
    "large frame": HOST_WRITES,
    "no answer": RESIGNS._replace(note="the program answered 'my move is h8'"),
    "uneven columns": HOST_WRITES,
    "unknown games": HOST_WRITES,
    "print": RESIGNS._replace(note="the program answered 'MESSAGE My move is the centre'"),
    "closes its input": LIKE_HANGING,
    "stops reading": LIKE_HANGING,
    "half-open": NO_TCP,
    "memory": PLAYS_ON,
    "fork bomb": PLAYS_ON,
    "leaves a process": crash("ended with exit code 4", "the program has ended with exit code 4"),
    "files": PLAYS_ON,
    "network": PLAYS_ON,
    "ignores the end": PLAYS_ON,
    "slow start": PLAYS_ON,
    "never starts": LIKE_HANGING,
    "dies at once": crash("ended with exit code 9", "no licence found\nthe program has ended with exit code 9"),
    "no hello": HOST_WRITES,
    "old protocol": HOST_WRITES,
    "wrong ticket": NO_TICKET,
}
"""Verdicts of programs that read lines, `lines:`, by `what` or else by `habit` of a fault."""

NOTHING_ELSE = NotApplicable("a module has only its memory")
REFUSED_BEFORE = NotApplicable("Noughts refuses a module that does not start before any game")
TRAPPED = "ended with exit code 70"
WASM: dict[str, Cell] = {
    "crash": crash(TRAPPED, "the module trapped: wasm trap: wasm `unreachable` instruction executed"),
    "segfault": crash(TRAPPED, "the module trapped: wasm trap: out of bounds memory access"),
    "exit": crash(TRAPPED, "good bye\nthe module trapped: it called exit(7)"),
    "leave after a move": NOTHING_ELSE,
    "raise": NOT_PYTHON,
    "hang": SILENT,
    "hang ignoring SIGTERM": NOTHING_ELSE,
    "stop": NOTHING_ELSE,
    "is silent, with a clock": HUNG,
    "loop": HUNG,
    "late": LATE,
    "off the board": ILLEGAL,
    "occupied": ILLEGAL,
    "endless output": HUNG,
    "50 MB": PLAYS_ON,
    "large frame": HOST_WRITES,
    "no answer": NotApplicable("it can return only a number; a negative one resigns"),
    "uneven columns": HOST_WRITES,
    "unknown games": HOST_WRITES,
    "print": PLAYS_ON,
    "closes its input": HOST_READS,
    "stops reading": HOST_READS,
    "half-open": NO_TCP,
    "memory": PLAYS_ON,
    "fork bomb": NOTHING_ELSE,
    "leaves a process": NOTHING_ELSE,
    "files": NOTHING_ELSE,
    "network": NOTHING_ELSE,
    "ignores the end": NOTHING_ELSE,
    "slow start": PLAYS_ON,
    "never starts": REFUSED_BEFORE,
    "dies at once": REFUSED_BEFORE,
    "no hello": HOST_WRITES,
    "old protocol": HOST_WRITES,
    "wrong ticket": NO_TICKET,
}
"""Verdicts of modules of WebAssembly, `wasm:`, by `what` or else by `habit` of a fault."""

_HEADINGS = {"json": "exec{frames=json}"}
_WORDS = {
    "illegal_move": "illegal move",
    "timeout": "time",
    "crashed": "crash",
    "resigned": "resignation",
    "waits": "its games wait",
}


def table() -> str:
    """Return the table as Markdown; numbered notes below it explain the cells that do not apply."""
    reasons: list[str] = []

    def text_of(cell: Cell) -> str:
        if isinstance(cell, NotApplicable):
            if cell.why not in reasons:
                reasons.append(cell.why)
            return f"n/a {reasons.index(cell.why) + 1}"
        word = _WORDS.get(cell.termination, cell.termination)
        return f"{word}: *{cell.reason.strip(' :')}*" if cell.reason else word

    lines = ["| a bot that | " + " | ".join(f"`{_HEADINGS.get(kind, kind)}:`" for kind in CHILDREN) + " | remote |"]
    lines.append("|---" * (len(KINDS) + 1) + "|")
    lines += [f"| {fault.what} | " + " | ".join(text_of(fault.cell(kind)) for kind in KINDS) + " |" for fault in FAULTS]
    lines += ["", "Not applicable:", "", *(f"{number}. {why}" for number, why in enumerate(reasons, 1))]
    return "\n".join(lines) + "\n"
