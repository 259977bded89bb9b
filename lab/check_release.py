"""Checks what is to be released: its version, and that it works where there is nothing else of crumple.

    .venv/bin/python lab/check_release.py wheel --python 3.11 --python 3.13    # make release-check
    .venv/bin/python lab/check_release.py image podman localhost/crumple       # make image-check

The wheel is that of this machine's kind in dist/. With each Python it is installed by pip, by uv and by pipx
in folders of their own. There it puts a load on a server of this machine, searches and diagnoses.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import build_wheels

ROOT = Path(__file__).resolve().parents[1]
# What an installation without extras may take, unpacked and not compiled.
ROOM_BYTES = 30e6
# They come with an environment.
NOT_OURS = {"pip", "setuptools"}
LIMIT_S = 300.0
# As docs/wheels.md has it: network and processes of the machine, and leave to read and sample what these do.
RUN_IMAGE = (
    "--rm",
    "--net=host",
    "--pid=host",
    "--cap-add=SYS_PTRACE",
    "--cap-add=PERFMON",
    "--security-opt=apparmor=unconfined",
)
# Waits for 20 ms in at most four requests at a time: it answers 200 a second at most.
MOST_PER_S = 200.0
SERVER = """
import http.server, threading, time
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, turns = "HTTP/1.1", -1, threading.Semaphore(4)
    def do_GET(self):
        with self.turns:
            time.sleep(0.02)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
server = Server(("127.0.0.1", 0), Answers)
print(server.server_port, flush=True)
server.serve_forever()
"""


class NotReadyError(Exception):
    """What must be mended before a release."""


def main(words: Sequence[str]) -> int:
    """Check what the words name; return 1 and say why if it is not ready."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    wheel = kinds.add_parser("wheel", help="the wheel in dist/")
    wheel.add_argument("--python", action="append", help="a version or a path; may be repeated")
    wheel.add_argument("--tag", help="the tag of the release, which must have the version")
    image = kinds.add_parser("image", help="an image that was built")
    image.add_argument("program", help="what runs it: docker or podman")
    image.add_argument("name", help="the name of the image")
    chosen = parser.parse_args(words)
    try:
        if chosen.kind == "image":
            check_image(chosen.program, chosen.name)
        else:
            check_version(chosen.tag)
            check_wheel(chosen.python or [sys.executable])
    except (NotReadyError, build_wheels.NotBuiltError) as why:
        print(f"not ready: {why}", file=sys.stderr)
        return 1
    return 0


