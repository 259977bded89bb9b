"""Before a study is dealt to hosts, each must have this crumple, and it is said which are alike."""

from typing import Any

from crumple.cluster import cluster_hosts
from crumple.cluster.cluster_hosts import FoundHost
from crumple.run.run_file import Host

OWN = {"crumple": "0.1.0 aaaa", "its engine": "bbbb", "server tiny": "cccc"}
FACTS = {"cpu_model": "A CPU", "cores": 4, "kernel": "6.8.0", "memory_bytes": 8 << 30}


def _host(name: str, go: str = "1.26", **facts: Any) -> FoundHost:
    host = Host(id=name, machine={**FACTS, **facts}, versions={"go-nethttp": {"go": go}})
    return FoundHost(name=name, host=host, programs=OWN)


def test_a_host_with_the_same_programs_is_taken() -> None:
    assert cluster_hosts.other_programs("loader", OWN, OWN) is None
    # Servers that the study does not use are no matter.
    assert cluster_hosts.other_programs("loader", {**OWN, "server other": "dddd"}, OWN) is None


def test_one_line_says_what_of_a_host_is_of_another_version_and_the_remedy() -> None:
    there = {**OWN, "crumple": "0.2.0 aaaa", "server tiny": "eeee"}
    error = cluster_hosts.other_programs("loader", there, OWN)
    assert str(error) == (
        "loader has another version of crumple and server tiny than this machine; "
        "put the same checkout or wheel of crumple there"
    )
    without = cluster_hosts.other_programs("loader", {}, OWN)
    assert "crumple, its engine and server tiny" in str(without)


def test_it_is_said_which_hosts_are_alike_and_how_others_differ() -> None:
    hosts = [_host("a"), _host("b"), _host("c", kernel="6.1.0"), _host("d", go="1.25")]
    assert [*cluster_hosts.alike(hosts)] == [
        "a and b are alike, as far as facts and versions tell",
        "c differs from a: kernel 6.1.0",
        "d differs from a: go 1.25",
    ]
    assert [*cluster_hosts.alike([_host("a")])] == []
    again = _host("b").model_copy(update={"host": _host("a").host})
    assert [*cluster_hosts.alike([_host("a"), again])] == [
        "a and b are one machine, which measures one block at a time: leave all but one out"
    ]
    assert [*cluster_hosts.alike([_host("a"), _host("b", cores=8)])] == ["b differs from a: cores 8"]
    without = _host("b").model_copy(update={"host": Host(id="b", machine=FACTS, versions={"go-nethttp": {}})})
    assert [*cluster_hosts.alike([_host("a"), without])] == ["b differs from a: go missing"]
