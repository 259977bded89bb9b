"""The launcher in its own checkout, on systems made of stubs: what it installs, prints and leaves alone."""

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

LAUNCHER = Path(__file__).parents[3] / "crumple"
# The only programs that the launcher may assume.
POSIX = """
sh cat cp chmod env find flock grep ln ls mkdir mv printf readlink rm sed sleep sort tail touch
tr true
"""
# Makes a .venv as uv would, whose program prints its arguments.
UV = """
[ "$1" = --version ] && { echo "uv 0.9.1 (somewhere)"; exit; }
echo "uv $*" >> "$LOG"
[ ! -e "$HOME/sync-takes-long" ] || sleep 0.5
[ ! -e "$HOME/sync-fails" ] || { echo "error: no network"; exit 2; }
mkdir -p .venv/bin
printf '#!/bin/sh\\nprintf "<%%s>" "$@"; exit 3\\n' > .venv/bin/crumple
chmod +x .venv/bin/crumple
case "$*" in *--no-dev*) ;; *) touch .venv/bin/pytest && chmod +x .venv/bin/pytest;; esac
"""
# Makes the engine as cargo would.
CARGO = """
[ "$1" = --version ] && { echo "cargo ${CARGO_VERSION-1.96.0} (abc 2026-01-01)"; exit; }
echo "cargo $*" >> "$LOG"
echo "$0" >> "$LOG"
[ ! -e "$HOME/build-fails" ] || { echo "error[E0308]: mismatched types"; exit 101; }
for manifest in "$@"; do case "$manifest" in */Cargo.toml) break;; esac; done
mkdir -p "${manifest%/*}/target/release"
touch "${manifest%/*}/target/release/crumple-engine"
chmod +x "${manifest%/*}/target/release/crumple-engine"
"""
PYTHON = """
case "$*" in
  *version_info*) exit 0;;
  *ensurepip*) [ ! -e "$HOME/no-ensurepip" ];;
  *"-m venv"*) for last in "$@"; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python";;
  *"pip install"*) echo "pip $*" >> "$LOG"; cp "$STUBS/uv" "${0%/*}/uv";;
esac
"""
# Prints German unless LC_ALL is C; has cargo and cargo-web as Debian 12 has.
APT_CACHE = """
[ "$1" = policy ] || exit 0
candidate=Installationskandidat
[ "${LC_ALL-}" != C ] || candidate=Candidate
case "$2" in
  cargo) echo "  $candidate: 0.66.0+ds1-1";;
  cargo-web) echo "  $candidate: ${CARGO_WEB-1.96.0+dfsg1-1~deb12u2}";;
  python3) echo "  $candidate: 3.11.2-1+b1";;
  chromium) [ -e "$HOME/no-chromium" ] || echo "  $candidate: 156.0.8078.108-1~deb12u1";;
esac
"""
# Installing a package puts the stub of its program on the PATH.
APT_GET = """
echo "apt-get $*" >> "$LOG"
for package in "$@"; do
  case "$package" in
    cargo-web) cp "$STUBS/cargo" "$BIN/cargo";;
    python3) cp "$STUBS/python3" "$BIN/python3";;
    python3-venv) rm -f "$HOME/no-ensurepip";;
    gcc) cp "$STUBS/cc" "$BIN/cc";;
    chromium) [ ! -e "$HOME/no-room" ] || exit 100; cp "$STUBS/cc" "$BIN/chromium";;
  esac
done
"""
RUSTUP = """
echo "rustup $*" >> "$LOG"
[ "$1" != which ] || echo "$STUBS/$4"
"""


