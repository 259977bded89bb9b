"""All tools whose habits are known, by name."""

from crumple.habits.ab import AB
from crumple.habits.autocannon import AUTOCANNON
from crumple.habits.bombardier import BOMBARDIER
from crumple.habits.h2load import H2LOAD
from crumple.habits.hey import HEY
from crumple.habits.k6 import K6
from crumple.habits.oha import OHA
from crumple.habits.tool import Tool
from crumple.habits.vegeta import VEGETA
from crumple.habits.wrk import WRK, WRK2

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (WRK, WRK2, AB, HEY, OHA, K6, VEGETA, BOMBARDIER, AUTOCANNON, H2LOAD)
}
