"""Whether a server answers as its workload's contract says, to the byte. Nothing unverified is measured.

One request at a time, as every trial asks before and after its load; all else that `crumple verify` asks is
in `everything`.
"""

import http
from collections.abc import Mapping

from crumple.contract import Expect, Request
from crumple.errors import WrongAnswer
from crumple.verify.http import Reply, connection
from crumple.workload.workload import Value, Workload

UNKNOWN = Request(
    method="GET",
    path="/no-such-path-as-this",
    expect=Expect(status=http.HTTPStatus.NOT_FOUND, body_bytes=None, body_sha256=None, hash_one_in=0),
)


def answers(address: str, workload: Workload, parameters: Mapping[str, Value], *, keeps: bool = True) -> None:
    """Ask twice on one connection, once in two segments, once for an unknown path. Raises WrongAnswer.

    `keeps`: false for a server that is meant to close each connection after its answer.
    """
    request = workload.request_with(parameters)
    twice(address, workload, parameters, keeps=keeps)
    in_two_segments(address, request, workload, parameters)
    unknown_path(address)


def twice(address: str, workload: Workload, parameters: Mapping[str, Value], *, keeps: bool = True) -> None:
    """Ask twice; where the answer is made anew for each request, they must differ. Raises WrongAnswer."""
    request = workload.request_with(parameters)
    asked = named(request)
    again = f"{asked}, second on its connection" if keeps else f"{asked}, a second time"
    with connection(address) as peer:
        first = peer.ask(request, asked)
        check(asked, first, workload, parameters)
        _kept_or_not(asked, first, keeps)
        second = None if first.closes else peer.ask(request, again)
    if second is None:
        # Behind the other, not beside it: a server of one worker may wait until its client has closed.
        with connection(address) as peer:
            second = peer.ask(request, again)
    check(again, second, workload, parameters)
    if workload.answer_to(parameters).fresh and first.body == second.body:
        raise WrongAnswer(f"{again}: the same body as before", "make a new one for each request")


def kept(address: str, workload: Workload, requests: int) -> None:
    """Ask so many times on one connection. Raises WrongAnswer if it is closed in between."""
    request = workload.request_with({})
    with connection(address) as peer:
        for number in range(1, requests + 1):
            asked = f"{named(request)}, number {number} on its connection"
            reply = peer.ask(request, asked)
            check(asked, reply, workload, {})
            _kept_or_not(asked, reply, keeps=True)


def in_two_segments(
    address: str, request: Request, workload: Workload, parameters: Mapping[str, Value]
) -> None:
    """Ask with the request torn in the middle."""
    asked = f"{named(request)}, in two segments"
    with connection(address) as peer:
        check(asked, peer.ask(request, asked, segments=2), workload, parameters)


def unknown_path(address: str) -> None:
    """Ask for what no workload has."""
    asked = named(UNKNOWN)
    with connection(address) as peer:
        reply = peer.ask(UNKNOWN, asked)
    if reply.status != UNKNOWN.expect.status:
        raise WrongAnswer(f"{asked}: status {reply.status}", "answer 404 on paths no workload has")


def check(asked: str, reply: Reply, workload: Workload, parameters: Mapping[str, Value]) -> None:
    """Raises WrongAnswer with the first thing that is not as the contract says."""
    answer = workload.answer
    if reply.status != answer.status:
        raise WrongAnswer(f"{asked}: status {reply.status}", f"the contract says {answer.status}")
    # Parameters such as charset are the server's own affair.
    if reply.content_type.partition(";")[0].strip().lower() != answer.content_type.partition(";")[0].lower():
        message = f"{asked}: content type {reply.content_type}"
        raise WrongAnswer(message, f"the contract says {answer.content_type}")
    fault = workload.answer_to(parameters).check(reply.body)
    if fault:
        raise WrongAnswer(f"{asked}: {fault.message}", fault.remedy)


def _kept_or_not(asked: str, reply: Reply, keeps: bool) -> None:
    if reply.closes and keeps:
        raise WrongAnswer(f"{asked}: it closes the connection", "keep it open, as HTTP/1.1 does")
    if not reply.closes and not keeps:
        message = f"{asked}: it does not say that it closes the connection"
        raise WrongAnswer(message, "answer with Connection: close, or leave out keep_alive = false")


def named(request: Request) -> str:
    """How a request is named in a sentence."""
    return f"{request.method} {request.path}"
