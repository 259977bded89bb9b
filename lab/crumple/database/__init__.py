"""The database that workloads query: a private MariaDB, or one of the user's, and what it was asked.

What its tables hold is `workload`'s; installing it is `setup`'s.
"""
