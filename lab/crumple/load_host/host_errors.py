"""What to say of a load host that cannot be reached or was lost: one line, with the remedy.

The messages that are known are those of OpenSSH, of shells and of the C library; another is shown as it is.
"""

import re
import signal
from collections.abc import Sequence

from crumple import engine as engines
from crumple import release
from crumple.errors import EngineFailed, LoadHostFailed, LoadHostLost
from crumple.load_host.piped_process import Ending
from crumple.load_host.where import Where

# How a load host is lost: the process here was ended, or the engine there; that was stopped; nothing passes
# between the two; crumple itself was stopped; or what came was not what an engine writes.
HOW = ("client-ended", "engine-ended", "frozen", "link-cut", "crumple-stopped", "not-understood")
# An engine writes each second: one that was quiet for longer before it ended was stopped, until its own timer
# ended it.
QUIET_S = 1.5
# The most characters of a foreign message that are shown.
SHOWN_MOST = 200
# A message → what it means, and the remedy. The first that is found in any line counts: ssh writes several.
KNOWN = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "{where} has another host key than before",
        "ask why; if that is right, remove the old one: ssh-keygen -R {name}, and accept the new: {try_it}",
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "the host key of {where} is not known here",
        "compare and accept it once: {try_it}",
    ),
    (
        r"Permission denied \(|Too many authentication failures",
        "{where} accepts no key that ssh finds here ({said})",
        "give ssh one that needs no password: ssh-add, or ssh-copy-id {where}",
    ),
    (
        r"Could not resolve hostname|Temporary failure in name resolution",
        "{where} is no name that ssh can resolve ({said})",
        "correct it, or give it a HostName in ~/.ssh/config",
    ),
    (
        r"Connection refused",
        "nothing accepts ssh connections at {where} ({said})",
        "start sshd there, or give it a Port in ~/.ssh/config",
    ),
    (
        r"timed out|No route to host|Network is unreachable",
        "{where} does not answer ({said})",
        "see that it runs and lets ssh through: {try_it}",
    ),
    (
        r"(exec|sh|executable file).*not found|sh: No such file|not currently available",
        "{where} gives no shell ({said})",
        "name a host or a container in which `sh` can be run: {try_it}",
    ),
)
AGAIN = "measure again"
MEMORY = f"{AGAIN}; if that comes back, see there whether memory is short: dmesg"
# What ssh writes when the other end of its connection is gone.
CUT = r"not responding|[Cc]losed by|Broken pipe|Connection reset|timed out|unreachable|[Ll]ost connection"


def shown(text: str) -> str:
    """A foreign text on one line: bounded, with an escape for each character that acts or is invisible."""
    line = " ".join(text[: 2 * SHOWN_MOST].split())
    plain = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in line)
    return plain if len(plain) <= SHOWN_MOST else f"{plain[:SHOWN_MOST]} …"


def unreached(where: Where, ending: Ending | None, within_s: float, noise: str) -> LoadHostFailed:
    """No shell answered there. `ending`: how the process ended; None: it has not, within that time.

    `noise`: the last line that it wrote, which was not the shell's answer.
    """
    try_it = _try(where)
    if ending is None:
        message = f"{where.name} gave no answer within {within_s:.0f} s"
        return LoadHostFailed(f"{message}{f': {shown(noise)}' if noise else ''}", f"try it: {try_it}")
    said = shown((ending.errors or (noise,))[-1] or f"{where.program} {ended(ending.code)}").rstrip(".")
    errors = "\n".join(ending.errors)
    for pattern, message, remedy in KNOWN:
        if re.search(pattern, errors):
            name = re.search(r"Host key for (\S+) has changed", errors)
            words = {
                "where": where.name,
                "said": said,
                "try_it": try_it,
                "name": name[1] if name else where.name,
            }
            return LoadHostFailed(message.format(**words), remedy.format(**words), ending.errors)
    return LoadHostFailed(f"{where.name} gives no shell: {said}", f"try it: {try_it}", ending.errors)


def no_place(where: Where, refusals: Sequence[str], size: int) -> LoadHostFailed:
    """The engine could not be put anywhere. `refusals`: for each folder, its name and why."""
    why = "; ".join(shown(each) for each in refusals) or "neither HOME nor /tmp is its own"
    remedy = f"let XDG_CACHE_HOME there name a folder with {size / 1e6:.0f} MB that programs may be run from"
    return LoadHostFailed(f"the engine cannot be put on {where.name}: {why}", remedy)


