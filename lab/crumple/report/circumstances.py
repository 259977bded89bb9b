"""Under what a verdict was found: runtimes, cores, kernel and month, from what the run noted.

What a claim itself names as its conditions is `sentences.conditions`. Nothing here asks the machine.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from crumple.report import plain_names, sentences
from crumple.report.view import RunView
from crumple.study.claim import placed
from crumple.verdict.effect import Answer
from crumple.verdict.verdict import Verdict

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
        f"with {sentences.listed(sorted(runtimes))}" if runtimes else "",
        f"{on} {under}".strip(),
        sentences.listed(months) if months else "",
    ]
    said = ", ".join(filter(None, parts))
    return f"Found {said}." if said else ""


def _runtime(view: RunView, server: str) -> str:
    """ "PHP 8.2"; empty for what is no server."""
    found = plain_names.runtime(view, server)
    if found is None:
        known = server in view.run.servers
        return f"{plain_names.titled(view, server)} of unknown version" if known else ""
    name, version = found
    return f"{plain_names.RUNTIMES.get(name, name)} {_first(_VERSION, version) or version}"


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
