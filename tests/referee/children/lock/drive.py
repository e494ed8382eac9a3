"""Start children in the sandbox and print their output: `python drive.py PLAN`, a program of its own.

So the tests try the sandbox as root and, with `user` in the plan, as an ordinary user.
"""

import asyncio
import json
import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from noughts_referee.children import kernel
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.locked_launcher import LockedChild, LockedLauncher
from noughts_referee.children.sandbox import Limits

ENTRY = "probes:main"
PATIENCE = 30.0


@dataclass
class Outcome:
    """The end of a child."""

    out: str
    err: str
    code: int
    pid: int


async def read_all(fd: int) -> str:
    """Read the pipe to its end, and close it."""
    loop, got = asyncio.get_running_loop(), b""
    while True:
        readable = asyncio.Event()
        loop.add_reader(fd, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(fd)
        part = os.read(fd, 65536)
        if not part:
            os.close(fd)
            return got.decode()
        got += part


async def outcome(child: LockedChild) -> Outcome:
    """Waits for a child's end, and closes its pipes."""
    os.close(child.stdin)
    async with asyncio.timeout(PATIENCE):
        code = await child.wait()
        return Outcome(await read_all(child.stdout), await read_all(child.stderr), code, child.pid)


def command(kind: str, probe: str, ground: dict[str, Any]) -> ChildCommand:
    """A probe as a child of this kind."""
    if kind == "py":
        return ChildCommand("py", probe, {"ground": json.dumps(ground), "bot": ground["bot"]})
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.py")
    words = json.dumps(ground).replace("'", "")
    return ChildCommand("exec", f"{sys.executable} {script} {probe} '{words}'", {"bot": ground["bot"]})


async def _drive(plan: dict[str, Any]) -> list[dict[str, Any]]:
    launcher = LockedLauncher(ENTRY, Limits(**plan["limits"]))
    try:
        outcomes = []
        for kind, probe, port in plan["probes"]:
            child = await launcher.start(replace(command(kind, probe, plan["ground"]), port=port))
            outcomes.append(vars(await outcome(child)))
        return outcomes
    finally:
        await launcher.close()


def main() -> None:
    """Runs the plan and prints the outcomes as JSON."""
    plan = json.loads(sys.argv[1])
    if plan["user"] is not None:
        # A plain user, who may read what is needed to run Python here: it may be installed in a home that is closed.
        kernel.become(plan["user"])
        kernel.drop_capabilities(but_reading=True)
        os.environ["HOME"] = plan["ground"]["home"]
    sys.stdout.write(json.dumps(asyncio.run(_drive(plan))))


if __name__ == "__main__":
    main()