def other_machine(where: Where, system: str, machine: str, own: str) -> LoadHostFailed:
    """The engine is not built for the machine there."""
    message = f"{where.name} is {shown(f'{system} {machine}')}, and this engine is for Linux {own}"
    return LoadHostFailed(message, f"let the load come from a host of that kind: Linux {own}")


def other_version(where: Where, path: str, version: str) -> LoadHostFailed:
    """The engine there is not the one that was sent."""
    message = (
        f"the engine {shown(path)} on {where.name} is version {shown(version)}, crumple is {release.VERSION}"
    )
    return LoadHostFailed(message, "remove that file there: it is not what crumple has sent")


def lost(where: Where, ending: Ending, silence_s: float, states: Sequence[str] | None) -> LoadHostLost:
    """The link ended before its trial did. `states`: of its processes there now; None: nobody can look."""
    how, what, remedy = _how(where, ending, silence_s, states)
    last = f" ({shown(ending.errors[-1])})" if ending.errors else ""
    lines = [*map(shown, ending.errors)]
    return LoadHostLost(how, f"load-host-lost: {what}{last}", remedy, lines)


def _how(
    where: Where, ending: Ending, silence_s: float, states: Sequence[str] | None
) -> tuple[str, str, str]:
    """Return how the load host was lost, in a word and in a sentence, and the remedy."""
    if ending.flooded:
        return "not-understood", f"{where.name} wrote more than an engine does", "see what answers there"
    if ending.paused_s > silence_s:
        what = f"crumple was stopped for {ending.paused_s:.1f} s, so {where.name} ended the load"
        return "crumple-stopped", what, f"{AGAIN}, and do not stop crumple meanwhile"
    if ending.silent and states is None:
        return "link-cut", f"nothing came from {where.name} for {silence_s:.0f} s", AGAIN
    if ending.silent or (ending.code > 0 and not ending.errors and ending.quiet_s > QUIET_S):
        silent = f"wrote nothing for {ending.quiet_s:.1f} s"
        by = "was stopped by somebody there" if states and "T" in states else silent
        return "frozen", f"the engine on {where.name} {by}", AGAIN
    if ending.code < 0:
        return "client-ended", f"{where.program}, which held {where.name}, {ended(ending.code)}", AGAIN
    if re.search(CUT, "\n".join(ending.errors)):
        return "link-cut", f"the connection to {where.name} was cut", AGAIN
    by = ended(128 - ending.code) if 128 < ending.code < 160 else "was killed, or its shell"
    return "engine-ended", f"the engine on {where.name} {by}", MEMORY


def trial_ended(where: Where, code: int, tail: Sequence[str]) -> EngineFailed:
    """The engine of a trial ended with that code, and the one that had started it said so."""
    lines = [*map(shown, tail)]
    complaint = engines.complaint(tail[-1]) if tail else None
    if code >= 0:
        if complaint:
            return said(where, complaint[0], lines)
        return EngineFailed(f"the engine on {where.name} {ended(code)}", output_tail=lines)
    # It says something of its own only if it had to kill it.
    how = "frozen" if complaint else "engine-ended"
    what = f"the engine on {where.name} {'was stopped there' if how == 'frozen' else ended(code)}"
    return LoadHostLost(how, f"load-host-lost: {what}", MEMORY if how == "engine-ended" else AGAIN, lines)


def agent_lost(lost: LoadHostLost, hosts: int) -> LoadHostLost:
    """One of several load hosts was lost, so that the load was no longer the one that was asked for."""
    what = str(lost.message).removeprefix("load-host-lost: ")
    message = f"agent-lost: of {hosts} load hosts one was lost, and the others were ended: {what}"
    return LoadHostLost(lost.how, message, lost.remedy, lost.output_tail)


def said(where: Where, complaint: str, tail: Sequence[str] = ()) -> EngineFailed:
    """The engine there complains. What it advises is not passed on, as if crumple did."""
    return EngineFailed(f"{where.name} said: {shown(complaint)}", output_tail=tail)


def not_understood(where: Where, said: bytes) -> EngineFailed:
    """What came is not what an engine writes."""
    return EngineFailed(f"{where.name} wrote what is not understood: {shown(str(said))}")


def ended(code: int) -> str:
    """How a process ended, by its code: negative for a signal."""
    if code >= 0:
        return f"ended with code {code}"
    names = {each.value: f" ({each.name})" for each in signal.Signals}
    return f"was killed by signal {-code}{names.get(-code, '')}"


def _try(where: Where) -> str:
    """A command that shows the same to the user."""
    return f"{where.name} sh -c true" if where.command else f"ssh {where.name}"
