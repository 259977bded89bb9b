"""What servers are called in a sentence: by their runtime where that names one of them only, else by title.

Names for readers. Labels, which tell every variant apart, stay in tables and charts: see `server_names`.
"""

from collections.abc import Iterable, Mapping

from crumple.report.view import RunView
from crumple.study.claim import placed

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
