"""A page of every kind, made of results that tests have. Not a test itself."""

from collections.abc import Callable
from functools import cache

import made_changes
import made_comparisons
import made_maps
import made_results
import made_searches
import made_sites
import made_versus
import synthetic_load
import synthetic_ramp
import synthetic_run
from crumple import contract
from crumple.diagnose.report import diagnose_report
from crumple.drawing import report_page
from crumple.find.report import find_report
from crumple.model_map import map_report
from crumple.results import compare_report, comparing
from crumple.results.selection import StoredEntry, of_document
from crumple.run.report import runs_report
from crumple.run.report.run_report import html
from crumple.run.report.view import RunView, view
from crumple.run.store import StoredTrial
from crumple.site import index_report, pairs, series_report
from crumple.site.series import Series, series_of
from crumple.versus.report import versus_report

METRICS = ("throughput", "response_p50", "response_p99")


@cache
def run() -> RunView:
    """A run of two experiments and six claims."""
    return view(synthetic_run.run_file(), synthetic_run.trials())


@cache
def ramp() -> RunView:
    """A run with a ramp and a canary."""
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials())


def overview() -> str:
    """The page of both runs."""
    seen = run(), ramp()
    return runs_report.html(seen, {each.run.id: f"{each.run.id}/report.html" for each in seen})


def find(kind: str) -> str:
    """The page of a search."""
    found = made_searches.finding(kind)
    return report_page.html(find_report.report(found.document), made_results.of_search(found))


def diagnose() -> str:
    """The page of a diagnosis."""
    found = made_results.diagnosis()
    report = diagnose_report.report(diagnose_report.document_of(found))
    return report_page.html(report, made_results.of_diagnosis(found))


def versus(kind: str) -> str:
    """The page of a comparison of versions."""
    found = made_versus.result(kind)
    return report_page.html(versus_report.report(found.document), made_results.of_versions(found))


def compared(before: list[StoredEntry], after: list[StoredEntry]) -> str:
    """The page that compares stored results."""
    found = comparing.compare(before, after, METRICS, any_machine=False)
    document = compare_report.document(found).model_dump(mode="json")
    return report_page.html(compare_report.report(found), document)


def loads() -> str:
    """The page that compares five loads with five slower ones."""
    noise = (1.0, 1.02, 0.98, 1.01, 0.99)
    before = [_load(f"before-{number}", each) for number, each in enumerate(noise, 1)]
    return compared(before, [_load(f"after-{number}", 1.2 * each) for number, each in enumerate(noise, 1)])


def _load(name: str, slower: float) -> StoredEntry:
    spec = synthetic_load.spec(contract.ClosedShapeSpec(connections=32))
    record = synthetic_load.record(spec, [round(10_000 / slower)] * 3, median_ns=3e6 * slower)
    machine = {**made_changes.MACHINE, "cpu_model": "AMD EPYC"}
    return of_document(made_results.of_load(synthetic_load.load(record), machine=machine, name=name))


def runs() -> str:
    """The page that compares a run with one in which Node.js is slower."""
    return compared([_run(1.0)], [_run(1.4)])


def _run(slower: float) -> StoredEntry:
    return of_document(made_comparisons.document(slower))


def series() -> Series:
    """Forty loads of one question, of which the last ten answer less."""
    values = [10_000 + 150 * (number * 7 % 5) - (number >= 30) * 2_000 for number in range(40)]
    (found,) = series_of(made_sites.entries(values))
    return found


KINDS: dict[str, Callable[[], str]] = {
    "run": lambda: html(run()),
    "run with a ramp": lambda: html(ramp()),
    "runs": overview,
    "load": lambda: synthetic_load.page(synthetic_load.stepped()),
    "load of several requests": lambda: synthetic_load.page(synthetic_load.several()),
    "load that fails": lambda: synthetic_load.page(synthetic_load.failing()),
    "find": lambda: find("found"),
    "diagnose": diagnose,
    "versus": lambda: versus("three"),
    "compare loads": loads,
    "compare runs": runs,
    "map": lambda: report_page.html(map_report.of_map(made_maps.begun(), 500)),
    "site": lambda: report_page.html(index_report.report(series().entries, [series()], "0.1.0")),
    "series": lambda: report_page.html(series_report.report(series(), pairs.pairs(series()))),
}

# What a study, a server or an address may hold: letters without a break, what would run or load something,
# and a table that is wider than a telephone.
LONG = "verylongname" * 25
MARKUP = '<script>alert(1)</script><img src="http://127.0.0.1:1/a.png" onerror=alert(2)>'
TABLE = "\n\n".join([MARKUP, "\n".join(["| a " * 9 + "|", "|---" * 9 + "|", f"| {LONG[:24]} " * 9 + "|"])])


def of_stranger() -> str:
    """The page of a run whose study and servers somebody wrote who wants to run something."""
    file = synthetic_run.run_file()
    title = f"{LONG} {MARKUP}"
    servers = {
        name: note.model_copy(
            update={"title": f"{name} {title}", "about": TABLE, "libraries": {title: title}}
        )
        for name, note in file.servers.items()
    }
    prose = dict.fromkeys(("did", "differs"), TABLE)
    study = file.study.model_copy(
        update={
            "title": title,
            "question": title,
            "prose": file.study.prose.model_copy(update=prose),
            "claims": tuple(claim.model_copy(update={"text": title}) for claim in file.study.claims),
        }
    )
    changed = file.model_copy(update={"servers": servers, "study": study})
    return html(view(changed, synthetic_run.trials()))


def of_trials(trials: list[StoredTrial]) -> str:
    """The page of the made-up run with these trials only."""
    return html(view(synthetic_run.run_file(), trials))


def nothing_counts() -> str:
    """The page of a run whose trials others disturbed."""
    why = {"problems": ("disturbed: other programs used 98 % of the machine",)}
    return of_trials([trial.model_copy(update=why) for trial in synthetic_run.trials()])


BAD: dict[str, Callable[[], str]] = {
    "run by a stranger": of_stranger,
    "run of which nothing counts": nothing_counts,
    "half a run": lambda: of_trials(synthetic_run.trials()[:11]),
    "run without a trial": lambda: of_trials([]),
    "load of a long address": lambda: synthetic_load.page(
        synthetic_load.remade(synthetic_load.failing(), url=f"http://127.0.0.1:8080/{LONG}{MARKUP}")
    ),
}
