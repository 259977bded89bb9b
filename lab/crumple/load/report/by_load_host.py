"""What each of several load hosts saw: a row for each, and what was wrong with it alone. Pure."""

from crumple.drawing import numerals
from crumple.drawing.report_parts import Column, Note, Notes, Paragraph, Section, Table, phrase
from crumple.load.report import load_sentences as say
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import HostFigures

# The quantiles in the row of each host, and that of its own lateness.
QUANTILES, LATENESS = (0.5, 0.99), 0.99
ABOUT = (
    "Response times of the ok answers that came to each. Late: its own lateness, p99. Began: after the "
    "first, as far as clocks tell that are read through the pipe. Away: how long a line took there and back."
)


def section(load: LoadDocument) -> Section:
    """Return a row for each of several load hosts; nothing if the load came from one machine."""
    hosts = load.load_hosts
    if not hosts:
        return Section([])
    times = [say.quantiles(host.response_time, QUANTILES) for host in hosts]
    late = [say.quantiles(host.engine_lateness, (LATENESS,))[0] for host in hosts]
    ends = [f"{host.outcomes.failed + host.outcomes.not_sent:,}" for host in hosts]
    failed = [phrase(end, "bad", strong=True) if end != "0" else end for end in ends]
    columns = [
        Column("load host", [host.name for host in hosts]),
        Column("share", [numerals.share(host.share) for host in hosts], right=True, whole=True),
        Column("ok", [f"{host.outcomes.ok:,}" for host in hosts], right=True, whole=True),
        *(
            Column(say.quantile(q), [row[at] for row in times], right=True, whole=True)
            for at, q in enumerate(QUANTILES)
        ),
        Column("late", late, right=True, whole=True),
        Column("failed", failed, right=True, whole=True),
        Column("began", [_began(host) for host in hosts], right=True, whole=True),
        Column("away", [numerals.duration(host.round_trip_ns) for host in hosts], right=True, whole=True),
    ]
    own = [f"{host.name}: {problem}" for host in hosts for problem in host.problems]
    notes = [Note("!", line, "doubtful") for line in own if line not in load.validity.problems]
    table = Table(columns, left_out_first=("away", "began", "late"), stacks=True)
    return Section([table, Notes(notes), Paragraph(ABOUT, "note")], heading="By load host", name="load-hosts")


def _began(host: HostFigures) -> str:
    return f"{numerals.duration(host.late_ns)} ± {numerals.duration(host.late_off_ns)}"
