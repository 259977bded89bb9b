"""Which process is watched beside a load: that which listens at the URL, or why it is none."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import synthetic_load
from crumple.errors import UsageError
from crumple.load import load_plan, target, watching
from crumple.load.load_flags import LoadFlags, TargetFlags
from crumple.load.load_options import Options
from crumple.load.report import load_sentences as say
from crumple.machine import process_tree, program, serving
from crumple.machine.containers import container_in
from crumple.machine.serving import Served

LISTENS = (
    "import socket, sys, time; s = socket.create_server((sys.argv[1], int(sys.argv[2]))); "
    "print(s.getsockname()[1], flush=True); time.sleep(600)"
)
FAR = "http://10.98.76.2:8080/"
ID = "1f3a5c7d9e0b" + "0123456789abcdef" * 3 + "0123"


@contextmanager
def listening() -> Iterator[tuple[int, int]]:
    """A process of its own that listens; its pid and its port."""
    command = [sys.executable, "-c", LISTENS, "127.0.0.1", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def found(url: str, *, unix_socket: str | None = None, proxy: str | None = None) -> tuple[int | None, str]:
    resolved = target.resolve(url, TargetFlags(unix_socket=unix_socket, proxy=proxy))
    options, why = watching.watch(Options(), resolved)
    return options.server_pid, why


@pytest.mark.starts
@pytest.mark.parallel
def test_the_process_that_listens_is_watched_by_itself() -> None:
    with listening() as (pid, port):
        url = f"http://127.0.0.1:{port}/"
        plan = load_plan.plan(url, LoadFlags())
        assert (plan.spec.probe.server_pid, plan.unwatched) == (pid, "")
        assert plan.spec.probe.stages and plan.spec.probe.tasks and plan.spec.probe.dependencies
        plan = load_plan.plan(url, LoadFlags(no_watch=True))
        assert (plan.spec.probe.server_pid, plan.unwatched) == (None, "")
        for short in (LoadFlags(requests=49), LoadFlags(duration="900ms")):
            plan = load_plan.plan(url, short)
            assert (plan.spec.probe.server_pid, plan.unwatched) == (None, "")
        for long in (LoadFlags(requests=50), LoadFlags(duration="1s")):
            assert load_plan.plan(url, long).spec.probe.server_pid == pid
        assert load_plan.plan(url, LoadFlags(watch=str(os.getpid()))).spec.probe.server_pid == os.getpid()
        with pytest.raises(UsageError, match="--watch names a process, and --no-watch watches none"):
            load_plan.plan(url, LoadFlags(watch=str(pid), no_watch=True))


@pytest.mark.starts
@pytest.mark.parallel
def test_crumple_does_not_watch_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listens:
        port = listens.getsockname()[1]
        why = f"crumple itself runs in what listens on port {port}; serve from another process, or name one:"
        assert found(f"http://127.0.0.1:{port}/") == (None, f"{why} --watch PID")


def test_a_process_that_cannot_be_found_has_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def whose(*_: object) -> int:
        raise UsageError("whoever listens on port 8080 belongs to another user", "run as that user")

    monkeypatch.setattr(process_tree, "owner", whose)
    assert found("http://127.0.0.1:8080/") == (
        None, "whoever listens on port 8080 belongs to another user; run as that user"
    )  # fmt: skip
    pid, why = found("http://127.0.0.1/", proxy="http://127.0.0.1:3128")
    assert pid is None and why.startswith("the proxy 127.0.0.1:3128 is in front of it; name its process")
    monkeypatch.setattr(serving, "at", lambda *_, **__: None)
    assert found(FAR) == (None, "it is not on this machine; run crumple where it is")


def test_a_server_in_another_namespace_is_watched_where_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "at", lambda *_, **__: Served(4711, "10.0.2.100:80", "slirp4netns"))
    options, why = watching.watch(Options(), target.resolve(FAR))
    assert (options.server_pid, options.server_address, why) == (4711, "10.0.2.100:80", "")


def test_a_program_that_passes_on_to_nobody_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "of", lambda pid: program.Program(pid, "docker-proxy"))
    monkeypatch.setattr(serving, "at", lambda *_, **__: Served(4711))
    pid, why = found(FAR)
    assert pid is None and why.startswith("docker-proxy takes connections there, and none of them arrives")
    monkeypatch.setattr(serving, "at", lambda *_, **__: Served(4711, "10.0.2.100:80"))
    assert found(FAR) == (4711, "")


def test_of_another_users_container_the_command_is_named_that_sees_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "at", lambda *_, **__: Served(4711, "10.0.2.100:80", is_foreign=True))
    monkeypatch.setattr(sys, "argv", ["/usr/bin/crumple", "load", FAR, "-c", "8", "-H", "Cookie: SEKRIT"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    seen = (
        "process 4711 is another user's, so that its connections and files are not seen; as root they are: "
    )
    again = f"/usr/bin/crumple load {FAR} -c 8 -H 'Cookie: …'"
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/sudo")
    assert found(FAR) == (4711, f"{seen}sudo {again}")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert found(FAR) == (4711, f"{seen}{again}")


def test_a_reason_stands_beside_what_the_server_cost_or_in_its_place() -> None:
    load = synthetic_load.constant()
    assert load.server is not None
    assert say.server(synthetic_load.remade(load, unwatched="elsewhere")) == f"{say.server(load)}; elsewhere"
    shop = synthetic_load.remade(load, program=program.Program(4711, "perl", "shop"))
    assert say.server(shop) == f"process 4711 in container shop: {say.server(load)}"
    unwatched = synthetic_load.closed()
    assert unwatched.record.probes.server is None
    assert say.server(unwatched) == ""
    assert say.server(synthetic_load.remade(unwatched, unwatched="why")) == "not watched: why"


@pytest.mark.parametrize(
    ("groups", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", ID[:12]),
        (f"12:memory:/docker/{ID}\n0::/\n", ID[:12]),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n", ID[:12]),
        (f"0::/user.slice/user-1000.slice/user@1000.service/libpod-{ID}.scope/container\n", ID[:12]),
        ("0::/lxc.payload.shop-1/init.scope\n", "shop-1"),
        ("0::/user.slice/user-1000.slice/session-2.scope\n", ""),
        (f"4:memory:/process_api/{ID[:32]}\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_container_is_named_by_the_control_groups(groups: str, container: str) -> None:
    assert container_in(groups) == container


@pytest.mark.starts
@pytest.mark.parallel
def test_a_program_is_named_with_its_script_and_without_other_words(tmp_path: Path) -> None:
    script = tmp_path / "shop.py"
    script.write_text("print('ready', flush=True)\nimport time\ntime.sleep(600)\n")
    command = [sys.executable, "-u", str(script), "--password=secret", "secret"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            seen = program.of(process.pid)
        finally:
            process.kill()
    assert seen is not None and seen.pid == process.pid and seen.container == ""
    assert seen.name.startswith("python") and seen.name.endswith(" shop.py")
    assert program.of(process.pid) is None
