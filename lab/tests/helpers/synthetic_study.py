"""The made-up study of `synthetic_run`, and the figures of its made-up servers."""

from dataclasses import dataclass

from crumple.study.study import Study


@dataclass(frozen=True)
class Nature:
    """A made-up server. `warms_s`: how long its speed rises; `tail`: sigma of the log response time."""

    title: str
    language: str
    io_model: str
    version: tuple[str, str]
    throughput_per_s: float
    user_us: float
    kernel_us: float
    memory_mib: float
    warms_s: float
    tail: float
    processes: int = 1
    threads: int = 1


SERVERS = {
    "go-nethttp": Nature(
        "Go net/http", "Go", "green-threads", ("go", "1.26.8"), 31_800, 21, 17, 14, 0.1, 0.30, threads=8
    ),
    "java-grizzly-same": Nature(
        "Jersey on Grizzly, SameThread",
        "Java",
        "event-loop",
        ("java", "21.0.9"),
        18_900,
        38,
        19,
        310,
        1.2,
        0.42,
        threads=31,
    ),
    "java-grizzly-worker": Nature(
        "Jersey on Grizzly, WorkerThread",
        "Java",
        "hybrid",
        ("java", "21.0.9"),
        19_700,
        36,
        21,
        325,
        1.3,
        0.46,
        threads=43,
    ),
    "node-cluster": Nature(
        "Node http, cluster of 4",
        "JavaScript",
        "event-loop-per-core",
        ("node", "24.11.1"),
        17_600,
        37,
        25,
        255,
        0.4,
        0.55,
        processes=5,
        threads=55,
    ),
    "node-http": Nature(
        "Node http",
        "JavaScript",
        "event-loop",
        ("node", "24.11.1"),
        17_100,
        38,
        22,
        71,
        0.4,
        0.22,
        threads=11,
    ),
    "node-express-cluster": Nature(
        "Express, cluster of 4",
        "JavaScript",
        "event-loop-per-core",
        ("node", "24.11.1"),
        12_100,
        58,
        26,
        290,
        0.5,
        0.6,
        processes=5,
        threads=55,
    ),
    "node-express": Nature(
        "Express", "JavaScript", "event-loop", ("node", "24.11.1"), 9_200, 69, 23, 84, 0.5, 0.25, threads=11
    ),
}

DID = """Five programs answered a small todo list as JSON on a laptop with two cores, which the load generator
shared:

- 100,000 requests on 32 connections, after
- 100,000 on one connection to warm up.

The bodies were *not* the same bytes: Go answered 609, Jersey 418, Node 522."""
DIFFERS = """Here every server answers **the same 523 bytes**, in current releases, and every start is a fresh
process. `h2load` is replaced by the engine, which checks each answer."""

STUDY = Study.model_validate(
    {
        "name": "todo-json",
        "title": "Todo lists as JSON: Java, Go and Node.js",
        "question": "Does Go answer a small JSON document faster than Java and Node.js, and by how much?",
        "article": {
            "title": "Http performance Java (Jersey) vs. Go vs. NodeJS",
            "author": "n1try",
            "published": "2016-11-19",
            "updated": "2017-01-01",
        },
        "prose": {
            "did": DID,
            "differs": DIFFERS,
        },
        "experiments": {
            "shared": {
                "title": "32 connections, sharing two cores",
                "about": "As the article ran it: engine and server share both cores.",
                "servers": list(SERVERS),
                "twin": "go-nethttp",
                "workload": "todos",
                "placement": "shared",
                "shape": {"kind": "closed", "connections": 32},
                "scales": {"quick": {"blocks": 3, "warm_up": {"duration_s": 1.5}, "stop": {"duration_s": 2}}},
            },
            "separate": {
                "title": "32 connections, a core each",
                "about": "The engine has a core of its own, the server the other.",
                "servers": list(SERVERS),
                "twin": "go-nethttp",
                "workload": "todos",
                "shape": {"kind": "closed", "connections": 32},
                "scales": {"quick": {"blocks": 3, "warm_up": {"duration_s": 1.5}, "stop": {"duration_s": 2}}},
            },
        },
        "claims": [
            {
                "id": "TJ-1",
                "text": "Go is fastest.",
                "kind": "order",
                "experiment": "shared",
                "metric": "throughput",
                "tiers": [["go-nethttp"], [name for name in SERVERS if name != "go-nethttp"]],
            },
            {
                "id": "TJ-2",
                "text": "Java on Grizzly is second.",
                "kind": "order",
                "experiment": "shared",
                "metric": "throughput",
                "tiers": [
                    ["java-grizzly-same", "java-grizzly-worker"],
                    ["node-cluster", "node-http", "node-express-cluster", "node-express"],
                ],
            },
            {
                "id": "TJ-3",
                "text": "Express is about half as fast as plain http.",
                "kind": "ratio",
                "experiment": "shared",
                "metric": "throughput",
                "pairs": [{"of": "node-express", "to": "node-http", "published": 0.51}],
            },
            {
                "id": "TJ-4",
                "text": "Go is almost six times as fast as Express.",
                "kind": "ratio",
                "experiment": "shared",
                "metric": "throughput",
                "pairs": [{"of": "go-nethttp", "to": "node-express", "published": 5.8}],
            },
            {
                "id": "TJ-5",
                "text": "A cluster gains about 45 %.",
                "kind": "ratio",
                "experiment": "shared",
                "metric": "throughput",
                "pairs": [
                    {"of": "node-cluster", "to": "node-http", "published": 1.45},
                    {"of": "node-express-cluster", "to": "node-express", "published": 1.34},
                ],
            },
            {
                "id": "TJ-6",
                "text": "SameThread gains about 10 % over WorkerThread.",
                "kind": "ratio",
                "experiment": "separate",
                "metric": "throughput",
                "pairs": [{"of": "java-grizzly-same", "to": "java-grizzly-worker", "published": 1.10}],
            },
        ],
    }
)
