"""A load turned into its requests, each sent once on a connection of its own and kept with both its sides."""

from crumple import contract


def specs(spec: contract.TrialSpec) -> list[contract.TrialSpec]:
    """One for each request of `spec`: to the same target, with the same timeouts and seed."""
    limits = spec.timeouts
    once = {
        "shape": contract.ClosedShape(connections=1),
        "warm_up": None,
        "stop": contract.AfterRequests(requests=1, within_s=limits.connect_s + limits.request_s),
        "threads": 1,
        "cores": spec.cores[:1],
        "probe": spec.probe.model_copy(update={"server_pid": None}),
        "examples": "all",
    }
    return [spec.model_copy(update={**once, "requests": (request,)}) for request in spec.requests]
