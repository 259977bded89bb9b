"""What servers are called, and under what a verdict was found: runtimes, cores, kernel and month.

In a sentence a server goes by its runtime where that names one of them only, else by its title; where room is
short, by the settings that tell it from its variants. Labels, which are exact, stay in tables and charts.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations

from crumple.run.report import run_sentences
from crumple.run.report.view import RunView
from crumple.study.claim import placed
from crumple.verdict.effect import Answer
from crumple.verdict.verdict import Verdict

LONG = 28


def lines(label: str) -> tuple[str, ...]:
    """A label in two lines, name and settings; one without settings in one."""
    name, bracket, rest = label.partition("[")
    settings, _, after = rest.partition("]")
    return (f"{name}{after}", settings.replace(",", ", ")) if bracket else (label,)


def short(labels: Sequence[str], longest: int = LONG) -> dict[str, str]:
    """Label → the same, or, where that is longer, with so few of its settings that no two become alike."""
    return {label: _shortened(label, labels) if len(label) > longest else label for label in labels}


def on_an_axis(shown: Mapping[str, str]) -> str:
    """The expression by which an axis writes each label as it is to be shown."""
    return f"({json.dumps(dict(shown), ensure_ascii=False)})[datum.label]"


def _shortened(label: str, labels: Sequence[str]) -> str:
    name, mine = _parts(label)
    others = [
        settings for other in labels if other != label for of, settings in [_parts(other)] if of == name
    ]
    for number in range(1, len(mine)):
        # Shorter words first: where start_workers follows workers, workers says it.
        for chosen in sorted(combinations(mine, number), key=lambda some: len(",".join(some))):
            if not any(set(chosen) <= set(other) for other in others):
                return f"{name}[{','.join(chosen)}]"
    return label


def _parts(label: str) -> tuple[str, tuple[str, ...]]:
    name, _, settings = label.partition("[")
    return name, tuple(filter(None, settings.rstrip("]").split(",")))


# As their makers write them; what is not here goes by its title.
RUNTIMES = {
    "node": "Node.js", "php": "PHP", "go": "Go", "java": "Java", "mono": "Mono", "python": "Python",
    "cargo": "Rust",
}  # fmt: skip
# A runtime that runs more languages than one does not name the program.
_PROGRAMS = RUNTIMES | {"mono": "C# on Mono"}


def plain(view: RunView, labels: Iterable[str]) -> dict[str, str]:
    """Label → name, no two of them alike: what tells them apart follows the name."""
    wanted = list(dict.fromkeys(labels))
    names = {label: _name(view, placed(label)[1]) for label in wanted}
    return {label: _told_apart(label, names) for label in wanted}


def runtime(view: RunView, server: str) -> tuple[str, str] | None:
    """The runtime it stands on, and its version; None where that is not known."""
    return next(iter(view.run.versions.get(server, {}).items()), None)


def titled(view: RunView, server: str) -> str:
    """Its title, as it reads within a sentence; "Flask, gunicorn" would read as two."""
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
    experiment, server = placed(label)
    parts = [name]
    if any(placed(other)[1] != server for other in others):
        parts.append(_settings(server, [placed(other)[1] for other in others]))
    if any(placed(other)[0] != experiment for other in others):
        parts.append(f"in {experiment or ''}")
    return " ".join(parts)


def _settings(server: str, others: Iterable[str]) -> str:
    """The settings that the others have not, the shortest where one tells as much as all."""
    mine = _of(server)
    if not mine:
        return "as it is"
    own = [setting for setting in mine if not all(setting in _of(other) for other in others)]
    apart = [setting for setting in own if not any(setting in _of(other) for other in others)]
    chosen = [min(apart, key=len)] if apart else own or list(mine)
    return f"with {' and '.join(chosen)}"


def _of(server: str) -> tuple[str, ...]:
    return tuple(filter(None, server.partition("[")[2].rstrip("]").split(",")))


_KERNEL = re.compile(r"\d+\.\d+")
_VERSION = re.compile(r"\d+(?:\.\d+)?")


def circumstances(view: RunView, verdict: Verdict) -> str:
    """ "Found with Node.js 20.20 and PHP 8.2, on 2 cores under Linux 6.18, November 2026."

    Of the servers of its own effects alone. Empty where nothing was found.
    """
    if verdict.answer is Answer.NOT_TESTABLE:
        return ""
    labels = (label for effect in verdict.effects for label in (effect.of, effect.to) if label)
    return _found([(view, [placed(label)[1] for label in labels])])


def of_all(views: Sequence[RunView]) -> str:
    """The same of several runs with all their servers."""
    return _found([(view, [*view.run.servers]) for view in views])


def _found(seen: Sequence[tuple[RunView, Sequence[str]]]) -> str:
    runtimes = _distinct(_runtime(view, server) for view, servers in seen for server in servers)
    machines = [view.run.machine for view, _ in seen]
    cores = _distinct(str(machine["cores"]) for machine in machines if machine.get("cores"))
    kernels = _distinct(_first(_KERNEL, str(machine.get("kernel", ""))) for machine in machines)
    months = _distinct(_month(view) for view, _ in seen)
    on = f"on {' or '.join(cores)} core{'' if cores == ['1'] else 's'}" if cores else ""
    under = f"under Linux {' or '.join(kernels)}" if kernels else ""
    parts = [
        f"with {run_sentences.listed(sorted(runtimes))}" if runtimes else "",
        f"{on} {under}".strip(),
        run_sentences.listed(months) if months else "",
    ]
    said = ", ".join(filter(None, parts))
    return f"Found {said}." if said else ""


def _runtime(view: RunView, server: str) -> str:
    """ "PHP 8.2"; empty for what is no server."""
    found = runtime(view, server)
    if found is None:
        known = server in view.run.servers
        return f"{titled(view, server)} of unknown version" if known else ""
    name, version = found
    return f"{RUNTIMES.get(name, name)} {_first(_VERSION, version) or version}"


def _month(view: RunView) -> str:
    try:
        return f"{datetime.fromisoformat(view.run.began):%B %Y}"
    except ValueError:
        return ""


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0] if found else ""


def _distinct(words: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(filter(None, words))]
