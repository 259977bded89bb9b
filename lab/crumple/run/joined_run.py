"""Make one run of the shards of a run, each of which a host stored on its own."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crumple.errors import UsageError
from crumple.run import run_file, runs
from crumple.run.run_file import RunFile, Shard
from crumple.run.store import RunStore, StoredTrial
from crumple.verdict.verdict_sentences import enumerate_parts


@dataclass(frozen=True)
class JoinedRun:
    """The run that shards make together."""

    store: RunStore
    shards: int
    missing: tuple[str, ...]
    """A line for each shard that lacks trials, with what runs them."""


@dataclass(frozen=True)
class _Part:
    """A shard as it is stored."""

    store: RunStore
    file: RunFile
    shard: Shard
    trials: Sequence[StoredTrial]

    @property
    def missing(self) -> str:
        """Return which of its trials are not stored, and the remedy; empty: all are."""
        planned = {trial.id for block in self.file.blocks for trial in block.trials}
        if not (left := len(planned - self.store.ids())):
            return ""
        return (
            f"{left} of {len(planned)} trials of shard {self.shard} are missing; run them on its host "
            f"(crumple run --resume {self.store.name}), and join again"
        )


def join(shards: Sequence[RunStore], folder: Path) -> JoinedRun:
    """Store the run that these shards make, in a new folder of `folder`. The shards stay as they are.

    Trials that are missing, failed or came later are no obstacle. Raises UsageError if a shard is missing or
    there twice, or if they are not all of one run and measured by the same programs; NotStored, StorageFull
    and NotWritable.
    """
    parts = sorted(map(_part, shards), key=lambda each: each.shard.index)
    _check_one_run(parts)
    _check_all_there(parts)
    _check_same_programs(parts)
    first = parts[0].file
    _, store = runs.new_folder(folder, first.study.name, first.scale)
    try:
        for part in parts:
            for trial_id in sorted(part.store.ids()):
                store.copy(part.store, trial_id)
        run_file.write(store, _file(parts, store.name))
    except BaseException:
        shutil.rmtree(store.folder, ignore_errors=True)
        raise
    return JoinedRun(store, len(parts), tuple(filter(None, (part.missing for part in parts))))


def _part(store: RunStore) -> _Part:
    file = run_file.read(store)
    if file.shard is None:
        raise UsageError(f"{store.name} is no shard of a run", "name runs of crumple run --shard")
    return _Part(store, file, file.shard, store.trials())


def _check_one_run(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        for what, ours in _asked(first).items():
            theirs = _asked(part)[what]
            if ours != theirs:
                raise UsageError(
                    f"{part.store.name} and {first.store.name} are shards of two runs: {what} is {theirs} "
                    f"in one, {ours} in the other",
                    "join shards of one STUDY, --scale, --seed, --servers and number of shards",
                )
        if (part.file.study, part.file.plan) != (first.file.study, first.file.plan):
            raise UsageError(
                f"{part.store.name} and {first.store.name} have other blocks, as their studies differ, or a "
                "server that is missing on one host has its twin",
                "run crumple setup on each host, then the shard that differs again",
            )


def _asked(part: _Part) -> Mapping[str, Any]:
    file = part.file
    return {
        "the study": file.study.name,
        "the scale": file.scale,
        "the seed": file.seed,
        "the number of shards": part.shard.of,
        "the list of --servers": ", ".join(file.only or ()) or "not given",
        "the list of --server": ", ".join(file.brought) or "not given",
    }


def _check_all_there(parts: Sequence[_Part]) -> None:
    there, of = Counter(part.shard.index for part in parts), parts[0].shard.of
    for part in parts:
        if there[part.shard.index] > 1:
            names = [each.store.name for each in parts if each.shard == part.shard]
            raise UsageError(
                f"shard {part.shard} is there {len(names)} times: {enumerate_parts(names)}",
                "name one of them",
            )
    gone = [f"{index}/{of}" for index in range(1, of + 1) if index not in there]
    if gone:
        file = parts[0].file
        which = f"shard{'s' if len(gone) > 1 else ''} {enumerate_parts(gone)}"
        raise UsageError(
            f"{which} {'are' if len(gone) > 1 else 'is'} missing",
            f"name {'them' if len(gone) > 1 else 'it'} too, or run: crumple run {file.study.name} "
            f"--scale {file.scale} --seed {file.seed} --shard {gone[0]}",
        )


def _check_same_programs(parts: Sequence[_Part]) -> None:
    """Raise UsageError if a program of one shard measured no trial of another one that has it, too."""
    known: dict[str, tuple[str, set[str]]] = {}
    for part in parts:
        for what, hashes in _programs(part.trials).items():
            name, before = known.setdefault(what, (part.store.name, hashes))
            if not hashes & before:
                raise UsageError(
                    f"{part.store.name} was measured with another {what} than {name}",
                    "run all shards with one checkout, wheel or image",
                )


def _programs(trials: Sequence[StoredTrial]) -> dict[str, set[str]]:
    """Return what a trial rests on → the hashes of it. A shard that was resumed with --mixed has several."""
    found: dict[str, set[str]] = {}
    for each in trials:
        if each.programs is not None:
            of = {
                "engine": each.programs.engine,
                "lab": each.programs.lab,
                f"server {each.trial.server}": each.programs.server,
                f"workload of {each.trial.experiment}": each.programs.workload,
            }
            for what, digest in of.items():
                found.setdefault(what, set()).add(digest)
    return found


def _file(parts: Sequence[_Part], name: str) -> RunFile:
    """Return the run.json of all parts together."""
    files = [part.file for part in parts]
    ended = [file.ended for file in files if file.ended is not None]
    hosts = {host.id: host for part in parts for host in part.file.all_hosts}
    whole = files[0].model_copy(
        update={
            "id": name,
            "shard": None,
            "hosts": (),
            "began": min(file.began for file in files),
            "ended": max(ended) if len(ended) == len(files) else None,
            "stopped": {what: why for file in files for what, why in file.stopped.items()},
            "undecided": {},
            "fail_if": (),
        }
    )
    return whole.with_hosts([*hosts.values()])
