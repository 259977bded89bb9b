"""What is measured: servers, what a request asks of them, their database, and whether they answer right.

`servers` starts and stops a server, `server_toml` describes it, `workload` defines the right answer, and
`server_check` checks everything. Nothing is measured here.
"""
