"""What to say of a load host that cannot be reached or was lost: one line, with the remedy.

The messages are those of OpenSSH, of sh and of the C library, as they have been for years; another message is
shown as it is.
"""

import signal
from collections.abc import Sequence

from crumple.errors import LoadHostFailed, LoadHostLost
from crumple.load_host.piped_process import Ending
from crumple.load_host.where import Where

# How a load host is lost: the process here, the engine there, both unable to speak, the network between, this
# program itself, or an engine that writes what is not understood.
HOW = ("client-ended", "engine-ended", "frozen", "link-cut", "lab-stopped", "not-understood")
# The most characters of a foreign message that are shown.
SHOWN_MOST = 200


def shown(text: str) -> str:
    """A foreign text on one line: bounded, with an escape for each character that acts or is invisible."""
    line = " ".join(text[: 2 * SHOWN_MOST].split())
    plain = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in line)
    return plain if len(plain) <= SHOWN_MOST else f"{plain[:SHOWN_MOST]} …"


def unreached(where: Where, ending: Ending | None, within_s: float) -> LoadHostFailed:
    """No shell answered there. `ending`: how the process ended; None: it has not, within that time."""
    try_it = f"try it: {' '.join(where.argv())} -c true"
    if ending is None:
        return LoadHostFailed(f"{where.text} did not answer within {within_s:.0f} s", try_it)
    said = ending.errors[-1] if ending.errors else f"{where.program} {ended(ending.code)}"
    return LoadHostFailed(f"{where.text} gives no shell: {shown(said)}", try_it, ending.errors)


def no_place(where: Where, refusals: Sequence[str], size: int) -> LoadHostFailed:
    """The engine could not be put anywhere. `refusals`: for each folder, its name and why."""
    why = "; ".join(shown(each) for each in refusals) or "it names no folder"
    remedy = f"give it {size / 1e6:.0f} MB in a folder to run programs from: set XDG_CACHE_HOME there"
    return LoadHostFailed(f"{where.text} has no place for the engine: {why}", remedy)


def other_machine(where: Where, system: str, machine: str, own: str) -> LoadHostFailed:
    """The engine is not built for the machine there."""
    message = f"{where.text} is {shown(f'{system} {machine}')}, the engine is for Linux {own}"
    return LoadHostFailed(message, "name a load host of this kind")


def lost(where: Where, ending: Ending) -> LoadHostLost:
    """The link ended before its trial did."""
    if ending.flooded:
        how, what = "not-understood", "wrote more than is kept"
    elif ending.silent:
        how, what = "link-cut", "sent nothing for 3 s"
    elif ending.paused_s > 3:
        how, what = "lab-stopped", f"heard nothing of this crumple for {ending.paused_s:.1f} s"
    elif ending.code < 0:
        how, what = "client-ended", f"was lost: {where.program} {ended(ending.code)}"
    else:
        how, what = "engine-ended", f"ended its engine: {where.program} {ended(ending.code)}"
    said = f" ({shown(ending.errors[-1])})" if ending.errors else ""
    return LoadHostLost(how, f"load-host-lost: {where.text} {what}{said}", "measure again", ending.errors)


def ended(code: int) -> str:
    """How a process ended, by its code: negative for a signal."""
    if code >= 0:
        return f"ended with code {code}"
    return f"was killed by signal {-code} ({signal.Signals(-code).name})"
