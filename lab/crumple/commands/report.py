"""crumple report: renders the report of a stored run again, or one report of several runs."""

import json
import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Literal

from crumple.commands import ci_platform, output
from crumple.commands.project_files import Project
from crumple.drawing.terminal import shown_json
from crumple.errors import UsageError
from crumple.interrupt import deaf_children, interruptible
from crumple.parsing import did_you_mean
from crumple.run import run_file, store
from crumple.run.report.view import RunView, view
from crumple.run.store import RunStore

Format = Literal["text", "html", "md", "json"]
FORMATS: tuple[Format, ...] = ("text", "html", "md", "json")
FILES: dict[Format, str] = {
    "text": "report.txt",
    "html": "report.html",
    "md": "report.md",
    "json": "report.json",
}


def show(names: Sequence[str], format_: str, open_it: bool, out: Path | None) -> int:
    """Print the report of a run, by default the latest, or the claims of several. HTML goes to a file."""
    kind = "html" if open_it else _format(format_)
    folder = Project.here().runs
    runs = [store.find(folder, name) for name in names] or [store.find(folder, None)]
    several = len(runs) > 1
    if kind != "html" and out is None:
        if several:
            _print(kind, _several(_views(runs), kind))
            return 0
        seen = view_of(runs[0])
        _print(kind, _renderer(kind)(seen))
        if kind == "text":
            ci_platform.show(seen.run.fail_if)
        return 0
    if not several:
        path = write(runs[0], kind, out)
    elif kind == "html":
        path = _pages(runs, _views(runs), out or _overview(runs, folder))
    else:
        assert out is not None
        path = _put(out, _several(_views(runs), kind))
    if open_it:
        output.open_page(path)
    else:
        output.say(f"report: {path}")
    return 0


def refuse_beside_site(names: Sequence[str], format_: str, out: Path | None, *, as_json: bool) -> None:
    """Raise UsageError if anything is asked that is about one report."""
    if names or format_ != "text" or out is not None or as_json:
        raise UsageError("--site writes all results and runs", "leave out names, --format, --json and --out")


def write(run: RunStore, kind: Format, out: Path | None = None) -> Path:
    """Write the report to `out`, or to the run's folder, and return its path; Markdown also writes charts."""
    seen = view_of(run)
    path = _put(out or run.folder / FILES[kind], _renderer(kind)(seen))
    if kind == "md":
        from crumple.run.report import run_charts

        with _written(path):
            run_charts.write(seen, path.parent / "charts")
    return path


def _put(path: Path, text: str) -> Path:
    with _written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        output.write(path, text)
    return path


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "name another file with --out") from None


def summarise(run: RunStore, as_json: bool, open_it: bool = False) -> None:
    """Print the verdicts of a run, and the figures they rest on, on stdout; with `open_it` open its page."""
    kind: Format = "json" if as_json else "text"
    _print(kind, _renderer(kind)(view_of(run)))
    if open_it:
        output.open_page(write(run, "html"))


def summarise_all(runs: Sequence[RunStore], folder: Path, as_json: bool, open_it: bool) -> None:
    """Print the verdicts of several runs on stdout, and write a page to `folder` that links their reports."""
    views = _views(runs)
    kind: Format = "json" if as_json else "text"
    _print(kind, _several(views, kind))
    page = _pages(runs, views, _overview(runs, folder))
    output.say(f"all reports: {page}")
    if open_it and has_display():
        webbrowser.open(page.resolve().as_uri())


def _print(kind: Format, rendered: str) -> None:
    by_kind = {"json": output.document, "text": output.drawn}
    by_kind.get(kind, output.plain)(rendered)


def _several(views: Sequence[RunView], kind: Format) -> str:
    """Return the claims of several runs in any format but HTML, which needs several files."""
    from crumple.run.report import runs_report
    from crumple.run.report.report_document import document

    if kind == "json":
        every = [document(view).model_dump(mode="json") for view in views]
        return shown_json(json.dumps(every, indent=1, ensure_ascii=False) + "\n")
    return runs_report.markdown(views) if kind == "md" else runs_report.text(views)


def _pages(runs: Sequence[RunStore], views: Sequence[RunView], page: Path) -> Path:
    """Write the report of each run to its folder, and the page that links them; return the page's path."""
    from crumple.run.report import runs_report

    # Drawing takes seconds per run. All cores may be used, because nothing is being measured.
    cores = len(os.sched_getaffinity(0))
    with interruptible(), ProcessPoolExecutor(cores, get_context("spawn"), end_with_parent) as pool:
        with deaf_children():
            drawn = pool.map(_page, runs)
        reports = list(drawn)
    links = {
        # By the run's id, because the user may have renamed the folder.
        seen.run.id: os.path.relpath(path, page.parent)
        for seen, path in zip(views, reports, strict=True)
    }
    return _put(page, runs_report.html(views, links))


def end_with_parent() -> None:
    """Make this process end when its parent process ends, even if the parent is killed."""
    threading.Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _page(run: RunStore) -> Path:
    return write(run, "html")


def _overview(runs: Sequence[RunStore], folder: Path) -> Path:
    return folder / f"overview-{runs[0].name}.html"


def has_display() -> bool:
    """Return whether there is a display on which a browser could open."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _views(runs: Sequence[RunStore]) -> list[RunView]:
    return [view_of(run) for run in runs]


def view_of(run: RunStore) -> RunView:
    """Return the run as a reader meets it."""
    return view(run_file.read(run), run.trials())


def _renderer(kind: Format) -> Callable[[RunView], str]:
    if kind == "json":
        from crumple.run.report.report_document import as_json

        return as_json
    from crumple.run.report import run_report

    return {"html": run_report.html, "md": run_report.markdown, "text": run_report.text}[kind]


def _format(name: str) -> Format:
    for kind in FORMATS:
        if name == kind:
            return kind
    raise UsageError(f'no format is called "{name}"', did_you_mean(name, FORMATS))
