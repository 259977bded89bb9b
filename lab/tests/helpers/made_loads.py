"""Loads of each shape, as summaries show them."""

from collections.abc import Callable

import synthetic_load
from crumple.documents.loaded_from import LoadedFrom
from crumple.load.report.load_document import LoadDocument

FAR = LoadedFrom(
    where="ssh loader",
    cores=4,
    cpu_model=None,
    kernel="6.1.0",
    cpu_quota_cores=None,
    round_trip_ns=2e5,
    is_apart=True,
)
LOADS: dict[str, Callable[[], LoadDocument]] = {
    "constant": synthetic_load.constant,
    "stepped": synthetic_load.stepped,
    "closed": synthetic_load.closed,
    "silent": synthetic_load.silent,
    "failing": synthetic_load.failing,
    "several": synthetic_load.several,
    "starved": synthetic_load.starved,
    "closing": synthetic_load.closing,
}
