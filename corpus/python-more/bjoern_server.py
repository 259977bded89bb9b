"""bjoern, one process: python bjoern_server.py PORT."""

import sys

import bjoern
from work import application

bjoern.run(application, "127.0.0.1", int(sys.argv[1]))
