"""crumple report: the report of a run, rendered again from what is stored."""

import json
import os
import sys
import webbrowser
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.errors import UsageError
from crumple.report.view import RunView, view
from crumple.run import run_file, store
from crumple.run.store import RunStore
from crumple.toml_file import did_you_mean

Format = Literal["text", "html", "md", "json"]
FORMATS: tuple[Format, ...] = ("text", "html", "md", "json")
FILES: dict[Format, str] = {
    "text": "report.txt",
    "html": "report.html",
    "md": "report.md",
    "json": "report.json",
}


def show(name: str | None, format_: str, open_it: bool, out: Path | None) -> int:
    """Print the report of a run, or the latest; HTML and what is to be opened goes to a file."""
    kind = _format(format_)
    run = store.find(Project.here().runs, name)
    if open_it or kind == "html" or out is not None:
        path = write(run, "html" if open_it else kind, out)
        output.say(f"report: {path}")
        if open_it:
            webbrowser.open(path.resolve().as_uri())
        return 0
    print(_renderer(kind)(_view(run)), end="")
    return 0


def write(run: RunStore, kind: Format, out: Path | None = None) -> Path:
    """The report as a file, in the run's folder unless `out` says where; HTML and Markdown bring charts."""
    return _write(_view(run), kind, out or run.folder / FILES[kind])


def _write(seen: RunView, kind: Format, path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_renderer(kind)(seen), encoding="utf-8")
        if kind in ("html", "md"):
            from crumple.report import charts

            charts.write(seen, path.parent / "charts")
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "choose another place with --out"
        ) from None
    return path


def summarise(run: RunStore, as_json: bool) -> None:
    """The verdicts and what led to them, on stdout."""
    print(_renderer("json" if as_json else "text")(_view(run)), end="")


def summarise_all(runs: Sequence[RunStore], folder: Path, as_json: bool, open_it: bool) -> None:
    """Every verdict of several runs on stdout, and one page in `folder` that leads to their reports."""
    from crumple.report import overview
    from crumple.report.data import data

    views = [_view(run) for run in runs]
    if as_json:
        output.as_json([json.loads(data(view)) for view in views])
    else:
        print(overview.text(views), end="")
    # Drawing takes seconds for each run, and nothing is measured any more.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        pages = list(pool.map(_page, runs))
    links = {run.name: str(path.relative_to(folder)) for run, path in zip(runs, pages, strict=True)}
    page = folder / f"overview-{runs[0].name}.html"
    page.write_text(overview.html(views, links), encoding="utf-8")
    output.say(f"all reports: {page}")
    if open_it and has_display():
        webbrowser.open(page.resolve().as_uri())


def _page(run: RunStore) -> Path:
    return write(run, "html")


def has_display() -> bool:
    """Whether a browser could show anything to whoever sits here."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _view(run: RunStore) -> RunView:
    return view(run_file.read(run), run.trials())


def _renderer(kind: Format) -> Callable[[RunView], str]:
    # Each brings what the others do without: only the one that is asked for is loaded.
    if kind == "html":
        from crumple.report.html import html

        return html
    if kind == "md":
        from crumple.report.markdown import markdown

        return markdown
    if kind == "json":
        from crumple.report.data import data

        return data
    from crumple.report.text import text

    return text


def _format(name: str) -> Format:
    for kind in FORMATS:
        if name == kind:
            return kind
    raise UsageError(f'no format is called "{name}"', did_you_mean(name, FORMATS))
