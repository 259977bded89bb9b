"""Lists of cores as the kernel writes them: "0,4-6"."""


def read(written: str) -> list[int]:
    """Return the numbers in a list: "0,4-6" → 0, 4, 5, 6."""
    cores: list[int] = []
    for part in filter(None, written.split(",")):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    return cores
