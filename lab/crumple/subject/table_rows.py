"""The tables `wp_options` and `books` with their rows, the same on every machine.

`wp_options` holds settings as a content management system stores them: the names are WordPress's own, every
value is made up. So are all titles and authors of `books`, a thousand small rows. `subject.tables` puts both
into a database.
"""

import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class TableRows(NamedTuple):
    """One table; `rows` have the order of `columns` and are sorted by the first of them."""

    name: str
    create: str
    columns: tuple[str, ...]
    rows: tuple[tuple[int | str, ...], ...]


CREATE_OPTIONS = """
CREATE TABLE wp_options (
  option_id bigint unsigned NOT NULL AUTO_INCREMENT,
  option_name varchar(191) NOT NULL DEFAULT '',
  option_value longtext NOT NULL,
  autoload varchar(20) NOT NULL DEFAULT 'yes',
  PRIMARY KEY (option_id),
  UNIQUE KEY option_name (option_name),
  KEY autoload (autoload)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
"""
# The cached values in the table of options, none of which is loaded with the settings.
TRANSIENTS = 160
EPOCH_S = 1_767_225_600  # the first second of 2026
Php = bool | int | str | dict[str | int, "Php"] | list["Php"]
Pair = tuple[str, str]

# In the order in which an installation writes them. A name without "=" gets its value from `_made`.
FIRST = """
siteurl=https://www.example.org/blog
home=https://www.example.org
blogname=The Harbour Log
blogdescription=Notes on tides, \\"slow\\" machines and C:\\tides\\tables
users_can_register=0
admin_email=admin@example.org
start_of_week=1
use_balanceTags=0
use_smilies=1
require_name_email=1
comments_notify=1
posts_per_rss=10
rss_use_excerpt=0
mailserver_url=mail.example.org
mailserver_login=login@example.org
mailserver_pass=password
mailserver_port=110
default_category=1
default_comment_status=open
default_ping_status=open
default_pingback_flag=1
posts_per_page=10
date_format=j F Y
time_format=H:i
links_updated_date_format=j F Y, H:i
comment_moderation=0
moderation_notify=1
permalink_structure=/%year%/%monthnum%/%day%/%postname%/
rewrite_rules
hack_file=0
blog_charset=UTF-8
moderation_keys=
active_plugins
category_base=
ping_sites=https://rpc.example.org/
comment_max_links=2
gmt_offset=1
default_email_category=1
recently_edited
template=harbour
stylesheet=harbour-child
comment_registration=0
html_type=text/html
use_trackback=0
default_role=subscriber
db_version=57155
uploads_use_yearmonth_folders=1
upload_path=
blog_public=1
sidebars_widgets
default_link_category=2
show_on_front=posts
tag_base=
show_avatars=1
avatar_rating=G
upload_url_path=
thumbnail_size_w=150
thumbnail_size_h=150
thumbnail_crop=1
medium_size_w=300
medium_size_h=300
avatar_default=mystery
large_size_w=1024
large_size_h=1024
image_default_link_type=none
image_default_size=
image_default_align=
close_comments_for_old_posts=0
close_comments_days_old=14
thread_comments=1
thread_comments_depth=5
page_comments=0
comments_per_page=50
default_comments_page=newest
comment_order=asc
sticky_posts
widget_categories
widget_text
widget_rss
uninstall_plugins
timezone_string=Europe/Berlin
page_for_posts=0
page_on_front=0
default_post_format=0
link_manager_enabled=0
finished_splitting_shared_terms=1
site_icon=0
medium_large_size_w=768
medium_large_size_h=0
wp_page_for_privacy_policy=3
show_comments_cookies_opt_in=1
admin_email_lifespan=1782777600
disallowed_keys=
comment_previously_approved=1
auto_plugin_theme_update_emails
auto_update_core_dev=enabled
auto_update_core_minor=enabled
auto_update_core_major=enabled
wp_force_deactivated_plugins
initial_db_version=57155
wp_user_roles
fresh_site=0
widget_search
widget_recent-posts
widget_recent-comments
widget_archives
widget_meta
widget_pages
widget_calendar
widget_tag_cloud
widget_nav_menu
widget_media_image
widget_custom_html
cron
theme_mods_harbour-child
current_theme=Harbour Child
theme_switched=
nav_menu_options
recovery_keys
can_compress_scripts=1
"""
PLUGINS = ("harbour-cache", "tide-tables", "plain-forms", "quiet-comments", "signal-seo", "map-blocks")
ROLES = ("administrator", "editor", "author", "contributor", "subscriber")
VERBS = ("edit", "delete", "publish", "read_private", "edit_others", "edit_published", "delete_others")
NOUNS = ("posts", "pages", "charts", "tables", "logs")
HOOKS = (
    "wp_version_check",
    "wp_update_plugins",
    "wp_update_themes",
    "wp_scheduled_delete",
    "delete_expired_transients",
    "wp_scheduled_auto_draft_delete",
    "recovery_mode_clean_expired_keys",
    "wp_privacy_delete_old_export_files",
    "tide_tables_fetch",
)
KINDS = ("post", "page", "chart", "log", "category", "tag", "author", "attachment", "harbour")
ENDINGS = (
    "feed/(feed|rdf|rss|rss2|atom)/?$",
    "(feed|rdf|rss|rss2|atom)/?$",
    "embed/?$",
    "trackback/?$",
    "comment-page-([0-9]{1,})/?$",
    "page/?([0-9]{1,})/?$",
    "(?:/([0-9]+))?/?$",
)


