"""The load hosts that a result was measured from, as its document has them and as reports name them."""

import shlex
from collections.abc import Sequence
from typing import Self

from crumple.contract_base import Lenient
from crumple.drawing import numerals

# Of more load hosts the sum of their cores is said, and not those of each.
CORES_SHOWN = 3


class LoadedFrom(Lenient):
    """Where a load came from, if that was another machine than the server's."""

    where: str
    """As --from named it, without secrets."""
    cores: int
    """How many the engine could use."""
    cpu_model: str | None
    kernel: str | None
    cpu_quota_cores: float | None
    """How many cores' worth of CPU time its control group grants the engine; null: no limit."""
    round_trip_ns: float
    """How long a line took there and back, through the pipe that crumple speaks through: the median."""
    is_apart: bool
    """Whether it shares no core with the server: it runs another kernel."""
    each: tuple["LoadedFrom", ...] = ()
    """Each of several machines; empty: it was one. What is said above is then of all of them: the sum of
    their cores, what their CPUs and kernels have in common, the longest way, and whether all are apart.
    """

    @classmethod
    def several(cls, where: str, each: Sequence["LoadedFrom"]) -> Self:
        """Return several load hosts, which together are called so."""
        quotas = [host.cpu_quota_cores for host in each]
        return cls(
            where=where,
            cores=sum(host.cores for host in each),
            cpu_model=_common([host.cpu_model for host in each]),
            kernel=_common([host.kernel for host in each]),
            cpu_quota_cores=None if None in quotas else sum(quota for quota in quotas if quota is not None),
            round_trip_ns=max(host.round_trip_ns for host in each),
            is_apart=all(host.is_apart for host in each),
            each=tuple(each),
        )

    @property
    def flags(self) -> str:
        """What names it on the command line: " --from a --from b"."""
        return "".join(f" --from {shlex.quote(host.where)}" for host in self.each or (self,))

    @property
    def sentence(self) -> str:
        """Where the load came from: "from loader (4 cores), 0.2 ms away"."""
        shares = "" if self.is_apart else ", on the server's own machine"
        cores = numerals.count(self.cores, "core")
        if self.each:
            cores = f"{' + '.join(f'{host.cores:,}' for host in self.each[:CORES_SHOWN])} cores"
            if len(self.each) > CORES_SHOWN:
                cores = f"{numerals.count(self.cores, 'core')} of {len(self.each)} machines"
        return f"from {self.where} ({cores}), {numerals.duration(self.round_trip_ns)} away{shares}"


def _common(values: Sequence[str | None]) -> str | None:
    """Return what all have; None: they differ, or it is not known."""
    return values[0] if len({*values}) == 1 else None
