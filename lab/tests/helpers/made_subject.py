"""A server of this machine as experiments see it."""

import documents
from crumple import contract
from crumple.experiment.subject import Subject
from crumple.load.load_options import Options

SUBJECT = Subject(
    target=contract.Target(address="127.0.0.1:1", host="127.0.0.1:1"),
    work=(documents.request(),),
    light=documents.request(),
    slow=None,
    heavy=None,
    options=Options(server_pid=1, seed=3),
    cores=2,
)
