"""The table `books`: a thousand small rows, the same on every machine. All titles and authors are made up.

`subject.tables` puts them into a database.
"""

import random
from functools import cache

TABLE = "books"
COLUMNS = ("id", "title", "author", "year", "pages")
CREATE = """
CREATE TABLE books (
  id int NOT NULL PRIMARY KEY,
  title varchar(200) NOT NULL,
  author varchar(100) NOT NULL,
  year int NOT NULL,
  pages int NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
"""
HOW_MANY = 1000

FORMS = (
    "A History of {}",
    "Notes on {}",
    "{} Explained",
    "The Handbook of {}",
    "{} for the Patient",
    "On {}",
)
MANNERS = (
    "Slow",
    "Northern",
    "Forgotten",
    "Practical",
    "Coastal",
    "Everyday",
    "Mechanical",
    "Quiet",
    "Early",
)
MATTERS = (
    "Lighthouses",
    "Canals",
    "Railway Timetables",
    "Tide Tables",
    "Bridges",
    "Printing Presses",
    "Weather Ships",
    "Clockwork",
    "Telegraph Lines",
    "Public Libraries",
    "Mountain Roads",
    "Signal Boxes",
)
BODIES = ("Society", "Institute", "Museum", "Academy", "Guild", "Association")
CONCERNS = ("Rivers", "Measures", "Harbours", "Machines", "Maps", "Letters", "Winds", "Ferries")


@cache
def rows() -> tuple[tuple[int, str, str, int, int], ...]:
    """All rows, in the order of COLUMNS, by id from 1."""
    # Of Random only random() promises the same numbers from every version of Python.
    draw = random.Random(20).random
    made = []
    for number in range(1, HOW_MANY + 1):
        form, manner, matter, body, concern = (
            words[int(draw() * len(words))] for words in (FORMS, MANNERS, MATTERS, BODIES, CONCERNS)
        )
        title = form.format(f"{manner} {matter}")
        author = f"{body} for the Study of {concern}"
        made.append((number, title, author, 1890 + int(draw() * 130), 90 + int(draw() * 700)))
    return tuple(made)