def version() -> str:
    """Return the version of engine and lab."""
    manifest = tomllib.loads((ROOT / "engine" / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["package"]["version"])


def check_version(tag: str | None) -> None:
    """Return if the tag has the version, which has a date in the changelog. Raises NotReadyError."""
    if tag is None:
        return
    if tag != f"v{version()}":
        raise NotReadyError(f"the tag is {tag}, and engine/Cargo.toml has the version {version()}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version())}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        raise NotReadyError(f"CHANGELOG.md has no date for {version()}")
    print(f"ok: {tag} is the version, and the changelog has its date")


def check_wheel(pythons: Sequence[str]) -> None:
    """Return if the wheel in dist/ works with each Python. Raises NotReadyError."""
    name = build_wheels.name_of(version(), build_wheels.Kind(platform.machine()))
    wheel = ROOT / "dist" / name
    if not wheel.is_file():
        raise NotReadyError(f"dist/ has no {name}; run: make wheels")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        if not build_wheels.is_static(Path(archive.extract("crumple/bin/crumple-engine", folder))):
            raise NotReadyError("the engine in the wheel needs libraries of the system")
    for wanted in pythons:
        python = path_of_python(wanted)
        with tempfile.TemporaryDirectory(prefix="crumple-release-") as folder:
            check_installed(wheel, python, Path(folder))
            check_nothing_runs(Path(folder))
        print(f"ok: Python {wanted}")


def check_installed(wheel: Path, python: str, folder: Path) -> None:
    """Return if the wheel works with a Python, however it is installed. Raises NotReadyError."""
    for name, install in INSTALLERS.items():
        program = install(wheel, python, folder / name)
        check_versions(program)
        check_load(program, folder)
        print(f"ok: installed by {name}, it loads")
    program = folder / "pip" / "bin" / "crumple"
    check_room(program.parents[1])
    check_search_and_diagnosis([str(program)], folder)
    print("ok: it searches and diagnoses")


def check_image(program: str, name: str) -> None:
    """Return if the image works on this machine. Raises NotReadyError."""
    run = [program, "run", *RUN_IMAGE, name]
    with tempfile.TemporaryDirectory() as folder:
        check_search_and_diagnosis(run, Path(folder))
    print(f"ok: {name} searches and diagnoses")


def path_of_python(wanted: str) -> str:
    """Return the path of a Python, which uv installs if it is missing. Raises NotReadyError."""
    if subprocess.run(["uv", "python", "find", "--quiet", wanted], stdout=subprocess.DEVNULL).returncode:
        output_of("uv", "python", "install", wanted)
    return output_of("uv", "python", "find", wanted).strip()


def install_by_pip(wheel: Path, python: str, folder: Path) -> Path:
    """Install it with pip in an environment of its own, and return the command."""
    output_of(python, "-m", "venv", str(folder))
    output_of(str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel))
    return folder / "bin" / "crumple"


def install_by_uv(wheel: Path, python: str, folder: Path) -> Path:
    """Install it as a tool of uv, and return the command."""
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    output_of("uv", "tool", "install", "--quiet", "--python", python, str(wheel), places=places)
    return folder / "bin" / "crumple"


def install_by_pipx(wheel: Path, python: str, folder: Path) -> Path:
    """Install it with pipx, and return the command."""
    places = {"PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    output_of(
        "uv", "tool", "run", "--quiet", "pipx", "install", "--python", python, str(wheel), places=places
    )
    return folder / "bin" / "crumple"


INSTALLERS: Mapping[str, Callable[[Path, str, Path], Path]] = {
    "pip": install_by_pip,
    "uv": install_by_uv,
    "pipx": install_by_pipx,
}


def check_versions(program: Path) -> None:
    """Return if lab and engine state the version. Raises NotReadyError."""
    lines = output_of(str(program), "--version").splitlines()
    if lines[:2] != [f"crumple {version()}", f"engine {version()}"]:
        raise NotReadyError(f"it states another version than {version()}: {', '.join(lines)}")


def check_room(environment: Path) -> None:
    """Return if all packages together take no more than they may. Raises NotReadyError."""
    (packages,) = environment.glob("lib/python*/site-packages")
    sizes = sizes_of(packages)
    for name, size in sorted(sizes.items(), key=lambda each: -each[1]):
        print(f"    {size / 1e6:6.2f} MB  {name}")
    total = sum(sizes.values())
    if total > ROOM_BYTES:
        raise NotReadyError(f"it takes {total / 1e6:.1f} MB, and may take {ROOM_BYTES / 1e6:.0f}")
    print(f"ok: it takes {total / 1e6:.1f} MB")


def sizes_of(packages: Path) -> dict[str, int]:
    """Package → bytes of its files, without compiled Python."""
    return {
        each.name: sum(
            path.stat().st_size
            for path in (Path(str(file.locate())) for file in each.files or ())
            if path.suffix != ".pyc" and path.is_file()
        )
        for each in metadata.distributions(path=[str(packages)])
        if each.name not in NOT_OURS
    }


def check_load(program: Path, folder: Path) -> None:
    """Return if it loads a server. Raises NotReadyError."""
    with server() as url:
        loaded = result_of([str(program)], folder, "load", url, "-c", "4", "-z", "1s")
    if not loaded["outcomes"]["ok"]:
        raise NotReadyError("a load got no answer")


def check_search_and_diagnosis(run: Sequence[str], folder: Path) -> None:
    """Return if it finds the breaking point of a server, and diagnoses it. Raises NotReadyError."""
    with server() as url:
        found = result_of(run, folder, "find", url, "--objective", "p99<250ms", "--budget", "20s")
        diagnosed = result_of(run, folder, "diagnose", url, "--no-search")
    point = found["breaking_point"]
    # It may be lower on a machine that others use, but not higher.
    if point is None or not 0 < point["low"] <= MOST_PER_S:
        raise NotReadyError(
            f"the breaking point is {point}, and the server answers {MOST_PER_S:g} a second at most"
        )
    if not diagnosed["evidence"]:
        raise NotReadyError("a diagnosis found no evidence")


def check_nothing_runs(folder: Path) -> None:
    """Return if no process is left that was started from the folder. Raises NotReadyError."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = line.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/" in command:
            raise NotReadyError(f"this still runs: {command}")


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server on loopback."""
    command = [sys.executable, "-c", SERVER]
    # It complains of each connection that was closed.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.terminate()


def result_of(run: Sequence[str], folder: Path, *arguments: str) -> Any:
    """Return what crumple prints as JSON. Raises NotReadyError."""
    places = {"XDG_DATA_HOME": str(folder / "data"), "XDG_CACHE_HOME": str(folder / "cache")}
    # 3: not valid, as others used the machine.
    return json.loads(output_of(*run, *arguments, "--json", places=places, codes=(0, 3)))


def output_of(*command: str, places: Mapping[str, str] | None = None, codes: Sequence[int] = (0,)) -> str:
    """Return what a command prints; `places`: variables of its own. Raises NotReadyError."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CRUMPLE_", "PYTHON", "VIRTUAL_ENV"))
    }
    with tempfile.TemporaryDirectory() as here:
        try:
            done = subprocess.run(
                command,
                cwd=here,
                env={**kept, **(places or {})},
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotReadyError(f"{command[0]} does not run: {error}") from None
    if done.returncode not in codes:
        raise NotReadyError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
