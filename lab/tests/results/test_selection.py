"""Which servers a run takes: a name selects all its variants, a variant itself; the user's own are added."""

from typing import Any

import documents
import pytest
from crumple.errors import UsageError
from crumple.study.study import Canary, Study
from crumple.study.which_servers import add_server, restrict, with_twins_that_run
from crumple.subject.server_toml import Setting

KNOWN: dict[str, dict[str, Setting]] = {name: {"workers": 4} for name in documents.KNOWN_SERVERS}
FEW = "go-nethttp[workers=1]"


def _with(**changes: Any) -> Study:
    demo = documents.study()
    experiments = {name: each.model_copy(update=changes) for name, each in demo.experiments.items()}
    return demo.model_copy(update={"experiments": experiments})


def _chosen(study: Study, *names: str) -> tuple[tuple[str, ...], str]:
    shared = restrict(study, names, KNOWN).experiments["shared"]
    return shared.servers, shared.twin


def test_some_servers_keep_their_order_and_a_twin() -> None:
    assert _chosen(documents.study(), "node-express", "node-http") == (
        ("node-http", "node-express"),
        "node-http",
    )
    assert _chosen(documents.study(), "go-nethttp") == (("go-nethttp",), "go-nethttp")


def test_a_name_selects_the_server_and_its_variants() -> None:
    listed = _with(servers=("go-nethttp", FEW, "node-http"), twin="go-nethttp")
    assert _chosen(listed, "go-nethttp") == (("go-nethttp", FEW), "go-nethttp")
    assert _chosen(listed, FEW) == ((FEW,), FEW)
    only_variants = _with(servers=(FEW, "go-nethttp[workers=2]"), twin=FEW)
    assert _chosen(only_variants, "go-nethttp")[0] == (FEW, "go-nethttp[workers=2]")


def test_a_variant_that_is_not_listed_runs_in_its_servers_experiments() -> None:
    assert _chosen(documents.study(), " go-nethttp[workers=01]") == ((FEW,), FEW)
    both = _chosen(documents.study(), "node-http", "go-nethttp", FEW)
    assert both == (("go-nethttp", FEW, "node-http"), "go-nethttp")
    without = _with(servers=("node-http",), twin="node-http")
    with pytest.raises(UsageError, match="go-nethttp is not in it: study demo has node-http; name one"):
        _chosen(without, FEW)


def test_an_experiment_left_without_servers_is_removed() -> None:
    demo = documents.study()
    separate = demo.experiments["separate"].model_copy(update={"servers": ("node-http",)})
    demo = demo.model_copy(update={"experiments": {**demo.experiments, "separate": separate}})
    assert list(restrict(demo, ["go-nethttp"], KNOWN).experiments) == ["shared"]


def test_a_twin_moves_to_a_server_that_can_run() -> None:
    def twins(study: Study, *missing: str) -> list[str]:
        experiments = with_twins_that_run(study, missing).experiments
        assert all(each.servers == study.experiments[name].servers for name, each in experiments.items())
        return [each.twin for each in experiments.values()]

    assert twins(documents.study()) == twins(documents.study(), *KNOWN) == ["go-nethttp", "node-http"]
    assert twins(documents.study(), "go-nethttp") == ["node-http", "node-http"]
    assert twins(documents.study(), "go-nethttp", "node-http") == ["node-express", "node-express"]
    # A variant cannot run where its server cannot.
    assert twins(_with(servers=(FEW, "node-http"), twin=FEW), "go-nethttp") == ["node-http", "node-http"]


def test_a_twin_moves_to_a_server_that_is_in_every_block() -> None:
    shared = documents.study().experiments["shared"]
    scales = {"quick": shared.scales["quick"].model_copy(update={"blocks_of": {"node-http": 1}})}
    fewer = documents.study().model_copy(
        update={"experiments": {"shared": shared.model_copy(update={"scales": scales})}}
    )
    moved = with_twins_that_run(fewer, {"go-nethttp"})
    assert moved.experiments["shared"].twin == "node-express"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("node-htp", "study demo has no server node-htp; did you mean node-http or"),
        ("node-htp[workers=1]", "did you mean node-http or"),
        ("go-nethttp[worker=1]", "did you mean workers?"),
        ("go-nethttp[workers=x]", "wants a whole number there"),
        ("go-nethttp[workers=1", "is no server with settings"),
    ],
)
def test_an_unknown_server_is_refused(name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        _chosen(documents.study(), name)
    assert said in str(caught.value)


def test_the_users_own_server_joins_experiments_that_it_answers() -> None:
    demo = add_server(documents.study(), "mine", ["hello", "todos"])
    assert all(each.servers[-1] == "mine" for each in demo.experiments.values())
    assert demo.experiments["shared"].twin == "go-nethttp"
    beside = _with(canary=Canary(workload="todos"))
    assert add_server(beside, "mine", ["hello", "todos"]).experiments["shared"].servers[-1] == "mine"
    with pytest.raises(UsageError, match="mine answers hello, study demo asks hello, todos"):
        add_server(beside, "mine", ["hello"])
    with pytest.raises(UsageError, match="has a server go-nethttp already"):
        add_server(documents.study(), "go-nethttp", ["hello"])
