"""Make the system tables in the folder `data`, as mariadb-install-db does: python make.py MARIADBD."""

import subprocess
import sys
from pathlib import Path

SHARED = Path("/usr/share/mysql")

Path("data").mkdir(exist_ok=True)
tables = [
    "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n",
    (SHARED / "mysql_system_tables.sql").read_text(),
    "FLUSH PRIVILEGES;\n",
]
subprocess.run(
    [sys.argv[1], "--no-defaults", "--user=root", "--bootstrap", f"--datadir={Path('data').resolve()}"],
    input="".join(tables).encode(),
    stderr=subprocess.DEVNULL,
    check=True,
)
