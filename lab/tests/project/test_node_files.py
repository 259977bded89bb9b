"""The Node.js servers read and write files as bias.md says."""

from crumple import project


def test_node_reads_and_writes_files_with_callbacks() -> None:
    jobs = [*(project.root() / "servers" / "node-http" / "jobs").glob("*.js")]
    assert jobs
    for file in jobs:
        imported = [line for line in file.read_text("utf-8").splitlines() if "node:fs" in line]
        wrong = [line for line in imported if not line.endswith('from "node:fs";')]
        assert not wrong, file.name
