"""The user's own servers beside those of a study: a folder anywhere, or a server that runs already."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import one_run
import pytest
import tiny_runs
import tiny_servers
from crumple.errors import CrumpleError, UsageError
from crumple.run import ready, runs
from crumple.run.ready import Elsewhere

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b"Hello, World!"

    def do_GET(self) -> None:
        known = self.path.startswith("/hello")
        body = self.body if known else b"no"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class _Wrong(_Handler):
    body = b"Hullo, World!"


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server in this test's process; parametrised with its handler."""
    handler = getattr(request, "param", _Handler)
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    served.daemon_threads = True
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_address[1]}"
    served.shutdown()
    served.server_close()


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return tiny_runs.project(monkeypatch, tmp_path)


def test_a_server_in_any_folder_is_measured_and_found_again_on_resume(root: Path, tmp_path: Path) -> None:
    folder = tiny_servers.write(tmp_path / "elsewhere", "mine")
    begun = tiny_runs.begin(root, str(folder))
    assert begun.file.brought == {"mine": str(folder)}
    assert {trial.server for trial in begun.file.plan.trials} == {"tiny", "mine"}
    one_run.execute(runs.narrow(begun, "shared/b01/mine"), root, tiny_runs.Quiet())
    again = runs.resume(begun.store, retry_failed=False)
    assert len(again.to_do) == 2
    one_run.execute(again, root, tiny_runs.Quiet())
    stored = {each.trial.id: each for each in begun.store.trials()}
    assert {each.status for each in stored.values()} == {"measured"}
    assert begun.file.servers["mine"].title == "Tiny" and stored["shared/b01/mine"].server.versions["python"]


def test_restricting_the_servers_keeps_the_users_own(root: Path, tmp_path: Path) -> None:
    tiny_servers.write(root, "other")
    folder = tiny_servers.write(tmp_path / "elsewhere", "mine")
    begun = tiny_runs.begin(root, str(folder), only=("tiny",))
    assert begun.file.study.experiments["shared"].servers == ("tiny", "mine")


def test_a_running_server_is_measured_and_not_stopped(root: Path, url: str) -> None:
    begun = tiny_runs.begin(root, url)
    label = url.removeprefix("http://")
    one_run.execute(runs.narrow(begun, f"shared/b01/{label}"), root, tiny_runs.Quiet())
    (stored,) = begun.store.trials()
    assert stored.status == "measured" and stored.record is not None and stored.record.outcomes.ok > 0
    assert stored.server.start_s is None and stored.server.settings == {}
    assert any("the same process in every trial" in warning for warning in stored.warnings)
    assert "the same process in every trial" in begun.file.servers[label].about
    # The server still runs, and a resumed run finds it by its URL.
    assert runs.resume(begun.store, retry_failed=False).file.brought == {label: url}
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, tiny_runs.Quiet())
    assert all(each.status == "measured" for each in begun.store.trials())


@pytest.mark.parametrize("url", [_Wrong], indirect=True)
def test_a_running_server_with_wrong_answers_is_refused_with_the_difference(root: Path, url: str) -> None:
    with pytest.raises(
        CrumpleError, match=r"answers no workload of the study as expected: GET /hello.*differ"
    ):
        tiny_runs.begin(root, url)
    assert not (root / "runs").exists()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("./no-such-folder", "there is no server.toml; name a folder that has one, or the URL"),
        ("https://127.0.0.1:1", "studies use plain HTTP; write http://"),
        ("http://127.0.0.1:1/base", "the path comes from the workload; write http://127.0.0.1:1"),
        ("http://[::1]:1", "studies use IPv4"),
        ("http://8.8.8.8:80", "neither a loopback nor a private address; to load it anyway"),
        ("ftp://127.0.0.1", "ftp is not HTTP"),
    ],
)
def test_a_place_that_is_no_server_is_refused_with_a_reason(place: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        ready.read(place, ())
    assert said in str(caught.value)


def test_a_folder_with_the_name_of_a_server_is_refused(tmp_path: Path) -> None:
    folder = tiny_servers.write(tmp_path, "tiny")
    with pytest.raises(UsageError, match="a server named tiny already exists; rename the folder"):
        ready.read(str(folder), {"tiny"})


def test_the_label_of_a_url_is_its_host_and_port() -> None:
    found = ready.read("http://127.0.0.1:8080/", ())
    assert found == ready.Brought(
        "127.0.0.1:8080", "http://127.0.0.1:8080", Elsewhere("http://127.0.0.1:8080", "127.0.0.1:8080")
    )
