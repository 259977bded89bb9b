"""The load under which a server is looked at: where its requests are, and what it does under it."""

import random
from dataclasses import replace

from crumple import contract
from crumple.experiment.subject import Subject
from crumple.load import engine_spec, load_options

# How long the load is on before it is measured: connections have been opened then.
WARM_S = 1.0


def spec(
    subject: Subject, shape: contract.ShapeSpec, for_s: float, warm_s: float | None = None
) -> contract.TrialSpec:
    """Return a load of the work, with all that can be read of the server. `warm_s` None: WARM_S."""
    drawn = random.Random(f"{subject.options.seed}/{shape.kind}")
    options = replace(
        subject.options,
        stages=True,
        tasks=True,
        dependencies=True,
        seed=drawn.getrandbits(load_options.SEED_BITS),
    )
    return engine_spec.spec(
        label=f"diagnose/{shape.kind}",
        target=subject.target,
        requests=subject.work,
        shape=shape,
        stop=contract.DurationStopSpec(duration_s=for_s),
        options=options,
        warm_up_s=WARM_S if warm_s is None else warm_s,
    )
