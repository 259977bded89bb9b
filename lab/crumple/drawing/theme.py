"""How charts look: colours and font. Pure.

Each language family has a colour. On dark screens the style sheet replaces these colours.
"""

# Computed: of the colours with a contrast of 3 to the paper and a hue near the one a language is known by,
# those eight of which the nearest two differ most (CIEDE2000) for eyes of every kind. The style sheet has
# others for the dark.
FAMILIES = {
    "go": "#003c78",
    "java": "#872d00",
    "javascript": "#2d785a",
    "php": "#f03c78",
    "python": "#a58700",
    "csharp": "#0096f0",
    "rust": "#2d2d2d",
    "other": "#879696",
}
# Where the time of a request goes. Colours of two that may touch differ by 20 (CIEDE2000) for every kind of
# eye, and all have a contrast of 3 to light paper; those of the style sheet do in the dark. Between what is
# before the server reads and what is after, there is always its CPU time, or what is inside undivided.
PARTS = {
    "due": "#1177bb",
    "not_accepted": "#bb7766",
    "unsent": "#0000bb",
    "unread": "#553355",
    "inside": "#aa1100",
    "user": "#aa1100",
    "cpu": "#aa1100",
    "kernel": "#0c015a",
    "ready": "#ff5500",
    "disk": "#aa8899",
    "dependency": "#410d1f",
    "otherwise": "#4488ee",
    "returning": "#0536dd",
    "network": "#665566",
    "unknown": "#665566",
}
_FAMILY_OF = {"node.js": "javascript", "node": "javascript", "typescript": "javascript", "c#": "csharp"}

# An I/O model has the colour of a family: no other eight differ more for eyes of every kind, and no chart has
# models beside languages.
MODELS = {
    "event-loop-per-core": FAMILIES["go"],
    "green-threads": FAMILIES["csharp"],
    "hybrid": FAMILIES["python"],
    "event-loop": FAMILIES["javascript"],
    "thread-pool": FAMILIES["java"],
    "thread-per-connection": FAMILIES["other"],
    "process-pool": FAMILIES["php"],
    "process-per-connection": FAMILIES["rust"],
}

# All values differ, so that a style sheet can replace each by selecting the attribute with it.
INK = "#1f2329"
MUTED = "#646b75"
GRID = "#e4e6ea"
CONTEXT = "#d3d7dd"
SHADE = "#f1f2f4"
PAPER = "#fffffe"
_ROLES = {"ink": INK, "muted": MUTED, "line": GRID, "context": CONTEXT, "shade": SHADE, "paper": PAPER}

FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"


def family_of(language: str) -> str:
    """The family of a language, as a key of FAMILIES."""
    name = language.lower()
    family = _FAMILY_OF.get(name, name)
    return family if family in FAMILIES else "other"


def colour_of(language: str) -> str:
    """The colour of a language's family."""
    return FAMILIES[family_of(language)]


def style_rules() -> str:
    """CSS that binds charts' colours to the page's variables: a rule takes precedence over an attribute."""
    return "\n".join(
        f':is(svg, svg *)[{attribute}="{colour}"] {{ {attribute}: var(--{name}); }}'
        for name, colour in {**_ROLES, **FAMILIES, **_parts()}.items()
        for attribute in ("fill", "stroke")
    )


def _parts() -> dict[str, str]:
    """The colours of parts by their variables in the style sheet; parts of one colour have one."""
    return {f"part-{name.replace('_', '-')}": colour for name, colour in PARTS.items() if name not in _ALIKE}


# User and CPU time never stand beside *inside*, of which they are a piece, and have its colour. Nor does what
# is on the network stand beside what is not told apart: each is in budgets that were read in one way.
_ALIKE = ("user", "cpu", "network")