@cache
def wp_options() -> TableRows:
    """The table with all its rows, ids from 1; some ids are missing, as in any old installation."""
    # Only the method random() of Random is guaranteed to yield the same numbers in every version of Python.
    draw = random.Random(10).random
    made: list[tuple[int, str, str, str]] = []
    for number, (name, value) in enumerate(_settings(), 1):
        made.append((number, name, value, "no" if name.startswith("recovery") else "yes"))
    number = len(made)
    for at in range(TRANSIENTS):
        number += 1 + int(draw() * 3)
        for name, value in _transient(at, int(draw() * 2**32), int(draw() * 40)):
            made.append((number, name, value, "no"))
            number += 1
    columns = ("option_id", "option_name", "option_value", "autoload")
    return TableRows("wp_options", CREATE_OPTIONS, columns, tuple(made))


def _settings() -> Iterator[Pair]:
    for line in FIRST.split("\n")[1:-1]:
        name, given, value = line.partition("=")
        yield name, value if given else _serialized(_made(name))


def _made(name: str) -> Php:
    """The value of an option that holds an array or a list."""
    if name.startswith("widget_"):
        return _widget(name.removeprefix("widget_"))
    many: dict[str, Php] = {
        "rewrite_rules": _rewrite_rules(),
        "active_plugins": [f"{name}/{name}.php" for name in PLUGINS],
        "recently_edited": ["/srv/www/content/themes/harbour/style.css", r"C:\inetpub\themes\harbour.php"],
        "sidebars_widgets": {
            "wp_inactive_widgets": [],
            "sidebar-1": ["search-2", "recent-posts-2", "archives-2", "custom_html-3"],
            "sidebar-2": ["categories-2", "meta-2", "rss-4"],
            "array_version": 3,
        },
        "sticky_posts": [17, 240, 1031],
        "wp_user_roles": _roles(),
        "cron": _cron(),
        "theme_mods_harbour-child": {
            "custom_logo": 12,
            "header_textcolor": "1a2b3c",
            "custom_css_post_id": -1,
            "nav_menu_locations": {"primary": 2, "footer": 3},
            "footer_note": 'Tide times are "as observed", see https://www.example.org/tides/',
        },
    }
    return many.get(name, [])


