"""What a diagnosis answered of a server whose truth is known, as it is stored, and whether it is right. Pure.

A stored answer is a JSON file: the truth, what `crumple diagnose --json` printed, and how long it took.
"""

import json
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from crumple.cause import judged
from crumple.observation import parallelism, who_waits
from crumple.observation.at_load import AtLoad
from crumple.observation.observed import Observed
from crumple.observation.server_facts import ServerFacts
from crumple.subject.server_toml import ServerDescription
from pydantic import TypeAdapter

import corpus

OWN = corpus.HERE / "own.toml"
_OBSERVED, _AT_LOAD = TypeAdapter(Observed), TypeAdapter(AtLoad)

# Models in which a process or a thread waits with each request; in the others none does.
BLOCKING = {"process-per-connection", "process-pool", "thread-per-connection", "thread-pool"}
# "plain": the server's own paths were diagnosed; "cause": its /work, where a cause is planted.
Kind = Literal["plain", "cause"]
Judged = Literal["right", "wrong", "cannot tell", "failed"]
CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Truth:
    """What is written down of the server. `waits` and `computes` None: it is not.

    `io_models`: all that are right, the one that is meant first. `causes`: likewise; `both`: all of them are
    to be named. `near`: what must not be named first.
    """

    io_models: tuple[str, ...]
    waits: float | Literal["unlimited"] | None = None
    computes: float | None = None
    causes: tuple[str, ...] = ()
    both: bool = False
    near: tuple[str, ...] = ()

    @property
    def is_of_one_kind(self) -> bool:
        """Whether it cannot be said with equal right that a process or thread waits with each request."""
        return len({each in BLOCKING for each in self.io_models}) == 1


@dataclass(frozen=True)
class Answer:
    """One diagnosis. `said`: its JSON; None: it failed, and `error` says how."""

    name: str
    kind: Kind
    round: int
    truth: Truth
    said: dict[str, Any] | None
    error: str
    took_s: float
    own: bool = False

    @property
    def who(self) -> str | None:
        """Who waits with each request, by what it said."""
        return self.said.get("who_waits", {}).get("who") if self.said else None

    @property
    def is_of_who(self) -> bool:
        """Whether it was asked who waits: a diagnosis that failed was."""
        return self.said is None or "who_waits" in self.said

    @property
    def causes(self) -> list[str]:
        """The causes that it found, the first limit first."""
        findings = self.said["findings"] if self.said else []
        return [each["cause"] for each in findings if each["kind"] == "finding"]

    @property
    def who_is(self) -> Judged:
        """Whether it is right that a process or a thread waits with each request, or that none does."""
        if self.said is None:
            return "failed"
        if self.who is None:
            return CANNOT_TELL
        sides = {each in BLOCKING for each in self.truth.io_models}
        return "right" if (self.who != "nobody") in sides else "wrong"

    @property
    def cause_is(self) -> Judged:
        """Whether the first finding is right: the cause, or one of two."""
        if self.said is None:
            return "failed"
        if not self.causes:
            return CANNOT_TELL
        return "right" if self.causes[0] in self.truth.causes else "wrong"

    @property
    def names_both(self) -> bool:
        """Whether all causes are found where there are several."""
        return {*self.truth.causes} <= {*self.causes}

    def off(self, which: Literal["waits", "computes"]) -> float | str | None:
        """By what share its number is off the truth; in words where there is no number; None: no truth.

        Where the truth is that there is no limit, a number that is a limit is wrong, whatever it is.
        """
        true = self.truth.waits if which == "waits" else self.truth.computes
        if true is None or self.said is None or which not in self.said:
            return None
        found = self.said[which]
        if "value" not in found:
            return CANNOT_TELL
        if true == "unlimited":
            return 0.0 if found["kind"] == "at-least" else f"a limit of {found['value']:.3g}"
        if which == "waits" and found["kind"] == "at-least":
            return CANNOT_TELL if found["value"] <= true else f"at least {found['value']:.3g} of {true:g}"
        return float(found["value"] / true - 1)


def truth_of(entry: corpus.Entry) -> Truth:
    """What is written down of an entry of the corpus."""
    return Truth(
        io_models=(entry.io_model, *entry.also),
        waits=entry.waits,
        computes=entry.computes,
        causes=entry.cause,
        both=entry.both,
        near=entry.near_miss,
    )


def truth_of_own(described: ServerDescription) -> Truth:
    """What is declared of a server of the project, and written down in own.toml."""
    numbers = tomllib.loads(OWN.read_text()).get(described.name, {})
    return Truth((described.io_model,), numbers.get("waits"), numbers.get("computes"))


def file_of(folder: Path, kind: Kind, name: str, round_: int) -> Path:
    """Where an answer is stored."""
    return folder / f"{kind}.{name}.{round_}.json"


def store(folder: Path, answer: Answer) -> None:
    """Write an answer, whole or not at all."""
    file = file_of(folder, answer.kind, answer.name, answer.round)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(asdict(answer), indent=1) + "\n")
    part.rename(file)


def read(folder: Path) -> list[Answer]:
    """All answers that are stored in the folder, by name and round."""
    return [_read(file) for file in sorted(folder.glob("*.json"))]


def _read(file: Path) -> Answer:
    written = json.loads(file.read_text())
    truth = {
        key: tuple(value) if isinstance(value, list) else value for key, value in written["truth"].items()
    }
    return Answer(**{**written, "truth": Truth(**truth)})


def again(answer: Answer) -> Answer:
    """Judge what was observed by the rules as they are now."""
    said = answer.said
    if said is None or "observed" not in said:
        return answer
    seen = _OBSERVED.validate_python(said["observed"])
    now: dict[str, Any] = {
        "who_waits": asdict(who_waits.of(seen)),
        "waits": asdict(parallelism.waits(seen)),
        "computes": asdict(parallelism.computes(seen)),
    }
    if (facts := facts_of(answer)) is not None:
        said_now = judged.judged(facts)
        now["findings"] = [asdict(each) for each in said_now]
    return replace(answer, said={**said, **now})


def facts_of(answer: Answer) -> ServerFacts | None:
    """What the rules judged; None: no load beyond the limit was put on."""
    said = answer.said
    if said is None or said["facts"] is None:
        return None
    stored = {**said["facts"], "beyond": _AT_LOAD.validate_python(said["facts"]["beyond"])}
    return ServerFacts(seen=_OBSERVED.validate_python(said["observed"]), **stored)


@dataclass
class Tally:
    """How many answers are right, wrong, and so on."""

    counts: dict[str, int] = field(
        default_factory=lambda: {"right": 0, "wrong": 0, CANNOT_TELL: 0, "failed": 0}
    )

    @classmethod
    def of(cls, judged: Iterable[Judged]) -> "Tally":
        """Count them."""
        tally = cls()
        for each in judged:
            tally.counts[each] += 1
        return tally

    def __str__(self) -> str:
        """As in "3 of 5 right, 1 wrong, 1 cannot tell"."""
        counts = self.counts
        others = ", ".join(
            f"{counts[word]} {word}" for word in ("wrong", CANNOT_TELL, "failed") if counts[word]
        )
        return f"{counts['right']} of {sum(counts.values())} right" + (f", {others}" if others else "")
