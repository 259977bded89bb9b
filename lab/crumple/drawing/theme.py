"""How charts look: colours and font. Pure.

Each language family has a colour. On dark screens the style sheet replaces these colours.
"""

from typing import TYPE_CHECKING, Any

# Okabe and Ito's palette, which people with the common kinds of colour blindness can distinguish.
FAMILIES = {
    "go": "#0072b2",
    "java": "#d55e00",
    "javascript": "#009e73",
    "php": "#cc79a7",
    "python": "#e69f00",
    "csharp": "#56b4e9",
    "rust": "#3b3f46",
    "other": "#8a8f98",
}
_FAMILY_OF = {"node.js": "javascript", "node": "javascript", "typescript": "javascript", "c#": "csharp"}

# All values differ, so that a style sheet can replace each by selecting the attribute with it.
INK = "#1f2329"
MUTED = "#646b75"
GRID = "#e4e6ea"
CONTEXT = "#d3d7dd"
SHADE = "#f1f2f4"
PAPER = "#fffffe"
_ROLES = {"ink": INK, "muted": MUTED, "line": GRID, "context": CONTEXT, "shade": SHADE, "paper": PAPER}

FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"
# In pixels: a little smaller than the text of pages.
FONT_SIZE = 12


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
        f'svg [{attribute}="{colour}"] {{ {attribute}: var(--{name}); }}'
        for name, colour in {**_ROLES, **FAMILIES}.items()
        for attribute in ("fill", "stroke")
    )


if TYPE_CHECKING:
    # What charts of Altair take, until the last of them is replaced.
    from crumple.drawing.altair_theme import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        # Imported here because it takes half a second.
        from crumple.drawing import altair_theme

        return getattr(altair_theme, name)
