"""Whether a server would have compressed its answers: one or two requests after a load, in no figure.

crumple asks for what flags say. Browsers and most clients ask for compressed answers, and the server then
does other work: it may answer fewer requests, with fewer bytes each.
"""

from contextlib import suppress
from dataclasses import dataclass

from crumple import contract, engine
from crumple.contract import TrialRecord, TrialSpec
from crumple.engine import Engine
from crumple.errors import EngineFailed, Interrupted
from crumple.load import load_plan
from crumple.words.answer_sentences import Exchange, header

ACCEPT_ENCODING = "Accept-Encoding"
ACCEPTED = "gzip"
# The fewest bytes of an answer that is worth compressing: a smaller one takes one segment of TCP either way.
LEAST_BYTES = 1_400
# Seconds after which a request is given up: the load has shown by then that the server is slow.
WITHIN_S = 2.0


@dataclass(frozen=True)
class Compressible:
    """An answer that the server compresses if it is asked to: bytes of the body as it is and compressed."""

    encoding: str
    plain_bytes: int
    compressed_bytes: int


def compressible(loader: Engine, record: TrialRecord) -> Compressible | None:
    """Return what the most frequent request of a load would have got; None: the same, or that is not asked.

    It is asked by GET only, since another method may change something. Ctrl-C skips it.
    """
    asked = _request_to_ask(record)
    if asked is None:
        return None
    encoded = asked.model_copy(update={"headers": (*asked.headers, (ACCEPT_ENCODING, ACCEPTED))})
    with suppress(KeyboardInterrupt, Interrupted, EngineFailed):
        answer = _send(loader, record.spec, encoded)
        encoding = (
            header(answer.example.head, "Content-Encoding") if answer.example and answer.is_met else None
        )
        if encoding is None or encoding.lower() == "identity":
            return None
        plain = _send(loader, record.spec, asked)
        if plain.is_met and answer.body_bytes < plain.body_bytes:
            return Compressible(encoding.lower(), plain.body_bytes, answer.body_bytes)
    return None


def _request_to_ask(record: TrialRecord) -> contract.RequestSpec | None:
    """Return the request to ask with; None: the answers are small, or their encoding was asked for."""
    answers = sum(number for each in record.requests for number in each.statuses.values())
    if not answers or record.received_bytes < LEAST_BYTES * answers:
        return None
    number = max(range(len(record.requests)), key=lambda each: record.requests[each].outcomes.ok)
    asked = record.spec.requests[number]
    chosen = any(name.lower() == ACCEPT_ENCODING.lower() for name, _ in asked.headers)
    return asked if asked.method == "GET" and record.requests[number].outcomes.ok and not chosen else None


def _send(loader: Engine, spec: TrialSpec, asked: contract.RequestSpec) -> Exchange:
    """Send one request. What varies in it is the same each time, since the seed is."""
    limits = spec.timeouts
    short = contract.TimeoutSpec(
        connect_s=min(limits.connect_s, WITHIN_S), request_s=min(limits.request_s, WITHIN_S)
    )
    (once,) = load_plan.specs(spec.model_copy(update={"requests": (asked,), "timeouts": short}))
    return Exchange(engine.run(loader, once, lambda _: None))
