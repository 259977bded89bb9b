from enum import Enum

class Status(Enum):
    running = "running"
    closed = "closed"
