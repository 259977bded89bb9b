"""Studies: variants, scales and their shapes, and what the project's own studies keep."""

from pathlib import Path

import documents
import pytest
from crumple import parsing
from crumple.errors import FileInvalid, UsageError
from crumple.study import study
from crumple.study.claim import OrderClaim, RatioClaim
from crumple.study.names import Known
from crumple.study.study_load import OpenShape, RampShape, Scale, WarmUp
from made_studies import FILE, KNOWN, QUICK, SHAPE, changed, problems

ROOT = Path(__file__).parents[3]


def test_a_variant_has_its_label_wherever_it_is_named() -> None:
    typed, label = "go-nethttp[workers=9, keep_alive=0]", "go-nethttp[keep_alive=0,workers=9]"
    written = changed("experiments", "shared", "servers", to=[typed, *documents.KNOWN_SERVERS])
    shared = written["experiments"]["shared"]
    shared["twin"] = typed
    shared["scales"]["quick"]["warm_up_of"] = {typed: {"duration_s": 9}}
    written["claims"][0]["tiers"] = [[typed], ["go-nethttp"]]
    written["claims"][1]["pairs"] = [{"of": typed, "to": "go-nethttp", "published": 2}]
    meant = study.parse(written, FILE, KNOWN)
    experiment = meant.experiments["shared"]
    assert experiment.servers[0] == experiment.twin == label
    assert experiment.scales["quick"].warm_up_for(label) == WarmUp(duration_s=9)
    assert experiment.scales["quick"].warm_up_for("go-nethttp") == WarmUp(duration_s=1)
    order, ratio = meant.claims
    assert isinstance(order, OrderClaim) and order.tiers[0] == (label,)
    assert isinstance(ratio, RatioClaim) and ratio.pairs[0].of == label


def test_the_warm_up_of_a_server_applies_to_its_variants() -> None:
    quick = Scale.model_validate(
        {"blocks": 1, "warm_up_of": {"java": {"duration_s": 24}}, "stop": {"duration_s": 4}}
    )
    assert quick.warm_up_for("java[threads=9]") == quick.warm_up_of["java"]


RAMP = {"kind": "ramp", "from": 0, "to": 500, "over_s": 300, "pause_ms": 1000, "pause": "exponential"}


def test_a_scale_may_shorten_a_shape() -> None:
    written = changed("experiments", "shared", "shape", to=RAMP)
    quick = written["experiments"]["shared"]["scales"]["quick"]
    quick |= {"shape": {"over_s": 40}, "stop": {"duration_s": 40}, "parameters": {"delay_ms": 7}}
    quick["note"] = "the ramp takes 40 s instead of 5 min"
    full = {"blocks": 1, "stop": {"duration_s": 300}}
    written["experiments"]["shared"]["scales"]["full"] = full
    meant = study.parse(written, FILE, KNOWN)
    for scale, over_s, parameters in (("quick", 40, {"delay_ms": 7}), ("full", 300, {})):
        at_scale = meant.at(scale).experiments["shared"]  # type: ignore[arg-type]
        assert isinstance(at_scale.shape, RampShape) and at_scale.parameters == parameters
        assert at_scale.shape == RampShape.model_validate({**RAMP, "over_s": over_s})
    assert study.Study.model_validate_json(meant.at("quick").model_dump_json(by_alias=True)) == meant.at(
        "quick"
    )


def test_a_scale_may_have_another_kind_of_shape() -> None:
    written = changed(*QUICK, "shape", to={"kind": "open", "rate_per_s": 100})
    shape = study.parse(written, FILE, KNOWN).at("quick").experiments["shared"].shape
    assert shape == OpenShape(kind="open", rate_per_s=100)


def test_an_experiment_without_that_scale_is_left_out() -> None:
    written = changed("experiments", "shared", "scales", "full", to={"blocks": 1, "stop": {"duration_s": 1}})
    meant = study.parse(written, FILE, KNOWN)
    assert list(meant.at("full").experiments) == ["shared"]
    assert list(meant.at("quick").experiments) == ["shared", "separate"]
    with pytest.raises(UsageError, match="no experiment has a scale published; choose among quick, full"):
        meant.at("published")


def test_an_open_shape_warms_up_for_a_time() -> None:
    written = changed(*SHAPE, to={"kind": "open", "rate_per_s": 100})
    written["experiments"]["shared"]["scales"]["quick"]["warm_up"] = {"requests": 9, "within_s": 3}
    (problem,) = problems(written)
    assert problem.remedy == "write warm_up = { duration_s = … }"


def test_threads_and_warm_up_fit_the_shape_of_every_scale() -> None:
    written = changed(*QUICK, "shape", to={"connections": 2})
    written["experiments"]["shared"]["threads"] = 3
    assert "2 connections" in problems(written)[0].message
    written["experiments"]["shared"]["threads"] = 1
    written["experiments"]["shared"]["scales"]["quick"]["warm_up"] = {"duration_s": 1, "connections": 3}
    assert "set warm_up.connections to 2 or fewer" in problems(written)[0].remedy


def test_the_projects_own_studies_are_valid() -> None:
    written = parsing.read_toml(ROOT / "studies" / "todo-json.toml")
    servers = {name for table in written["experiments"].values() for name in table["servers"]}
    known = Known(dict.fromkeys(servers, ("todos",)), {"todos": ()}, ("throughput",))
    todo = study.parse(written, Path("todo-json.toml"), known)
    assert [claim.id for claim in todo.claims] == [f"TJ-{number}" for number in range(1, 7)]
    for experiment in todo.experiments.values():
        assert set(experiment.scales) >= {"full", "published"}


def test_the_twin_takes_part_in_every_block() -> None:
    written = changed("experiments", "shared", "scales", "quick", "blocks_of", to={"go-nethttp": 1})
    written["experiments"]["shared"]["twin"] = "go-nethttp"
    with pytest.raises(FileInvalid, match="the twin, in 1 of 3 blocks"):
        study.parse(written, FILE, KNOWN)


@pytest.mark.parametrize("least", [None, 2, 3])
def test_a_scale_may_judge_before_its_last_block(least: int | None) -> None:
    written = changed("experiments", "shared", "scales", "quick", "least_blocks", to=least)
    read = study.parse({**written}, FILE, KNOWN).experiments["shared"].scales["quick"]
    assert (read.least_blocks, read.blocks) == (least, 3)


def test_a_server_may_take_part_in_fewer_blocks() -> None:
    scale = Scale.model_validate(
        {"blocks": 5, "blocks_of": {"php": 2, "php[workers=9]": 3, "go": 7}, "stop": {"duration_s": 4}}
    )
    expected = {"php": 2, "php[workers=8]": 2, "php[workers=9]": 3, "go": 5, "java": 5}
    assert {server: scale.blocks_for(server) for server in expected} == expected


def test_a_server_may_have_a_warm_up_of_its_own() -> None:
    scale = Scale.model_validate(
        {
            "blocks": 1,
            "warm_up": {"duration_s": 4},
            "warm_up_of": {"java": {"duration_s": 24}},
            "stop": {"duration_s": 4},
        }
    )
    assert (scale.warm_up_for("java"), scale.warm_up_for("go")) == (scale.warm_up_of["java"], scale.warm_up)
    assert [warm_up.duration_s for warm_up in scale.warm_ups] == [4, 24]
