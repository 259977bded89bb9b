"""A load at a rate that is more than the server takes."""

import made_open
import numpy as np
import queues
import synthetic_load
from crumple.load.report.load_document import LoadDocument

PER_S, MEASURED_S = 300.0, 5.0


def load_of(beyond: bool = True) -> LoadDocument:
    """A load of 300 a second on a server that takes 200 or 400 of them."""
    due_s, ended_s = queues.even(4, 0.02 if beyond else 0.01)(PER_S, MEASURED_S, np.random.default_rng(1))
    return synthetic_load.load(made_open.record(due_s, ended_s, MEASURED_S))
