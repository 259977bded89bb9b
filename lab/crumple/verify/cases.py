"""What to ask a server beyond the defaults: values that must be answered, and values that must be refused.

Pure. It follows from what a workload says of its parameters; a few workloads deserve a little more.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from crumple.contract import Request
from crumple.workload.workload import PLACEHOLDER, Parameter, Value, Workload

Parameters = Mapping[str, Value]

SMALL = (3, 100)
# Several parameters at once, and answers that need more than one write.
MORE: dict[str, tuple[Parameters, ...]] = {
    "mix": ({"bytes": 200_000}, {"wait_ms": 5, "spin_us": 200, "bytes": 1000}),
    "primes": ({"below": 2},),
}
# A sign, a fraction and a word are no decimal digits; the last is more than 64 bits hold.
NO_NUMBER = ("-1", "+1", "1.5", "ten", "99999999999999999999")


def right(workload: Workload) -> tuple[Parameters, ...]:
    """The sets of parameters to ask for: the defaults, then one parameter changed at a time."""
    cases: list[Parameters] = [{}]
    for name, parameter in workload.parameters.items():
        cases += [{name: value} for value in _values(parameter) if value != parameter.default]
    return (*cases, *MORE.get(workload.name, ()))


def wrong(workload: Workload) -> Iterator[Request]:
    """Requests that must be answered with 400: one parameter each with what it may not be."""
    usual = workload.request_with({})
    defaults = {name: str(parameter.default) for name, parameter in workload.parameters.items()}
    for name, parameter in workload.parameters.items():
        for value in _bad_values(parameter):
            values = {**defaults, name: value}
            path = PLACEHOLDER.sub(
                lambda found, values=values: quote(values[found[1]], safe=""), workload.request.path
            )
            yield usual.model_copy(update={"path": path})


def without_query(workload: Workload) -> Request | None:
    """The request with no parameter given, to be answered as with the defaults; None if it has none."""
    request = workload.request_with({})
    path, query, _ = request.path.partition("?")
    return request.model_copy(update={"path": path}) if query else None


def _values(parameter: Parameter) -> tuple[Value, ...]:
    if parameter.among:
        return parameter.among
    if parameter.least is None or parameter.most is None:
        return ()
    return (parameter.least, *(value for value in SMALL if parameter.least < value <= parameter.most))


def _bad_values(parameter: Parameter) -> tuple[str, ...]:
    if parameter.among:
        return ("no-such-word",)
    if parameter.least is None or parameter.most is None:
        return ()
    below = (str(parameter.least - 1),) if parameter.least > 0 else ()
    return (*NO_NUMBER, *below, str(parameter.most + 1))
