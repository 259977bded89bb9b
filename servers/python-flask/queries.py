"""The two queries, and where the database is. Asking is the applications': one blocks, the other does not."""

import os

from sqlalchemy import URL, text

OPTIONS = text(
    "SELECT option_id, option_name, option_value, autoload FROM wp_options ORDER BY option_id LIMIT 50"
)
ROWS = text("SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10")


def pool(driver: str) -> dict[str, object]:
    """The arguments of `create_engine`; nothing is connected before the first query."""
    url = URL.create(
        f"mysql+{driver}",
        username=os.environ.get("DB_USER"),
        password=os.environ.get("DB_PASSWORD"),
        host=os.environ.get("DB_HOST"),
        port=int(os.environ.get("DB_PORT", "3306")),
        database=os.environ.get("DB_NAME"),
    )
    # Without overflow the pool is as large as its setting says, and a connection once made is kept.
    return {"url": url, "pool_size": int(os.environ["POOL"]), "max_overflow": 0}
