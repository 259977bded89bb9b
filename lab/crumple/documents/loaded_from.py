"""The load host that a result was measured from, as its document has it and as reports name it."""

from crumple.contract_base import Lenient
from crumple.drawing import numerals


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

    @property
    def sentence(self) -> str:
        """Where the load came from: "from loader (4 cores), 0.2 ms away"."""
        shares = "" if self.is_apart else ", on the server's own machine"
        cores = numerals.count(self.cores, "core")
        return f"from {self.where} ({cores}), {numerals.duration(self.round_trip_ns)} away{shares}"
