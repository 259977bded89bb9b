"""Hypercorn: python hypercorn_server.py PORT WORKERS KIND, where KIND is asyncio or trio."""

import sys

from hypercorn.config import Config
from hypercorn.run import run

if __name__ == "__main__":
    config = Config()
    config.application_path = "asgi:application"
    config.bind = [f"127.0.0.1:{sys.argv[1]}"]
    config.workers = int(sys.argv[2])
    config.worker_class = sys.argv[3]
    config.loglevel = "warning"
    sys.exit(run(config))
