"""A server that is watched while nobody loads it."""

import made_inside
import made_stages
import synthetic_load
from crumple import contract
from crumple.cause import in_short
from crumple.load.report.load_document import LoadDocument
from crumple.observation.observed import WorkAlone

MS = 1e-3


# Half of its eight threads sleep for a time that the program chose.
ASLEEP = (
    contract.PlaceRecord(where="hrtimer_nanosleep", looked=4 * 60),
    contract.PlaceRecord(where="ep_poll", looked=4 * 60),
)


def watched(mean_alone_ms: float | None) -> LoadDocument:
    """A load of which most requests wait to be read, while the workers sleep and cores are idle."""
    record = made_stages.with_readings([{"inside": 4, "unread": 28}] * 60)
    probes = record.probes.model_copy(
        update={
            "server": made_inside.server(record, 0.2),
            "tasks": made_inside.tasks(record, [(0, 0, 0)] * 60, cores=0.2, places=ASLEEP),
            "dependencies": made_inside.dependencies(record, {}),
        }
    )
    record = record.model_copy(update={"probes": probes})
    alone = WorkAlone(9, mean_alone_ms * MS, mean_alone_ms * MS, 1e-5) if mean_alone_ms is not None else None
    return synthetic_load.load(
        record,
        idle_cores=0.1,
        alone=alone,
        findings=in_short.judged(record, 4, alone),
    )
