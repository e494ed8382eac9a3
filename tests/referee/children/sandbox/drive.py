"""Start probes as children in the sandbox and print their outcomes: `python drive.py PLAN`.

It is a separate program so that it can run as root or, with `user` in the plan, as an ordinary user.
"""

import asyncio
import json
import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from noughts_referee.children import kernel
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox import Limits
from noughts_referee.children.sandbox_launcher import SandboxedChild, SandboxLauncher
from tests.support.patience import PATIENCE

ENTRY = "probes:main"


@dataclass
class Outcome:
    """The output and the exit code of a child."""

    out: str
    err: str
    code: int
    pid: int


async def read_all(fd: int) -> str:
    """Read the pipe to its end, and close it."""
    loop, data = asyncio.get_running_loop(), b""
    while True:
        readable = asyncio.Event()
        loop.add_reader(fd, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(fd)
        chunk = os.read(fd, 65536)
        if not chunk:
            os.close(fd)
            return data.decode()
        data += chunk


async def wait_for_outcome(child: SandboxedChild) -> Outcome:
    """Close a child's standard input, wait for its end, and return its outcome."""
    os.close(child.stdin)
    async with asyncio.timeout(PATIENCE):
        code = await child.wait()
        return Outcome(await read_all(child.stdout), await read_all(child.stderr), code, child.pid)


def probe_command(kind: str, probe: str, targets: dict[str, Any]) -> ChildCommand:
    """Return the command that runs a probe as a child of this kind."""
    if kind == "py":
        return ChildCommand("py", probe, {"targets": json.dumps(targets), "bot": targets["bot"]})
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.py")
    words = json.dumps(targets).replace("'", "")
    return ChildCommand("exec", f"{sys.executable} {script} {probe} '{words}'", {"bot": targets["bot"]})


async def _drive(plan: dict[str, Any]) -> list[dict[str, Any]]:
    launcher = SandboxLauncher(ENTRY, Limits(**plan["limits"]))
    try:
        outcomes = []
        for kind, probe, port in plan["probes"]:
            child = await launcher.start(replace(probe_command(kind, probe, plan["targets"]), port=port))
            outcomes.append(vars(await wait_for_outcome(child)))
        return outcomes
    finally:
        await launcher.close()


def main() -> None:
    """Run the plan and print the outcomes as JSON."""
    plan = json.loads(sys.argv[1])
    if plan["user"] is not None:
        # An ordinary user who can still read all files, because Python may be installed in a closed home folder.
        kernel.become(plan["user"])
        kernel.drop_capabilities(but_reading=True)
        os.environ["HOME"] = plan["targets"]["home"]
    sys.stdout.write(json.dumps(asyncio.run(_drive(plan))))


if __name__ == "__main__":
    main()
