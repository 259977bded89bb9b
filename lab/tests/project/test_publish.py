"""What publishes a release, with stand-ins of docker and gh: which commands it gives, and when none."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import build_wheels
import check_release
import pytest

ROOT = Path(__file__).parents[3]
PUBLISH = ROOT / ".ci" / "publish"
DIGEST, TOKEN = "sha256:0123", "gho_0123"
STAND_IN = f"""#!/bin/sh
printf '%s\\n' "${{0##*/}} $*" >>"$CALLS"
case "$*" in *inspect*) echo {DIGEST} ;; *login*) cat >/dev/null ;; *"$FAILS"*) exit 1 ;; esac
"""
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as the jobs that build leave it."""
    folder = tmp_path / "built"
    (folder / "dist").mkdir(parents=True)
    for name in build_wheels.KINDS:
        (folder / "dist" / build_wheels.name_of("0.1.0", build_wheels.Kind(name))).touch()
        (folder / f"image-{name}.tar.gz").touch()
    return folder


def publish(tag: str, built: Path, fails: str = "none of them") -> tuple[int, list[str], str]:
    """Return how it ended, the commands that it gave, and its outputs."""
    programs = built / "programs"
    programs.mkdir()
    for name in ("docker", "gh"):
        (programs / name).write_text(STAND_IN, encoding="utf-8")
        (programs / name).chmod(0o755)
    calls, outputs = built / "calls", built / "outputs"
    calls.touch()
    outputs.touch()
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "FAILS": fails,
        "REPOSITORY": "Owner/Crumple",
        "GH_TOKEN": TOKEN,
        "ACTOR": "somebody",
        "GITHUB_OUTPUT": str(outputs),
    }
    ended = subprocess.run([PUBLISH, tag, str(built)], env=environment, capture_output=True)
    return (
        ended.returncode,
        calls.read_text(encoding="utf-8").splitlines(),
        outputs.read_text(encoding="utf-8"),
    )


@pytest.mark.starts
@pytest.mark.parallel
def test_a_release_has_both_wheels_and_one_image_for_both_kinds_of_machine(built: Path) -> None:
    code, calls, outputs = publish("v0.1.0", built)
    assert code == 0
    for name in build_wheels.KINDS:
        assert f"docker load --input {built}/image-{name}.tar.gz" in calls
        assert f"docker push ghcr.io/owner/crumple:0.1.0-{name}" in calls
    (index,) = (call for call in calls if "imagetools create" in call)
    assert index.endswith(" ".join(f"ghcr.io/owner/crumple:0.1.0-{name}" for name in build_wheels.KINDS))
    assert outputs == f"image=ghcr.io/owner/crumple\ndigest={DIGEST}\n"
    release = "\n".join(calls[calls.index(index) :])
    assert "gh release create v0.1.0 --repo Owner/Crumple --verify-tag" in release and "### Added" in release
    for wheel in (built / "dist").iterdir():
        assert release.count(str(wheel)) == 1
    assert not any(TOKEN in call for call in calls)


@pytest.mark.starts
@pytest.mark.parallel
def test_nothing_is_released_if_the_image_cannot_be_published(built: Path) -> None:
    code, calls, outputs = publish("v0.1.0", built, fails="push")
    assert code != 0 and outputs == "" and not any(call.startswith("gh ") for call in calls)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_version_that_the_changelog_does_not_have_is_not_published(built: Path) -> None:
    code, calls, _ = publish("v9.9.9", built)
    assert code == 1 and calls == []


def test_a_tag_must_have_the_version_and_a_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "Cargo.toml").write_text('[package]\nversion = "1.2.3"\n', encoding="utf-8")
    changelog = tmp_path / "CHANGELOG.md"
    monkeypatch.setattr(check_release, "ROOT", tmp_path)
    changelog.write_text("## [1.2.3] - unreleased\n", encoding="utf-8")
    check_release.check_version(None)
    with pytest.raises(check_release.NotReadyError, match="no date for"):
        check_release.check_version("v1.2.3")
    changelog.write_text("## [1.2.3] - 2026-12-01\n", encoding="utf-8")
    check_release.check_version("v1.2.3")
    with pytest.raises(check_release.NotReadyError, match="the tag is"):
        check_release.check_version("v1.2.4")


def test_an_installation_is_measured_without_what_python_compiles(tmp_path: Path) -> None:
    for name, files in {"one": {"one.py": 10, "__pycache__/one.pyc": 7}, "pip": {"pip.py": 5}}.items():
        details = tmp_path / f"{name}-1.dist-info"
        details.mkdir()
        (details / "METADATA").write_text(f"Name: {name}\nVersion: 1\n", encoding="utf-8")
        for file, size in files.items():
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_bytes(b"x" * size)
        (details / "RECORD").write_text("".join(f"{file},,\n" for file in files), encoding="utf-8")
    assert check_release.sizes_of(tmp_path) == {"one": 10}


def test_each_step_of_the_workflow_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    runs = re.findall(r"- run: (.+)$", re.sub(r"\$\{\{.*?\}\}", "value", WORKFLOW), re.MULTILINE)
    steps = [shlex.split(each) for each in runs]
    wanted = {word for step in steps if step[0] == "make" for word in step[1:] if "=" not in word}
    assert {"wheels", "release-check", "image", "image-check"} <= wanted <= targets
    assert [step[1:] for step in steps if step[0] == ".ci/publish"] == [["$TAG", "built"]]
