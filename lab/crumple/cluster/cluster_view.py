"""What is shown of runs on a cluster while they go on: beside the trials, what each host does now."""

from collections.abc import Callable, Mapping

from rich.console import Group
from rich.text import Text

from crumple.run.blocks import Begun
from crumple.run.run_live import LiveView
from crumple.run.session import SessionOutlook

LOST, IDLE = "is lost", "waits for a block"


class ClusterView(LiveView):
    """Shows runs on a cluster. `hosts`: those that are there at first."""

    def __init__(
        self,
        name: str,
        outlook: Callable[[], SessionOutlook],
        hosts: list[str],
        answer: Callable[[Begun], Text] | None = None,
    ) -> None:
        super().__init__(name, outlook, answer=answer)
        self._doing = dict.fromkeys(hosts, IDLE)

    def told(self, event: tuple[float, Mapping[str, str]]) -> None:
        """Take what a host said of the block that it measures: what it does now, or what is to stay."""
        _, said = event
        if "stays" in said:
            self._stays(Text(f"{said['host']}: {said['stays']}", style="yellow"))
        else:
            self._doing[said["host"]] = said["now"] or IDLE

    def changed(self, host: str, *, is_there: bool) -> None:
        """Take that a host was lost, or has joined."""
        self._doing[host] = IDLE if is_there else LOST
        again = "has joined" if is_there else f"{LOST}; what it measured is dealt again"
        self._stays(Text(f"{host} {again}", style="yellow"))

    def _drawn(self) -> Group:
        lines = [
            Text(f"{host}  {doing}", style="yellow" if doing == LOST else "dim", no_wrap=True)
            for host, doing in sorted(self._doing.items())
        ]
        return Group(super()._drawn(), *lines)