def _rewrite_rules() -> Php:
    rules: dict[str | int, Php] = {
        r"^wp-json/?$": "index.php?rest_route=/",
        r"robots\.txt$": "index.php?robots=1",
    }
    for kind in KINDS:
        for ending in ENDINGS:
            rules[f"{kind}/([^/]+)/{ending}"] = f"index.php?{kind}=$matches[1]"
    return rules


def _roles() -> Php:
    rights = [f"{verb}_{noun}" for noun in NOUNS for verb in VERBS]
    return {
        role: {
            "name": role.capitalize(),
            "capabilities": dict.fromkeys(rights[: len(rights) // (1 + at)], True),
        }
        for at, role in enumerate(ROLES)
    }


def _cron() -> Php:
    events: dict[str | int, Php] = {}
    for at, hook in enumerate(HOOKS):
        for turn in range(3):
            key = f"{(at * 2_654_435_761 + turn * 40_503) % 2**32:08x}" * 4
            schedule = ("hourly", "twicedaily", "daily")[turn]
            interval_s = (3600, 43_200, 86_400)[turn]
            event: Php = {"schedule": schedule, "args": [], "interval": interval_s}
            events[EPOCH_S + at * 977 + turn * 10_007] = {hook: {key: event}}
    return {**events, "version": 2}


def _widget(kind: str) -> Php:
    shown: dict[str | int, Php] = {"title": f'What others call "{kind}"', "count": 0, "dropdown": True}
    if kind == "rss":
        shown["url"] = "https://www.example.org/feed/?kind=rss2"
    if kind in ("text", "custom_html"):
        shown["text"] = " ".join([r"High water at the \"old\" quay: see /tides/today/, and C:\charts\."] * 9)
    return {2: shown, "_multiwidget": 1}


def _transient(at: int, drawn: int, entries: int) -> list[Pair]:
    """Two options: when a cached value expires, and the value itself. A few values are several kilobytes."""
    name = f"{('feed', 'plugin_slugs', 'tide', 'dash', 'doing')[at % 5]}_{drawn:08x}{at:04x}"
    found: dict[str | int, Php] = {
        f"station-{entry:03d}": {
            "name": f'Quay \\"{(drawn + entry) % 97}\\"',
            "href": f"/tides/{(drawn >> entry % 24) % 10_000}/",
            "high": [(drawn + entry * 37) % 1440, (drawn + entry * 37 + 745) % 1440],
        }
        for entry in range(entries)
    }
    ends_s = EPOCH_S + drawn % 1_000_000
    return [(f"_transient_timeout_{name}", str(ends_s)), (f"_transient_{name}", _serialized(found))]


def _serialized(value: Php) -> str:
    """The value as PHP's serialize() writes it."""
    if isinstance(value, bool):
        return f"b:{value:d};"
    if isinstance(value, int):
        return f"i:{value};"
    if isinstance(value, str):
        return f's:{len(value)}:"{value}";'
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inside = "".join(_serialized(key) + _serialized(part) for key, part in pairs)
    return f"a:{len(value)}:{{{inside}}}"


CREATE_BOOKS = """
CREATE TABLE books (
  id int NOT NULL PRIMARY KEY,
  title varchar(200) NOT NULL,
  author varchar(100) NOT NULL,
  year int NOT NULL,
  pages int NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
"""
# The rows of the table of books.
BOOKS = 1000

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
def books() -> TableRows:
    """The table with all its rows, ids from 1."""
    # Only the method random() of Random promises the same numbers from every version of Python.
    draw = random.Random(20).random
    made: list[tuple[int | str, ...]] = []
    for number in range(1, BOOKS + 1):
        form, manner, matter, body, concern = (
            words[int(draw() * len(words))] for words in (FORMS, MANNERS, MATTERS, BODIES, CONCERNS)
        )
        title = form.format(f"{manner} {matter}")
        author = f"{body} for the Study of {concern}"
        made.append((number, title, author, 1890 + int(draw() * 130), 90 + int(draw() * 700)))
    return TableRows("books", CREATE_BOOKS, ("id", "title", "author", "year", "pages"), tuple(made))
