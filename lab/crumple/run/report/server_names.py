"""Names of servers, and the circumstances of a verdict: runtimes, cores, kernel and month.

A sentence names a server by its runtime if only one program of the run uses it, else by its title; where room
is short, by the settings that differ from those of its variants. Tables and charts keep the exact labels.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from crumple.drawing import numerals
from crumple.run.report import run_sentences
from crumple.run.report.view import RunView
from crumple.study.claim import split_place
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import Verdict
from crumple.verdict.verdict_sentences import enumerate_parts

# A label of more than 28 characters is shortened in tables and on axes, where it would take a third of them.
LONG = 28


def short(labels: Sequence[str], longest: int = LONG) -> dict[str, str]:
    """Return label → itself; one longer than `longest` keeps the fewest settings that keep it unique."""
    return {label: _shorten(label, labels) if len(label) > longest else label for label in labels}


def _shorten(label: str, labels: Sequence[str]) -> str:
    name, mine = _parts(label)
    others = [
        settings for other in labels if other != label for of, settings in [_parts(other)] if of == name
    ]
    for number in range(1, len(mine)):
        # Prefer shorter settings: if start_workers and workers change together, show workers.
        for chosen in sorted(combinations(mine, number), key=lambda some: len(",".join(some))):
            if not any(set(chosen) <= set(other) for other in others):
                return f"{name}[{','.join(chosen)}]"
    return label


def _parts(label: str) -> tuple[str, tuple[str, ...]]:
    name, _, settings = label.partition("[")
    return name, tuple(filter(None, settings.rstrip("]").split(",")))


# Runtimes as their makers write them; a server on another runtime is named by its title.
RUNTIMES = {
    "node": "Node.js", "php": "PHP", "go": "Go", "java": "Java", "mono": "Mono", "python": "Python",
    "cargo": "Rust",
}  # fmt: skip
# A runtime for several languages does not name the program, so the language is added.
_PROGRAMS = RUNTIMES | {"mono": "C# on Mono"}


def plain(view: RunView, labels: Iterable[str]) -> dict[str, str]:
    """Return label → name, all different: where two would be alike, what differs follows the name."""
    wanted = list(dict.fromkeys(labels))
    names = {label: _name(view, split_place(label)[1]) for label in wanted}
    return {label: _told_apart(label, names) for label in wanted}


def runtime(view: RunView, server: str) -> tuple[str, str] | None:
    """Return the server's runtime and its version; None if they are not known."""
    return next(iter(view.run.versions.get(server, {}).items()), None)


def titled(view: RunView, server: str) -> str:
    """Return the server's title without a comma: in a sentence "Flask, gunicorn" would read as two."""
    note = view.run.servers.get(server)
    first, comma, rest = " ".join((note.title if note else server).split()).partition(", ")
    return f"{first} ({rest})" if comma else first


def _name(view: RunView, server: str) -> str:
    stands_on = runtime(view, server)
    if stands_on and stands_on[0] in _PROGRAMS and server not in view.run.brought:
        alike = {titled(view, other) for other in view.run.servers if _is_on(view, other, stands_on[0])}
        if len(alike) == 1:
            return _PROGRAMS[stands_on[0]]
    return titled(view, server)


def _is_on(view: RunView, server: str, name: str) -> bool:
    found = runtime(view, server)
    return found is not None and found[0] == name


def _told_apart(label: str, names: Mapping[str, str]) -> str:
    name = names[label]
    others = [other for other, called in names.items() if called == name and other != label]
    if not others:
        return name
    experiment, server = split_place(label)
    parts = [name]
    if any(split_place(other)[1] != server for other in others):
        parts.append(_settings(server, [split_place(other)[1] for other in others]))
    if any(split_place(other)[0] != experiment for other in others):
        parts.append(f"in {experiment or ''}")
    return " ".join(parts)


def _settings(server: str, others: Iterable[str]) -> str:
    """Return in words what settings make the server differ from others: the shortest if it is enough."""
    _, mine = _parts(server)
    if not mine:
        return "as it is"
    theirs = [settings for _, settings in map(_parts, others)]
    own = [setting for setting in mine if not all(setting in settings for settings in theirs)]
    apart = [setting for setting in own if not any(setting in settings for settings in theirs)]
    chosen = [min(apart, key=len)] if apart else own or list(mine)
    return f"with {' and '.join(chosen)}"


_KERNEL = re.compile(r"\d+\.\d+")
_VERSION = re.compile(r"\d+(?:\.\d+)?")


def circumstances(view: RunView, verdict: Verdict) -> str:
    """Return "Found with Node.js 20.20 and PHP 8.2, on 2 cores under Linux 6.18, November 2026."

    It names the servers of the verdict's own effects only. Empty if the claim is not testable.
    """
    if verdict.answer is VerdictWord.NOT_TESTABLE:
        return ""
    labels = (label for effect in verdict.effects for label in (effect.of, effect.to) if label)
    return _sentence([(view, [split_place(label)[1] for label in labels])])


def of_all(views: Sequence[RunView]) -> str:
    """Return the circumstances of several runs, with all their servers."""
    return _sentence([(view, [*view.run.servers]) for view in views])


def circumstances_of(views: Sequence[RunView]) -> list[str]:
    """Return the machines and the runtimes of runs, a few words each, as far as they are known."""
    hosts = [host.machine for view in views for host in view.run.all_hosts]
    machines = [
        numerals.count(cores, "core") + (f", {cpu}" if cpu else "")
        for cores, cpu in ((machine.get("cores"), machine.get("cpu")) for machine in hosts)
        if cores
    ]
    kernels = [str(machine.get("kernel") or "") for machine in hosts]
    runtimes = sorted(_distinct(_runtime(view, server) for view in views for server in view.run.servers))
    return [*_distinct(machines), *_distinct(kernels), *runtimes]


def _sentence(seen: Sequence[tuple[RunView, Sequence[str]]]) -> str:
    runtimes = _distinct(_runtime(view, server) for view, servers in seen for server in servers)
    machines = [host.machine for view, _ in seen for host in view.run.all_hosts]
    cores = _distinct(str(machine["cores"]) for machine in machines if machine.get("cores"))
    kernels = _distinct(_first(_KERNEL, str(machine.get("kernel", ""))) for machine in machines)
    began = (run_sentences.instant(view.run.began) for view, _ in seen)
    months = _distinct(f"{month:%B %Y}" for month in began if month)
    on = f"on {' or '.join(cores)} core{'' if cores == ['1'] else 's'}" if cores else ""
    under = f"under Linux {' or '.join(kernels)}" if kernels else ""
    parts = [
        f"with {enumerate_parts(sorted(runtimes))}" if runtimes else "",
        f"{on} {under}".strip(),
        enumerate_parts(months) if months else "",
    ]
    said = ", ".join(filter(None, parts))
    return f"Found {said}." if said else ""


def _runtime(view: RunView, server: str) -> str:
    """Return the runtime with its version, "PHP 8.2"; empty if `server` is not one of the run's servers."""
    found = runtime(view, server)
    if found is None:
        known = server in view.run.servers
        return f"{titled(view, server)} of unknown version" if known else ""
    name, version = found
    return f"{RUNTIMES.get(name, name)} {_first(_VERSION, version) or version}"


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0] if found else ""


def _distinct(words: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(filter(None, words))]
