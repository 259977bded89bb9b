"""Whether a server does what its workload and its server.toml say: answers, HTTP, effects, how it waits.

Nothing is measured here, and no server started.
"""
