"""What a load is secret about is in the engine's memory on the load host and nowhere else; nobody listens."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import lost_hosts
import other_hosts
import pytest
import real_engine
import secure_shell
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from lost_hosts import There
from other_hosts import Host

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

TOKEN, BODY = "Bearer token-of-the-test", "body-of-the-test"
# Each of these is in a process's arguments or environment, or in a file, if anything of it is.
PROCESSES = 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr "\\0" "\\n"'
FILES = f"find /run /tmp {Path.home()} -type f -print -exec cat {{}} +"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[There]:
    if why := other_hosts.why_not() or secure_shell.why_not():
        pytest.skip(why)
    with lost_hosts.loading_host(tmp_path, real_engine.loaded().path) as there:
        monkeypatch.setenv("PATH", there.shell.path)
        yield there


def test_nothing_secret_is_in_an_argument_the_environment_or_a_file_of_the_load_host(
    there: There, tmp_path: Path
) -> None:
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=client", "-days", "2"]
    subprocess.run(
        [*asked, "-keyout", "k.pem", "-out", "c.pem"], cwd=tmp_path, check=True, capture_output=True
    )
    files = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("k.pem", "c.pem")} | {"b": BODY}
    spec = json.loads(lost_hosts.spec(there))
    spec["files"] = [
        {"name": name, "base64": base64.b64encode(content.encode()).decode()}
        for name, content in files.items()
    ]
    spec["requests"][0]["headers"] = [["Authorization", TOKEN]]
    spec["requests"][0] |= {"method": "POST", "body_file": "b"}
    client = {"cert_file": "c.pem", "key_file": "k.pem"}
    spec["target"]["tls"] = {"server_name": "x", "verify": False, "ca_file": None, "client": client}
    secrets = [TOKEN, BODY, *files["k.pem"].splitlines()[1:3], spec["files"][0]["base64"][:60]]
    with LoadHost(where.read("loader"), there.engine) as host, host.link() as link:
        link.load(json.dumps(spec))
        assert link.listen(lambda _: None, 60)
        link.go()
        link.end()
        during = seen(there.host)
        assert not link.listen(lambda _: None, 60)
    assert there.engine.name in during and "serve" in during
    assert [each for each in secrets if each in during + seen(there.host)] == []


def test_nobody_listens_who_did_not_before(there: There) -> None:
    def listening() -> tuple[set[str], set[tuple[str, str]]]:
        here = subprocess.run(["ss", "-Hltunx"], capture_output=True, text=True, check=True).stdout
        named = ("crumple", there.link.addresses[0])
        # What is queued changes, and a crumple of a test beside this one takes its turn.
        places = {(line.split()[0], line.split()[4]) for line in here.splitlines() if "-turn" not in line}
        return there.host.listeners(), {each for each in places if any(name in each[1] for name in named)}

    before = listening()
    with LoadHost(where.read("loader"), there.engine) as host, host.link() as link:
        link.load(lost_hosts.spec(there))
        assert link.listen(lambda _: None, 60)
        link.go()
        assert other_hosts.at_last(lambda: there.server.last_s > 0)
        during = listening()
        link.end()
        assert not link.listen(lambda _: None, 60)
        assert json.loads(link.record())["outcomes"] is not None
    assert before == during == listening()


def seen(host: Host) -> str:
    """All that can be read there of processes and files, but for the engine's own program."""
    return "".join(
        host.run("sh", "-c", each, encoding="utf-8", errors="replace", check=False).stdout
        for each in (PROCESSES, FILES)
    )
