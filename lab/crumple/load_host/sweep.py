"""Kills what a lost link has left running on the load host, and says in which state it was.

The processes of a link have its mark in their environment, so no other process is meant, whatever pid it has.
"""

import time

from crumple.errors import EngineFailed
from crumple.load_host.piped_process import PipedProcess
from crumple.load_host.where import Where

# Seconds for the second connection. An engine that cannot be reached in that time has ended itself by then.
SWEEP_S = 4
SCRIPT = """{
mark=@MARK@
printf "\\n"
for file in $(grep -l "$mark" /proc/[0-9]*/environ 2>/dev/null); do
  pid=${file#/proc/} pid=${pid%/environ}
  state=$(sed -n "s/^State:[[:space:]]*\\(.\\).*/\\1/p" "/proc/$pid/status" 2>/dev/null)
  kill -9 "$pid" && printf "%s killed %s\\n" "$mark" "$state"
done
printf "%s swept\\n" "$mark"
exit
}
"""


def sweep(where: Where, mark: str) -> list[str] | None:
    """Kill the processes there that have that mark; the state of each. None: the host cannot be reached."""
    try:
        shell = PipedProcess(where.argv(SWEEP_S))
    except EngineFailed:
        return None
    try:
        shell.send(SCRIPT.replace("@MARK@", mark).encode())
        states = []
        deadline = time.monotonic() + SWEEP_S
        while (line := shell.line(deadline)) is not None:
            match line.decode("utf-8", "replace").split():
                case [said, "killed", *state] if said == mark:
                    states.append("".join(state))
                case [said, "swept"] if said == mark:
                    return states
        return None
    finally:
        shell.kill()
        shell.close()
