"""What is measured: servers, what a request asks of them, their database, and whether they answer right.

`servers` starts and stops a server, `server_toml` describes it, `workload` says what a right answer is, and
`everything` checks it. Nothing is measured here.
"""
