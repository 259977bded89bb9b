"""Made-up open loads: when requests were due and ended → the record that the engine would write of them."""

from collections import Counter
from itertools import pairwise

import documents
import numpy as np
from crumple import contract
from queues import Floats

INTERVAL_S = 0.1


def record(
    due_s: Floats,
    ended_s: Floats,
    measured_s: float,
    *,
    rates: tuple[tuple[float, float], ...] = (),
    even: bool = False,
    timeout_s: float = np.inf,
    connections: int = 1_000_000,
) -> contract.TrialRecord:
    """The record of requests that were due and ended so; infinity: never.

    `rates`: of each step, with its seconds; none: the one at which they were due. `timeout_s`: after so long
    they are given up. `connections`: the most that are open; requests wait for one.
    """
    ended_s = np.minimum(ended_s, due_s + timeout_s)
    edges = np.arange(round(measured_s / INTERVAL_S) + 1) * INTERVAL_S
    lost, here = ended_s - due_s >= timeout_s, ended_s < measured_s
    ok, failed = here & ~lost, here & lost
    begun_s = due_s.copy()
    begun_s[connections:] = np.maximum(due_s[connections:], np.sort(ended_s)[:-connections])
    sent = begun_s < measured_s
    took_s = ended_s - due_s
    count = [np.histogram(of, edges)[0].tolist() for of in (begun_s, ended_s[ok], ended_s[failed])]
    due, good, bad = ([int(each) for each in of] for of in count)
    number = len(due)
    medians = [
        int(1e9 * np.median(within))
        if len(within := took_s[ok & (ended_s >= low) & (ended_s < high)])
        else None
        for low, high in pairwise(edges)
    ]
    steps = rates or ((len(due_s) / measured_s, measured_s),)
    shape = contract.OpenShapeSpec(
        connections=1_000,
        arrivals="even" if even else "poisson",
        rates=tuple(
            contract.RateSpec(from_per_s=each, to_per_s=each, duration_s=for_s) for each, for_s in steps
        ),
    )
    plain = documents.record()
    return plain.model_copy(
        update={
            "spec": documents.spec(shape=shape, warm_up=None),
            "warm_up_ns": 0,
            "measured_ns": round(1e9 * measured_s),
            "scheduled": len(due_s),
            "outcomes": documents.outcomes(
                ok=int(ok.sum()),
                timeout=int(failed.sum()),
                unfinished=int((~here & sent).sum()),
                not_sent=int((~here & ~sent).sum()),
            ),
            "not_sent": documents.not_sent(too_late=int((~here & ~sent).sum())),
            "requests": (documents.request_record(response_time=_histogram(took_s[ok])),),
            "histograms": plain.histograms.model_copy(
                update={
                    "response_time": _histogram(took_s[ok]),
                    "time_to_first_byte": _histogram(took_s[ok]),
                    "unfinished_age": _histogram(measured_s - due_s[~here & sent]),
                }
            ),
            "series": contract.Series(
                interval_ms=100,
                at_ns=tuple(round(1e9 * each) for each in edges[:-1]),
                duration_ns=(round(1e9 * INTERVAL_S),) * number,
                phase=("measured",) * number,
                ok=tuple(good),
                failed=tuple(bad),
                p50_ns=tuple(medians),
                p99_ns=tuple(medians),
                max_ns=tuple(medians),
                scheduled=tuple(due),
                engine_late_p99_ns=(None,) * number,
                connections=(1,) * number,
            ),
        }
    )


def _histogram(seconds: Floats) -> contract.HistogramRecord:
    return documents.histogram(Counter(max(1, round(1e9 * each)) for each in seconds.tolist()))
