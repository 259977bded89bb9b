"""Another key for each request: what is kept per key no longer waits, and what is no key is left as it is."""

from typing import Any

import pytest
from crumple import contract
from crumple.experiment import key_parts, other_key
from crumple.observation.outcome import OtherKey
from experimenting import agrees, asked, served
from tried import until_shown


def found(**given: Any) -> dict[str, contract.RequestSpec]:
    """The parts of a request that may name a key, and the request with each varied."""
    return {each.name: each.requests[0] for each in key_parts.parts((asked(**{"path": "/", **given}),))}


def test_a_number_of_the_path_gets_others_near_it() -> None:
    parts = found(path="/shops/9001/orders/17?sort=asc")
    assert [*parts] == ["number 1 of the path", "number 2 of the path"]
    assert parts["number 1 of the path"].path == "/shops/{random:8874-9001}/orders/17?sort=asc"
    assert parts["number 2 of the path"].path == "/shops/9001/orders/{random:1-128}?sort=asc"
    assert all(each.varies for each in parts.values())


def test_a_number_of_the_query_is_varied_where_it_is_all_of_a_value() -> None:
    parts = found(path="/list?user=500&sort=a1&v=1.5")
    assert [(name, each.path) for name, each in parts.items()] == [
        ("user of the query", "/list?user={random:373-500}&sort=a1&v=1.5")
    ]


def test_the_end_of_an_id_is_varied_in_cookies_and_headers() -> None:
    headers = (("Cookie", "theme=dark; sid=ab12cd34; n=700"), ("X-Tenant", "acme-0042"))
    parts = found(headers=headers)
    assert {name: each.headers for name, each in parts.items()} == {
        "sid of Cookie": (("Cookie", "theme=dark; sid=ab12c{random:100-227}; n=700"), headers[1]),
        "n of Cookie": (("Cookie", "theme=dark; sid=ab12cd34; n={random:573-700}"), headers[1]),
        "header X-Tenant": (headers[0], ("X-Tenant", "acme-0{random:100-227}")),
    }


@pytest.mark.parametrize(
    "given",
    [
        {"path": "/hello/v2/007?page=&limit=abc"},
        {"headers": (("Authorization", "abcdef123456"), ("X-Api-Key", "abcdef123456"))},
        {"headers": (("Cookie", "access_token=abcdef123456; csrftoken=abc123def"),)},
        {"headers": (("If-None-Match", "abc123def"), ("User-Agent", "crumple1234"))},
        {"headers": (("X-Mode", "production"),)},
        {"path": "/orders/{random:1-9}/17", "varies": True},
        {"path": "/orders/17", "method": "DELETE"},
    ],
)
def test_what_is_no_key_or_may_be_a_credential_is_left_as_it_is(given: dict[str, Any]) -> None:
    assert found(**given) == {}


def test_braces_that_were_text_stay_text() -> None:
    parts = found(path="/17?filter={seq}", headers=(("X-Filter", "{a}"),), body='{"a": 1}')
    (varied,) = parts.values()
    assert varied.path == "/{random:1-128}?filter={{seq}"
    assert varied.headers == (("X-Filter", "{{a}"),) and varied.body == '{{"a": 1}'


def test_requests_without_that_part_stay_as_they_are() -> None:
    plain, numbered = asked("/"), asked("/orders/17")
    (part,) = key_parts.parts((plain, numbered))
    assert part.requests[0] == plain and part.requests[1].path == "/orders/{random:1-128}"


# A lock for each key predicts more than four.
SD_MAX = 0.1
COOKIE = asked("/", headers=(("Cookie", "id=session042"),))


def varied(kind: str) -> OtherKey:
    with served(kind, work=COOKIE) as bench:
        (part,) = key_parts.parts(bench.subject.work)
        tried = other_key.vary_key(bench, part)
    assert tried is not None and tried.part == "id of Cookie"
    return tried


@pytest.mark.starts
def test_with_a_lock_for_each_key_other_keys_do_not_wait() -> None:
    """28 of 128 keys are in flight at a time, and the machine takes in fewer while it is busy."""
    tried = varied("keys")
    assert tried.paired.ratio - 3 * tried.paired.sd > 4


@pytest.mark.starts
def test_at_one_gate_for_all_other_keys_wait_as_well() -> None:
    assert until_shown(lambda: agrees(varied("gate").paired, 1.0, SD_MAX))
