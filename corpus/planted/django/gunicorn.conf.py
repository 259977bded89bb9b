"""What gunicorn reads: it loads the application before it forks, and makes the database then."""

loglevel = "warning"
preload_app = True


def when_ready(server):
    """Make the database; the application is there."""
    import shop

    shop.make_shop()
