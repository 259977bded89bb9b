"""Servers that end, stall or refuse under load: no figure rests on no answers, and the cause is named.

Some of each verb; corpus/deaths.py has all ways at all times.
"""

from pathlib import Path

import dying_servers
import pytest
import real_engine
from command_line import Call, with_store
from dying_servers import WAYS

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# (verb, how, when in seconds after the first request): a load warms up for one second and is measured for
# two; a search guesses for three seconds, of which two are its warm-up.
CASES = [
    ("load", "killed", "1.6"),
    ("load", "exits", "0.4"),
    ("load", "stopped", "2.75"),
    ("load", "fails", "2.0"),
    ("load", "crawls", "1.8"),
    ("find", "killed", "0.5"),
    ("find", "exits", "2.5"),
    ("find", "hangs", "4.5"),
    ("versus", "killed", "6.5"),
    ("diagnose", "exits", "1.5"),
    ("diagnose", "stopped", "3.0"),
]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` with a store of its own."""
    real_engine.used(monkeypatch)
    return with_store(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize(("verb", "how", "when"), CASES, ids=lambda each: str(each).replace(" ", "-"))
def test_a_server_that_is_lost_has_no_figures_of_the_time_after(
    call: Call, verb: str, how: str, when: str
) -> None:
    with dying_servers.serving("lives") as other, dying_servers.serving(how, when) as served:
        code, out, err = call(*dying_servers.words(verb, served.url, other.url))
    assert dying_servers.faults(verb, WAYS[how], code, out, err) == [], err


def test_a_server_that_lives_is_not_lost(call: Call) -> None:
    with dying_servers.serving("lives") as served:
        code, out, _ = call("load", served.url, "-z", "1s", "-c", "8", "--quiet", "--json")
    document = dying_servers.json.loads(out)
    assert document["lost"] is None and document["outcomes"]["ok"] > 0, code


# A search on a busy machine names the limiter, and may have no rate for it.
@pytest.mark.parametrize("verb", ["load", pytest.param("find", marks=pytest.mark.alone)])
def test_a_limiter_is_named_with_its_rate(call: Call, verb: str) -> None:
    asked = {
        "load": ["--rate", "600", "-z", "2s", "--warm-up", "1s"],
        "find": ["--budget", "20s", "--objective", "p99<200ms, failed<0.1%"],
    }
    with dying_servers.serving("limits") as served:
        _, out, _ = call(verb, served.url, *asked[verb], "--quiet", "--json")
    document = dying_servers.json.loads(out)
    (found,) = (each for each in document["findings"] if each["kind"] == "finding")
    assert found["cause"] == "limiter" and "429 with Retry-After: 1" in found["evidence"], found
    (rate,) = dying_servers.re.findall(r"it lets ([\d,]+)", found["evidence"])
    # Its bucket holds 20 at first.
    assert 180 <= float(rate.replace(",", "")) <= 230, found
