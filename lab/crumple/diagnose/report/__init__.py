"""What is shown of a diagnosis, as text, JSON and a page: pure."""
