"""Whether anybody else uses the machine just now, and waiting until nobody does. It ends nothing.

Before a load this only serves to wait: what disturbed it is read over its own window (`record.disturbance`).
"""

import time

from crumple.machine import checks, others

LOOK_S = 0.5
# Of the hypervisor's time in half a second; a tick of two cores is a hundredth of it.
STEAL_IN_A_LOOK = 0.05


def look() -> str:
    """Who uses the CPU besides this crumple and all it started, as a clause; empty: hardly anybody."""
    meanwhile = others.Meanwhile()
    time.sleep(LOOK_S)
    shares = meanwhile.shares()
    if shares.others is not None and shares.others > checks.OTHERS_TOO_BUSY:
        return f"other programs use {shares.others:.0%} of the CPU"
    if shares.steal is not None and shares.steal > STEAL_IN_A_LOOK:
        return f"the hypervisor takes {shares.steal:.0%} of the CPU time"
    return ""


def awaited(at_most_s: float) -> str:
    """Wait until the machine is calm; what still went on when the time was over, or empty."""
    deadline = time.monotonic() + at_most_s
    while (busy := look()) and time.monotonic() < deadline:
        pass
    return busy