def stub(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


class System:
    """A checkout and a PATH of stubs. `has`: what is on the PATH; apt can install more."""

    def __init__(self, folder: Path, has: str, user: int = 0) -> None:
        self.home, self.bin, self.stubs = folder / "home", folder / "bin", folder / "stubs"
        self.checkout, self.log = folder / "checkout", folder / "log"
        for each in (
            self.home,
            self.bin,
            self.stubs,
            self.checkout / "engine" / "src",
            self.checkout / "lab",
        ):
            each.mkdir(parents=True)
        for name in POSIX.split():
            (self.bin / name).symlink_to(shutil.which(name))
        programs = {
            "python3": PYTHON,
            "cargo": CARGO,
            "rustc": "echo 'rustc 1.96.0'",
            "cc": "",
            "uv": UV,
            "apt-cache": APT_CACHE,
            "apt-get": APT_GET,
            "sudo": 'echo "sudo $1" >> "$LOG"\nexec "$@"',
            "rustup": RUSTUP,
        }
        for name, text in programs.items():
            stub(self.stubs / name, text)
        for name in has.split():
            shutil.copy(self.stubs / name, self.bin / name)
        stub(self.bin / "id", f"echo {user}")
        shutil.copy(LAUNCHER, self.checkout / "crumple")
        for name in (
            "pyproject.toml",
            "uv.lock",
            "lab/pyproject.toml",
            "engine/Cargo.toml",
            "engine/src/main.rs",
        ):
            (self.checkout / name).touch()
        self.log.touch()

    def run(
        self, *arguments: str, launcher: Path | None = None, limited: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the launcher. `limited`: arguments of a `ulimit` before it."""
        variables = {
            "PATH": str(self.bin),
            "HOME": str(self.home),
            "LANG": "de_DE.UTF-8",
            "LOG": str(self.log),
        }
        limit = ["/bin/sh", "-c", f'ulimit {limited}; exec "$@"', "sh"] if limited else []
        variables |= {"STUBS": str(self.stubs), "BIN": str(self.bin)}
        return subprocess.run(
            [*limit, launcher or self.checkout / "crumple", *arguments],
            env=variables | env,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def calls(self, program: str) -> list[str]:
        """The lines that the stub of that name has logged."""
        return [line for line in self.log.read_text().splitlines() if line.startswith(f"{program} ")]

    def log_every_program(self) -> None:
        """From now on the log has a line "started NAME" for each program that the launcher starts."""
        folder = self.stubs / "behind"
        folder.mkdir()
        for program in list(self.bin.iterdir()):
            # Under its own name, by which some know what they are.
            behind = program.rename(folder / program.name)
            stub(program, f'echo "started {program.name}" >> "$LOG"\nexec "{behind}" "$@"')

    def touch_later(self, name: str) -> None:
        path = self.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (time.time() + 5, time.time() + 5))


COMPLETE = "python3 cargo cc uv"
APT = "apt-get apt-cache"


def test_the_first_use_sets_up_prints_so_and_runs_the_command(tmp_path):
    system = System(tmp_path, COMPLETE)
    done = system.run("load", "two words", "")
    assert (done.stdout, done.returncode) == ("<load><two words><>", 3)
    for said in ("fetching Python packages", "building the engine, one to two minutes", "ready"):
        assert f"crumple: {said}" in done.stderr.splitlines()
    assert (len(system.calls("uv")), len(system.calls("cargo"))) == (1, 1)
    assert all(line.startswith("crumple: ") for line in done.stderr.splitlines())


def test_later_uses_print_nothing_and_start_three_programs(tmp_path):
    system = System(tmp_path, COMPLETE)
    system.run()
    system.log_every_program()
    done = system.run("servers")
    assert (done.stdout, done.stderr) == ("<servers>", "")
    started = [line.split()[1] for line in system.calls("started")]
    assert sorted(started) == ["find", "find", "readlink"]


@pytest.mark.parametrize(
    ("name", "uv", "cargo"),
    [
        ("pyproject.toml", 2, 1),
        ("uv.lock", 2, 1),
        ("lab/pyproject.toml", 2, 1),
        ("engine/src/main.rs", 1, 2),
        # It has the version of both.
        ("engine/Cargo.toml", 2, 2),
    ],
)
def test_of_what_changed_only_that_part_is_set_up_again(tmp_path, name, uv, cargo):
    system = System(tmp_path, COMPLETE)
    system.run()
    system.touch_later(name)
    system.run()
    assert (len(system.calls("uv")), len(system.calls("cargo"))) == (uv, cargo)


@pytest.mark.parametrize("name", ["lab/crumple/cli.py", "engine/target/release/x", "servers/a/server.toml"])
def test_a_change_that_needs_no_build_starts_none(tmp_path, name):
    system = System(tmp_path, COMPLETE)
    system.run()
    system.touch_later(name)
    system.run()
    assert (len(system.calls("uv")), len(system.calls("cargo"))) == (1, 1)


def test_a_checkout_that_moved_is_set_up_anew(tmp_path):
    system = System(tmp_path, COMPLETE)
    system.run()
    (system.checkout / ".venv" / "of-the-old-place").touch()
    system.checkout = system.checkout.rename(tmp_path / "moved")
    assert system.run("x").stdout == "<x>"
    assert len(system.calls("uv")) == 2
    assert not (system.checkout / ".venv" / "of-the-old-place").exists()


@pytest.mark.parametrize("before", [(), ("x",)])
def test_the_packages_of_tests_are_fetched_also_where_a_command_was_set_up_before(tmp_path, before):
    system = System(tmp_path, COMPLETE)
    if before:
        system.run(*before)
    done = system.run("not started", CRUMPLE_SET_UP="tests")
    assert (done.stdout, done.returncode) == ("", 0)
    assert (system.checkout / ".venv" / "bin" / "pytest").exists()
    # It builds no engine, and a command that follows takes nothing away.
    assert len(system.calls("cargo")) == len(before)
    assert system.run("x").stdout == "<x>"
    assert len(system.calls("uv")) == 1 + len(before)
    again = system.run(CRUMPLE_SET_UP="tests")
    assert (again.stderr, again.returncode) == ("", 0)


def test_the_engine_alone_is_built_into_no_environment(tmp_path):
    system = System(tmp_path, COMPLETE)
    assert system.run("not started", CRUMPLE_SET_UP="engine").stdout == ""
    assert (len(system.calls("uv")), len(system.calls("cargo"))) == (0, 1)
    assert not (system.checkout / ".venv").exists()
    system.run(CRUMPLE_SET_UP="engine")
    assert len(system.calls("cargo")) == 1


@pytest.mark.parametrize("word", ["try", "setup"])
def test_what_begins_with_packages_of_the_system_does_not_wait_for_the_engine(tmp_path, word):
    system = System(tmp_path, COMPLETE)
    stub(system.bin / "uv", UV.replace('printf "<%%s>" "$@"', 'printf "%%s" "$CRUMPLE_LAUNCHER"'))
    assert system.run(word).stdout == str(system.checkout / "crumple")
    assert (len(system.calls("uv")), len(system.calls("cargo"))) == (1, 0)
    system.run(CRUMPLE_SET_UP="engine")
    assert system.run(word).stdout == ""


def test_the_browser_of_tests_is_installed_once(tmp_path):
    system = System(tmp_path, f"{COMPLETE} {APT}")
    for _ in range(2):
        assert system.run("not started", CRUMPLE_SET_UP="browser").returncode == 0
    (installs,) = (call for call in system.calls("apt-get") if " install " in call)
    assert installs.endswith(" install chromium") and not system.calls("uv")


@pytest.mark.parametrize(("has", "state"), [(APT, "no-chromium"), (APT, "no-room"), ("", "no-apt")])
def test_where_no_browser_is_to_be_had_the_set_up_goes_on_and_says_so(tmp_path, has, state):
    system = System(tmp_path, f"{COMPLETE} {has}")
    (system.home / state).touch()
    done = system.run(CRUMPLE_SET_UP="browser")
    assert done.returncode == 0
    assert "going on without Chromium: tests that open pages are skipped" in done.stderr


def test_a_part_that_does_not_exist_is_refused(tmp_path):
    done = System(tmp_path, COMPLETE).run(CRUMPLE_SET_UP="lab")
    assert done.returncode == 1
    assert done.stderr == "crumple: there is no part lab to set up: packages, tests, engine, browser\n"


def test_it_can_be_called_through_a_link(tmp_path):
    system = System(tmp_path, COMPLETE)
    link = tmp_path / "elsewhere"
    link.symlink_to(system.checkout / "crumple")
    assert system.run("x", launcher=link).stdout == "<x>"
    assert (system.checkout / ".venv").is_dir()


def test_a_setup_that_failed_is_tried_again(tmp_path):
    system = System(tmp_path, COMPLETE)
    (system.home / "sync-fails").touch()
    failed = system.run("x")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "error: no network" in failed.stderr
    (system.home / "sync-fails").unlink()
    assert system.run("x").stdout == "<x>"


def test_an_engine_that_does_not_compile_fails_and_is_tried_again(tmp_path):
    system = System(tmp_path, COMPLETE)
    (system.home / "build-fails").touch()
    failed = system.run("x")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "error[E0308]: mismatched types" in failed.stderr
    (system.home / "build-fails").unlink()
    assert system.run("x").stdout == "<x>"
    assert (len(system.calls("uv")), len(system.calls("cargo"))) == (1, 2)


def test_of_two_first_uses_at_the_same_time_one_waits(tmp_path):
    system = System(tmp_path, COMPLETE)
    (system.home / "sync-takes-long").touch()
    with ThreadPoolExecutor(2) as both:
        first, second = (both.submit(system.run, "x") for _ in range(2))
    assert (first.result().stdout, second.result().stdout) == ("<x>", "<x>")
    assert len([call for call in system.calls("uv") if "sync" in call]) == 1


@pytest.mark.parametrize(("limit", "said"), [("-n 12", "12"), ("-n 63", "63")])
def test_too_few_open_files_are_one_line(tmp_path, limit, said):
    system = System(tmp_path, COMPLETE)
    done = system.run(limited=limit)
    assert done.returncode == 1
    assert done.stderr == f"crumple: only {said} files may be open here; raise the limit: ulimit -n 64\n"
    assert not system.calls("uv")


def test_a_limit_that_can_be_raised_is_raised(tmp_path):
    assert System(tmp_path, COMPLETE).run("--help", limited="-S -n 12").stdout == "<--help>"


def test_missing_packages_are_installed_by_apt_each_with_its_reason(tmp_path):
    system = System(tmp_path, f"uv {APT}")
    done = system.run("x")
    assert done.stdout == "<x>"
    said = [line for line in done.stderr.splitlines() if "installing" in line]
    assert said == [
        "crumple: installing python3 python3-venv with apt-get: Python 3.11 or newer, which runs the lab",
        "crumple: installing gcc libc6-dev with apt-get: a C linker, which Rust links with",
        "crumple: installing cargo-web with apt-get: Rust 1.88 or newer, which builds the engine",
    ]
    assert sum("update" in call for call in system.calls("apt-get")) == 1
    assert system.calls("sudo") == []


def test_a_user_with_sudo_installs_with_it(tmp_path):
    system = System(tmp_path, f"python3 cc uv sudo {APT}", user=1000)
    assert system.run("x").stdout == "<x>"
    assert system.calls("sudo") == ["sudo apt-get", "sudo env"]


def test_a_user_without_sudo_is_told_the_command(tmp_path):
    system = System(tmp_path, f"python3 cc uv {APT}", user=1000)
    done = system.run("x")
    assert done.returncode == 1
    expected = (
        "Rust 1.88 or newer, which builds the engine is missing; run as root: apt-get install cargo-web"
    )
    assert done.stderr.splitlines()[-1] == f"crumple: {expected}"
    assert system.calls("apt-get") == []


def test_without_apt_the_packages_are_named(tmp_path):
    done = System(tmp_path, "python3 cargo uv").run("x")
    assert done.returncode == 1
    assert "there is no apt-get here; install it with your system's packages (gcc libc6-dev)" in done.stderr


def test_without_a_rust_package_the_message_points_to_rustup(tmp_path):
    done = System(tmp_path, f"python3 cc uv {APT}").run("x", CARGO_WEB="1.70.0")
    assert done.returncode == 1
    assert "see https://rustup.rs" in done.stderr


def test_a_newer_cargo_in_the_home_folder_replaces_an_old_one(tmp_path):
    system = System(tmp_path, "python3 cc uv")
    stub(system.bin / "cargo", "echo 'cargo 1.66.0'")
    new = system.home / ".cargo" / "bin"
    new.mkdir(parents=True)
    shutil.copy(system.stubs / "cargo", new / "cargo")
    assert system.run("x").stdout == "<x>"
    assert str(new / "cargo") in system.log.read_text().splitlines()


def test_a_versioned_cargo_is_used_under_its_plain_name(tmp_path):
    system = System(tmp_path, "python3 cc uv")
    for name in ("cargo-1.75", "cargo-1.89"):
        stub(system.bin / name, f"CARGO_VERSION={name[6:]}.0\n{CARGO}")
    assert system.run("x").stdout == "<x>"
    tools = system.checkout / ".bootstrap" / "tools"
    assert (tools / "cargo").readlink() == system.bin / "cargo-1.89"
    assert (tools / "rustc").readlink() == system.bin / "rustc-1.89"
    assert str(tools / "cargo") in system.log.read_text().splitlines()


def test_rustup_brings_a_toolchain_and_keeps_its_default(tmp_path):
    system = System(tmp_path, "python3 cc uv rustup")
    stub(system.bin / "cargo", "echo 'cargo 1.70.0'")
    done = system.run("x")
    assert done.stdout == "<x>"
    assert "installing the stable toolchain with rustup" in done.stderr
    assert not any("default" in call for call in system.calls("rustup"))


@pytest.mark.parametrize("ensurepip", [True, False])
def test_without_uv_it_is_downloaded_into_the_checkout(tmp_path, ensurepip):
    system = System(tmp_path, f"python3 cc cargo {APT}")
    if not ensurepip:
        (system.home / "no-ensurepip").touch()
    done = system.run("x")
    assert done.stdout == "<x>"
    assert "fetching uv, which installs the Python packages, into .bootstrap" in done.stderr
    assert len(system.calls("pip")) == 1
    installed = [call for call in system.calls("apt-get") if call.endswith("install python3-venv")]
    assert len(installed) == (0 if ensurepip else 1)
