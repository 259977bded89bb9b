"""What a runtime or a dependency answers its own user: asked read-only, while the server is loaded."""
