"""What is diagnosed: a server that answers, and what it is asked."""

from dataclasses import dataclass

from crumple import contract
from crumple.load import engine_spec
from crumple.load.addresses import port_of
from crumple.load.load_options import Options
from crumple.machine import facts
from crumple.machine.guard import Guarded


@dataclass(frozen=True)
class Subject:
    """A server that answers. `options`: with its pid, if known, and the engine's cores.

    `work`: what it is for; `light`: what is answered at once; `slow`: what only waits; `heavy`: what only
    computes. `cores`: how many it may use. `guarded`: the guard under which it was started for this; None: it
    ran before.
    """

    target: contract.Target
    work: tuple[contract.RequestSpec, ...]
    light: contract.RequestSpec
    slow: contract.RequestSpec | None
    heavy: contract.RequestSpec | None
    options: Options
    cores: int
    guarded: Guarded | None = None

    @property
    def pid(self) -> int | None:
        """The root of its process tree; None: not known, or not on this machine."""
        return self.options.server_pid

    @property
    def server_port(self) -> int | None:
        """The port that it listens on in its own network namespace; None: it listens on a Unix socket."""
        return port_of(self.options.server_address or self.target.address)

    @property
    def elsewhere(self) -> int:
        """How many cores the engine may use that the server may not."""
        of_server = engine_spec.cores_of(self.pid) or facts.usable_cores()
        return self.options.machine.apart(self.options.cores, of_server)
