"""What a runtime or a dependency says of itself to its own user: asked read-only, beside a load."""

from crumple.asked.all_sources import all_of as all_of
