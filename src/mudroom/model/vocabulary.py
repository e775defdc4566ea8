"""The closed sets of words that records, schemas and every floor share."""

from __future__ import annotations

from enum import IntEnum, StrEnum, unique

__all__ = [
    "Channel",
    "CrawlState",
    "Decision",
    "ExposedForm",
    "Hiding",
    "Initiator",
    "Isolation",
    "LinkRelation",
    "OutcomeKind",
    "PageState",
    "RobotsState",
    "RunKind",
    "Severity",
    "View",
    "WarningCode",
]


@unique
class Severity(IntEnum):
    """How bad a finding is; ordered. Records hold the name."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4


@unique
class Decision(StrEnum):
    """What policy says of a scanned document."""

    SAFE = "SAFE"
    WARN = "WARN"
    BLOCK = "BLOCK"


@unique
class PageState(StrEnum):
    """Where a page stands on its way in; the last four are final."""

    DISCOVERED = "DISCOVERED"
    VALIDATING = "VALIDATING"
    FETCHING = "FETCHING"
    EXTRACTING = "EXTRACTING"
    SCANNING = "SCANNING"
    STORED = "STORED"
    QUARANTINED = "QUARANTINED"
    BLOCKED = "BLOCKED"
    FAILED = "FAILED"


@unique
class OutcomeKind(StrEnum):
    """How the way in ended."""

    STORED = "STORED"
    QUARANTINED = "QUARANTINED"
    BLOCKED = "BLOCKED"
    FAILED = "FAILED"


@unique
class CrawlState(StrEnum):
    """Where a run stands; LIMIT_REACHED and CANCELLED are successful ends with a manifest."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    LIMIT_REACHED = "LIMIT_REACHED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@unique
class RunKind(StrEnum):
    """What a run took in; the prefix of its id."""

    OPEN = "open"
    CRAWL = "crawl"
    FILE = "file"


@unique
class Initiator(StrEnum):
    """Who named a URL, and so which exceptions it may use (decision 4)."""

    OPERATOR = "operator"
    AGENT = "agent"
    PAGE = "page"


@unique
class RobotsState(StrEnum):
    """What robots.txt had to say of a document; a page that it denies has no document."""

    NOT_CHECKED = "not-checked"
    ALLOWED = "allowed"
    IGNORED = "ignored"


@unique
class Isolation(StrEnum):
    """How strongly a guest was held, strongest first (decision 10)."""

    STRICT = "strict"
    CONFINED = "confined"
    PROCESS = "process"


@unique
class LinkRelation(StrEnum):
    """How a document says that it is related to what it links to."""

    ANCHOR = "anchor"
    """A link that a person can follow, a frame, or where a page sends its readers by itself."""
    ALTERNATE = "alternate"
    """Another form of the page: a language, a feed, a version to print."""
    CANONICAL = "canonical"
    """What the page calls its own address. A hint: a page can say so of any other."""
    NEXT = "next"


@unique
class View(StrEnum):
    """A form of the display tree that can be asked for and is scanned as it is handed on."""

    MARKDOWN = "markdown"
    TEXT = "text"


@unique
class ExposedForm(StrEnum):
    """Each string that leaves with an accepted document; each is scanned in exactly this form."""

    TITLE = "title"
    URL = "url"
    DECODED_URL = "decoded_url"
    """Scanned only: what a reader makes of a percent-encoded URL."""
    SLUG = "slug"
    MARKDOWN = "markdown"
    TEXT = "text"


@unique
class Channel(IntEnum):
    """Where in a document a string stood. One byte on the wire; never renumbered."""

    TEXT = 1
    TITLE = 2
    COMMENT = 3
    ATTRIBUTE = 4
    ALT = 5
    META = 6
    SCRIPT = 7
    STYLE = 8
    NOSCRIPT = 9
    TEMPLATE = 10
    CODE = 11
    LINK = 12
    FORM = 13
    SVG = 14
    JSON = 15
    CDATA = 16
    INSTRUCTION = 17
    EMBEDDED = 18
    CELL = 19
    KEY = 20
    EXPOSED = 21
    URL = 22


@unique
class Hiding(IntEnum):
    """Why a person does not see a string. One byte on the wire; 0 means visible."""

    NONE = 0
    DISPLAY_NONE = 1
    VISIBILITY_HIDDEN = 2
    OPACITY = 3
    FONT_SIZE = 4
    OFF_SCREEN = 5
    CLIPPED = 6
    ZERO_SIZE = 7
    COLOUR = 8
    HIDDEN_ATTRIBUTE = 9
    ARIA_HIDDEN = 10
    INERT = 11
    NOT_RENDERED = 12
    """Comments, templates, scripts, metadata: never laid out at all."""
    CLOSED_DETAILS = 13


@unique
class WarningCode(StrEnum):
    """What was noticed on the way without ending it; a template without page text goes with each."""

    CHARSET_UNKNOWN = "CHARSET_UNKNOWN"
    CHARSET_GUESSED = "CHARSET_GUESSED"
    CHARSET_INVALID_BYTES = "CHARSET_INVALID_BYTES"
    TYPE_DISAGREES = "TYPE_DISAGREES"
    TEXT_CLEANED = "TEXT_CLEANED"
    MOSTLY_HIDDEN = "MOSTLY_HIDDEN"
    LINKS_CAPPED = "LINKS_CAPPED"
    LINK_REFUSED = "LINK_REFUSED"
    FRONTIER_FULL = "FRONTIER_FULL"
    TRAP_SKIPPED = "TRAP_SKIPPED"
    NOT_FOLLOWED = "NOT_FOLLOWED"
    FOLLOW_FAILED = "FOLLOW_FAILED"
    TWIN_MERGED = "TWIN_MERGED"
    SAME_CONTENT = "SAME_CONTENT"
    RETRIED = "RETRIED"
    LINKS_LOST = "LINKS_LOST"
    VERSIONS_CHANGED = "VERSIONS_CHANGED"
    PAGE_LIMIT = "PAGE_LIMIT"
    BYTE_LIMIT = "BYTE_LIMIT"
    TIME_LIMIT = "TIME_LIMIT"
    ROBOTS_UNREACHABLE = "ROBOTS_UNREACHABLE"
    ROBOTS_TRUNCATED = "ROBOTS_TRUNCATED"
    SEED_MOVED = "SEED_MOVED"
    NOT_ARCHIVED = "NOT_ARCHIVED"
    OFF_HOST = "OFF_HOST"
    NOTHING_STORED = "NOTHING_STORED"
    UNEXPECTED_ERROR = "UNEXPECTED_ERROR"
    EMPTY_BODY = "EMPTY_BODY"
    SITEMAP_UNREADABLE = "SITEMAP_UNREADABLE"
    SITEMAP_MALFORMED = "SITEMAP_MALFORMED"
    SITEMAP_TRUNCATED = "SITEMAP_TRUNCATED"
    SITEMAP_LIMIT = "SITEMAP_LIMIT"
    SITEMAP_OFF_HOST = "SITEMAP_OFF_HOST"
    ARCHIVE_DAMAGED = "ARCHIVE_DAMAGED"
    """Stretches of an archive that was imported are no records."""
    RECORDS_PASSED_OVER = "RECORDS_PASSED_OVER"
    """Records of an archive that was imported are of types that hold no page."""
    NOT_MODIFIED = "NOT_MODIFIED"
    """The site said that its page is still the one that the archive holds, and that one was read again."""
    PRIOR_UNREADABLE = "PRIOR_UNREADABLE"
    """What the archive holds of the page from before cannot be read, so all of it was asked for."""
