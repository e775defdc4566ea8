"""robots.txt by RFC 9309: text in, verdicts out."""

from mudroom.robots.lines import MAX_BODY_BYTES
from mudroom.robots.rules import (
    ALLOW_ALL,
    MAX_CRAWL_DELAY_SECONDS,
    RobotsRules,
    RobotsVerdict,
    parse_robots,
)
from mudroom.robots.tags import AGENT_TOKEN, forbids_following, is_robots_name

__all__ = [
    "AGENT_TOKEN",
    "ALLOW_ALL",
    "MAX_BODY_BYTES",
    "MAX_CRAWL_DELAY_SECONDS",
    "RobotsRules",
    "RobotsVerdict",
    "forbids_following",
    "is_robots_name",
    "parse_robots",
]
