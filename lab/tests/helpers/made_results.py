"""Made-up results: documents as the commands print and store them. Not a test itself."""

from functools import cache
from typing import Any

import documents
import made_at_load
import synthetic_load
from crumple import contract
from crumple.cause import judged
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_report
from crumple.drawing import report_text
from crumple.experiment.subject import Subject
from crumple.find.report.find_figures import SearchFigures
from crumple.find.search import SearchResult
from crumple.load import objective
from crumple.load.load_options import Options
from crumple.load.report.load_document import LoadDocument
from crumple.stats.interval import Interval
from crumple.versus.report.versus_figures import VersusFigures

BEGAN_UNIX_S = 1_795_242_612.0


def of_load(load: LoadDocument, **changes: Any) -> dict[str, Any]:
    """The document of a load."""
    return synthetic_load.printed(load) | changes


def of_search(finding: SearchFigures, **changes: Any) -> dict[str, Any]:
    """The document of a search."""
    return finding.document.model_dump(mode="json") | changes


def of_versions(found: VersusFigures, **changes: Any) -> dict[str, Any]:
    """The document of a comparison of versions."""
    return found.document.model_dump(mode="json") | changes


def of_diagnosis(found: Diagnosis, **changes: Any) -> dict[str, Any]:
    """The document of a diagnosis."""
    return diagnose_report.document_of(found).model_dump(mode="json") | changes


def screen_of_diagnosis(found: Diagnosis, columns: int) -> str:
    """What a terminal shows of a diagnosis, without styles."""
    report = diagnose_report.report(diagnose_report.document_of(found))
    return report_text.text(report, columns, styled=False)


@cache
def diagnosis(**changes: Any) -> Diagnosis:
    """A server with a pool that is too small, and the result of a search without its levels."""
    facts = made_at_load.WORKERS
    asked = documents.request(path="/work?token=abcdefghijklmnop", headers=(("Authorization", "Bearer x"),))
    subject = Subject(
        target=contract.Target(address="127.0.0.1:8080", host="127.0.0.1:8080"),
        work=(asked,),
        light=documents.request(path="/"),
        slow=None,
        heavy=None,
        options=Options(server_pid=4321, seed=3),
        cores=2,
    )
    plain: dict[str, Any] = {
        "plan": DiagnosisPlan("http://127.0.0.1:8080/work", objective.parse("p99<250ms"), 3, _nothing),
        "subject": subject,
        "seen": facts.seen,
        "found": SearchResult(
            "found", (), Interval(155.0, 150.0, 158.0, 0.95, 5), "p99<250ms", False, None, None, 12.0
        ),
        "below": None,
        "beyond": synthetic_load.closed().record,
        "facts": facts,
        "said": tuple(judged.judged(facts)),
        "made": (),
        "would_tell": "",
        "engine_version": "0.1.0",
        "command": "crumple diagnose http://127.0.0.1:8080/work --seed 3",
        "began_unix_s": BEGAN_UNIX_S,
        "took_s": 31.5,
    }
    return Diagnosis(**plain | changes)


def _nothing() -> Any:
    raise AssertionError("a test starts no server")
