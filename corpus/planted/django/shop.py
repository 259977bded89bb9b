"""Django with SQLite, all in one module.

GET /work sells an article: it locks the database, checks the order for $WORK_MS, and counts the article down.
"""

import os
import time
from pathlib import Path

from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of no use",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": Path(os.environ["SCRATCH"]) / "shop.sqlite3",
            "CONN_MAX_AGE": None,
            # As guides to SQLite in production advise.
            "OPTIONS": {
                "timeout": 30,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    },
)

from django.core.wsgi import get_wsgi_application  # noqa: E402  (not before the settings)
from django.db import connection, models, transaction  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402

application = get_wsgi_application()


class Article(models.Model):
    """What is for sale."""

    stock = models.IntegerField()

    class Meta:
        app_label = "shop"


def hello(request):
    """Answer at once."""
    return HttpResponse("hello")


def wait(request):
    """Sleep in the process that answers."""
    time.sleep(float(request.GET.get("ms", 0)) / 1000)
    return HttpResponse("waited")


def compute(request):
    """Arithmetic until this process has used so much CPU time."""
    ends = time.thread_time_ns() + float(request.GET.get("ms", 0)) * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return HttpResponse(str(x))


@transaction.atomic
def sell(request):
    """Sell an article; the check of the order asks something else, and takes a while."""
    article = Article.objects.get(pk=1)
    time.sleep(float(os.environ["WORK_MS"]) / 1000)
    article.stock -= 1
    article.save()
    return HttpResponse("sold")


urlpatterns = [path("", hello), path("wait", wait), path("compute", compute), path("work", sell)]


def make_shop():
    """Make the database before there is a worker, and leave no connection to the workers."""
    with connection.schema_editor() as editor:
        editor.create_model(Article)
    Article.objects.create(stock=1_000_000)
    connection.close()
