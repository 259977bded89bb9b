"""The engine on a load host: found there by its digest, or sent through the pipe that it then serves.

All that a load host needs is a POSIX `sh`, `head -c` and a folder to run a program from. The shell reads its
script from its standard input, answers line by line, and becomes the engine. Where there is `find`, engines
of other builds are removed a day after they were sent.
"""

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from crumple.load_host import host_errors
from crumple.load_host.piped_process import PipedProcess
from crumple.load_host.where import Where

# At its end the shell becomes the engine. Each line of its answers begins with a mark, as a shell's start-up
# files may write something before. `{ … }`: a shell reads all of it before it does any of it; it can read no
# more than that ahead, as what is sent then waits for an answer.
SCRIPT = """{
mark=@MARK@ digest=@DIGEST@ size=@SIZE@
say() { printf "%s %s\\n" "$mark" "$*"; }
lives() { "$1" --version >/dev/null 2>&1; }
begin() {
  # It stays only if the engine is in it.
  [ -z "$tmp" ] || rmdir "$tmp" 2>/dev/null
  say engine "$1"
  export CRUMPLE_LOAD="$mark"
  exec "$1" serve
}
take() {
  part="$1/engine-$digest.$$"
  if why=$( { mkdir -p -m 700 "$1" && : >"$part"; } 2>&1 ); then
    say send
    why=$(head -c "$size" 2>&1 | { cat >"$part" || cat >/dev/null; } 2>&1)
    if [ "$(wc -c <"$part" 2>/dev/null)" -eq "$size" ] && why=$(chmod 700 "$part" 2>&1); then
      if why=$("$part" --version 2>&1); then
        # Those of other builds, and what was never whole. A younger one may be at work, or on its way.
        for old in "$1"/engine-*; do
          [ -z "$(find "$old" -prune -type f -mtime +0 2>/dev/null)" ] || rm -f "$old"
        done
        mv -f "$part" "$1/engine-$digest" && begin "$1/engine-$digest"
      fi
    fi
    rm -f "$part"
  fi
  set -f
  say no "$1": $why
  set +f
}
printf "\\n"
say here "$(uname -s)" "$(uname -m)" "$$"
home="${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}"
tmp="/tmp/crumple-$(id -u)"
# A folder in /tmp that somebody else has made is not trusted.
if ! mkdir -m 700 "$tmp" 2>/dev/null; then [ -O "$tmp" ] && [ ! -L "$tmp" ] || tmp=; fi
set -- ${home:+"$home/crumple"} ${tmp:+"$tmp"}
for folder do
  lives "$folder/engine-$digest" && begin "$folder/engine-$digest"
done
say absent
read -r answer && [ "$answer" = send ] || exit 0
for folder do take "$folder"; done
say failed
exit 1
}
"""


# Seconds until the shell there answers: ssh connects within 10 s, through another host within 20.
OPEN_S = 30.0
# Seconds without progress after which sending the engine counts as failed.
SEND_S = 120.0
# The same machine has two names.
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True)
class SentEngine:
    """The engine's program on this machine, and what stands for it on another."""

    path: Path
    digest: str
    size: int

    @classmethod
    def of(cls, path: Path) -> "SentEngine":
        """Read the program."""
        with path.open("rb") as program:
            digest = hashlib.file_digest(program, "sha256").hexdigest()[:32]
        return cls(path, digest, path.stat().st_size)

    def script(self, mark: str) -> bytes:
        """What the shell there is to do; its answers begin with `mark`."""
        text = SCRIPT.replace("@MARK@", mark).replace("@DIGEST@", self.digest)
        return text.replace("@SIZE@", str(self.size)).encode()

    def begin(self, shell: PipedProcess, where: Where, mark: str) -> tuple[str, bool]:
        """Let the shell become the engine; its path there, and whether it was sent. Raises LoadHostFailed."""
        shell.send(self.script(mark))
        refusals: list[str] = []
        within_s, was_sent = OPEN_S, False
        while True:
            word, _, rest = _answer(shell, where, mark, within_s).partition(" ")
            if word == "here":
                _check_machine(where, rest)
            elif word == "absent":
                shell.send(b"send\n")
            elif word == "send":
                shell.send(self.path.read_bytes())
                within_s, was_sent = SEND_S, True
            elif word == "no":
                refusals.append(rest)
            elif word == "failed":
                raise host_errors.no_place(where, refusals, self.size)
            elif word == "engine":
                return rest, was_sent


def _answer(shell: PipedProcess, where: Where, mark: str, within_s: float) -> str:
    """Return the next line of the shell that begins with the mark; other lines are of its start-up files."""
    deadline, noise = time.monotonic() + within_s, ""
    while (line := shell.line(deadline)) is not None:
        text = line.decode("utf-8", "replace")
        said, _, answer = text.partition(" ")
        if said == mark:
            return answer
        noise = text or noise
    raise host_errors.unreached(where, shell.ending, within_s, noise)


def _check_machine(where: Where, said: str) -> None:
    """Raise LoadHostFailed if the engine is not built for what `uname` said."""
    system, machine, *_ = [*said.split(), "", ""]
    own = os.uname().machine
    if system != "Linux" or MACHINES.get(machine, machine) != MACHINES.get(own, own):
        raise host_errors.other_machine(where, system, machine, own)
