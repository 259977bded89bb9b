"""A load shape → what of it this machine can hold, with a sentence where that is less than was asked.

It reads this machine's limits and changes none.
"""

from dataclasses import dataclass

from crumple import contract
from crumple.machine import facts
from crumple.machine.checks import DESCRIPTORS_BESIDES
from crumple.machine.facts import UnreadError

# For so many of an address's local ports there may be a connection. Each that is given up leaves its port
# behind for a minute, and takes another.
PORTS_SHARE = 0.3
SOURCE = "127.0.0.{}"
SOURCES_MAX = 250


@dataclass(frozen=True)
class Limits:
    """What connections use up. `open_files`: the hard limit; `ports`: of one address, None: not told."""

    open_files: int
    ports: int | None


@dataclass(frozen=True)
class Fitted:
    """The shape as it can be put on. `sources`: loopback addresses to connect from; none: the kernel chooses.

    `less`: a sentence that says what of the shape there is no room for; empty: it is as asked.
    """

    shape: contract.Shape
    sources: tuple[str, ...] = ()
    less: str = ""


def limits() -> Limits:
    """Those of this machine; the soft limit of open files is raised to the hard one before every load."""
    try:
        first, last = facts.port_range()
    except UnreadError:
        return Limits(facts.open_files_hard(), None)
    return Limits(facts.open_files_hard(), last - first + 1)


def fitted(shape: contract.Shape, here: Limits) -> Fitted:
    """What of the shape there is room for. The limit of an open shape need not be reached, and is lowered."""
    asked = shape.to_connections if isinstance(shape, contract.RampShape) else shape.connections
    room = here.open_files - DESCRIPTORS_BESIDES
    held = max(1, min(asked, room))
    less = ""
    if held < asked and not isinstance(shape, contract.OpenShape):
        less = (
            f"{held:,} of the {asked:,} connections asked for: no more than {here.open_files:,} files may be "
            f"open here; raise the hard limit: ulimit -Hn {asked + DESCRIPTORS_BESIDES}, as root"
        )
    return Fitted(_with_connections(shape, held), _sources(held, here.ports), less)


def _with_connections(shape: contract.Shape, held: int) -> contract.Shape:
    if not isinstance(shape, contract.RampShape):
        return shape.model_copy(update={"connections": held})
    if held == shape.to_connections:
        return shape
    # As steep as asked: the ramp ends sooner, and stays at what there is room for.
    low = min(shape.from_connections, held)
    rise = (held - low) / (shape.to_connections - shape.from_connections)
    over_s = max(shape.over_s * rise, 1e-3)
    return shape.model_copy(update={"from_connections": low, "to_connections": held, "over_s": over_s})


def _sources(connections: int, ports: int | None) -> tuple[str, ...]:
    if ports is None or connections <= PORTS_SHARE * ports:
        return ()
    needed = min(SOURCES_MAX, -(-connections // max(1, int(PORTS_SHARE * ports))))
    # 127.0.0.1 is left to all others on this machine.
    return tuple(SOURCE.format(number) for number in range(2, needed + 2))
