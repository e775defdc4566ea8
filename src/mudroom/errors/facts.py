"""What holds for every failure of one code: its class, whether to try again, what a person can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mudroom.errors.codes import Code, Reason

__all__ = ["CODES", "CodeFacts"]


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """What holds for every failure of one code."""

    reason: Reason
    retryable: bool
    advice: str
    """One sentence: what a person can do about it."""


_EGRESS = (
    "Use a public http or https URL; if this target is yours, name it by its IP address and open its origin "
    "with --allow-origin http://127.0.0.1:8000 (or egress.allow_origins)."
)
_AGAIN = "Try again later; if it persists, open the address in a browser to see whether the site is up."
_GUEST = "The document was given up and the guest replaced; try a smaller document, or report it with its source_ref."

CODES: Mapping[Code, CodeFacts] = MappingProxyType(
    {
        Code.INVALID_URL: CodeFacts(Reason.INVALID_INPUT, False, "Check the spelling of the URL."),
        Code.INVALID_SCHEME: CodeFacts(Reason.UNSUPPORTED_SCHEME, False, "Only http and https are fetched."),
        Code.CREDENTIALS: CodeFacts(
            Reason.SSRF, False, "Remove user and password from the URL; credentials come from settings."
        ),
        Code.INVALID_HOST: CodeFacts(
            Reason.SSRF, False, "Write the host as a name or as a plain IP address."
        ),
        Code.DENIED_HOST: CodeFacts(Reason.SSRF, False, _EGRESS),
        Code.INVALID_PORT: CodeFacts(
            Reason.SSRF,
            False,
            "The open ports are those of egress.ports; a target of your own opens with "
            "--allow-origin http://127.0.0.1:8000 (scheme, IP address and port).",
        ),
        Code.DENIED_ADDRESS: CodeFacts(Reason.SSRF, False, _EGRESS),
        Code.REDIRECT_INVALID: CodeFacts(
            Reason.REDIRECT_VIOLATION,
            False,
            "The site sent a redirect that cannot be followed; open its target directly if you trust it.",
        ),
        Code.REDIRECT_LIMIT: CodeFacts(
            Reason.REDIRECT_VIOLATION, False, "The site redirects too often; open the last address directly."
        ),
        Code.REDIRECT_LOOP: CodeFacts(
            Reason.REDIRECT_VIOLATION, False, "The site redirects to itself; it may need a cookie or a login."
        ),
        Code.REDIRECT_CROSS_HOST: CodeFacts(
            Reason.REDIRECT_VIOLATION,
            False,
            "The page moved to another host; open that address, or set same_host off.",
        ),
        Code.REDIRECT_DOWNGRADE: CodeFacts(
            Reason.REDIRECT_VIOLATION, False, "The site sends https visitors to http; this is never followed."
        ),
        Code.DNS_FAILURE: CodeFacts(Reason.NETWORK, True, "Check the name and this machine's resolver."),
        Code.DNS_TIMEOUT: CodeFacts(Reason.NETWORK, True, "Check this machine's resolver."),
        Code.CONNECT_FAILED: CodeFacts(Reason.NETWORK, True, _AGAIN),
        Code.CONNECT_TIMEOUT: CodeFacts(Reason.NETWORK, True, _AGAIN),
        Code.TLS_FAILED: CodeFacts(
            Reason.NETWORK,
            False,
            "The certificate or the TLS handshake failed; for an authority of your own use --cacert.",
        ),
        Code.RESPONSE_TIMEOUT: CodeFacts(Reason.NETWORK, True, _AGAIN),
        Code.IDLE_TIMEOUT: CodeFacts(Reason.NETWORK, True, _AGAIN),
        Code.TOTAL_TIMEOUT: CodeFacts(
            Reason.NETWORK,
            True,
            "Raise fetch.total_timeout_seconds, or --max-time, if the body is honestly that slow.",
        ),
        Code.DEADLINE_EXCEEDED: CodeFacts(
            Reason.NETWORK, True, "Give the request a later deadline, or ask when less waits before it."
        ),
        Code.CONNECTION_LOST: CodeFacts(Reason.NETWORK, True, _AGAIN),
        Code.PROTOCOL_ERROR: CodeFacts(
            Reason.NETWORK, False, "The peer does not speak HTTP as it must; nothing was kept."
        ),
        Code.HEADERS_TOO_LARGE: CodeFacts(Reason.NETWORK, False, "The peer sent more headers than are read."),
        Code.CONSUMER_LAGGED: CodeFacts(
            Reason.LIMIT, True, "Read the body as fast as those who share it, or ask for it alone."
        ),
        Code.INVALID_HEADER: CodeFacts(
            Reason.CONFIGURATION,
            False,
            "Write the header as 'Name: value' without line breaks; Host, framing and hop-by-hop headers are ours.",
        ),
        Code.HTTP_STATUS: CodeFacts(
            Reason.HTTP,
            False,
            "The site answered with an error; open the address in a browser to see whether the page is there.",
        ),
        Code.BOT_WALL: CodeFacts(
            Reason.HTTP,
            False,
            "The site asks visitors to prove that they are human; mudroom does not get round that.",
        ),
        Code.NEEDS_RENDER: CodeFacts(
            Reason.HTTP, False, "The page shows nothing without its scripts; it needs a browser to be read."
        ),
        Code.ROBOTS_DENIED: CodeFacts(
            Reason.ROBOTS,
            False,
            "robots.txt asks robots to stay away; a person may decide otherwise with --no-robots.",
        ),
        Code.ROBOTS_UNAVAILABLE: CodeFacts(
            Reason.ROBOTS,
            True,
            "robots.txt could not be read, so nothing is fetched (RFC 9309); try again later.",
        ),
        Code.BODY_TOO_LARGE: CodeFacts(
            Reason.CONTENT_TOO_LARGE,
            False,
            "Raise fetch.max_body_bytes (of a download: --max-bytes; in a crawl: crawl.max_page_bytes) "
            "if you want a body of this size.",
        ),
        Code.DECODED_TOO_LARGE: CodeFacts(
            Reason.CONTENT_TOO_LARGE,
            False,
            "The body unpacks to more than fetch.max_decoded_bytes; it may be a decompression bomb.",
        ),
        Code.DECODE_FAILED: CodeFacts(
            Reason.UNSUPPORTED_CONTENT_TYPE, False, "The body is not what its Content-Encoding says."
        ),
        Code.UNSUPPORTED_ENCODING: CodeFacts(
            Reason.UNSUPPORTED_CONTENT_TYPE, False, "The body comes in a Content-Encoding that is not read."
        ),
        Code.UNSUPPORTED_CONTENT_TYPE: CodeFacts(
            Reason.UNSUPPORTED_CONTENT_TYPE,
            False,
            "Use mudroom download for bytes of other types; they are guarded, but not screened.",
        ),
        Code.EXTRACTION_FAILED: CodeFacts(Reason.EXTRACTION, False, _GUEST),
        Code.EXTRACTION_LIMIT: CodeFacts(
            Reason.CONTENT_TOO_LARGE,
            False,
            "Where the message names a limit of [extract], raise it if you want documents like this one.",
        ),
        Code.JAIL_UNAVAILABLE: CodeFacts(
            Reason.EXTRACTION,
            False,
            "Run mudroom doctor: it shows what this machine lacks and how to mend it; jail.isolation names a weaker level.",
        ),
        Code.GUEST_CRASHED: CodeFacts(Reason.EXTRACTION, False, _GUEST),
        Code.GUEST_TIMEOUT: CodeFacts(Reason.EXTRACTION, False, _GUEST),
        Code.GUEST_MEMORY: CodeFacts(Reason.EXTRACTION, False, _GUEST),
        Code.GUEST_PROTOCOL: CodeFacts(Reason.EXTRACTION, False, _GUEST),
        Code.PROMPT_INJECTION: CodeFacts(
            Reason.PROMPT_INJECTION, False, "Look at the findings before you trust this source."
        ),
        Code.POLICY_VIOLATION: CodeFacts(
            Reason.POLICY_VIOLATION, False, "A rule of your policy refuses this page."
        ),
        Code.SCANNER_FAILURE: CodeFacts(
            Reason.SCANNER_FAILURE,
            False,
            "The scanner did not finish, so the page is withheld; run mudroom doctor.",
        ),
        Code.SNAPSHOT_CORRUPT: CodeFacts(
            Reason.STORE,
            False,
            "What lies there is damaged or not ours; put a copy that is whole in its place, or name another workspace. "
            "Where the archive's index is damaged, mudroom rebuild makes it again.",
        ),
        Code.SNAPSHOT_MISSING: CodeFacts(Reason.STORE, False, "This workspace holds no such record."),
        Code.SNAPSHOT_MISMATCH: CodeFacts(
            Reason.STORE, False, "The record is not the one the reference names."
        ),
        Code.STORE_UNAVAILABLE: CodeFacts(
            Reason.STORE,
            True,
            "Check that the place named, or else the workspace, is there and can be read and written.",
        ),
        Code.SNAPSHOT_HISTORY_FULL: CodeFacts(
            Reason.STORE,
            False,
            "Run mudroom prune with --source and the URL, or raise archive.max_records_per_source.",
        ),
        Code.ARCHIVE_FULL: CodeFacts(
            Reason.STORE,
            False,
            "Run mudroom prune, which frees what no run refers to any more (delete the runs that you do not need "
            "before it); or raise archive.max_bytes, or move private/archive of the workspace away.",
        ),
        Code.NO_SPACE: CodeFacts(
            Reason.STORE,
            True,
            "Free space on the disk of the workspace, or of the file that was to be written.",
        ),
        Code.INVALID_REFERENCE: CodeFacts(
            Reason.INVALID_INPUT, False, "Copy the source_ref whole, without changes."
        ),
        Code.RUN_NOT_FOUND: CodeFacts(
            Reason.INVALID_INPUT, False, "mudroom runs lists what this workspace holds."
        ),
        Code.RUN_ACTIVE: CodeFacts(
            Reason.INVALID_INPUT, True, "Wait until it has ended, or stop the program that writes it."
        ),
        Code.FILE_NOT_FOUND: CodeFacts(Reason.FILE, False, "Check the path."),
        Code.FILE_NOT_REGULAR: CodeFacts(
            Reason.FILE, False, "Name the file itself: links, folders, pipes and devices are not opened."
        ),
        Code.FILE_UNREADABLE: CodeFacts(
            Reason.FILE, False, "Check the permissions of the file, and that it holds text."
        ),
        Code.FILE_TOO_LARGE: CodeFacts(
            Reason.CONTENT_TOO_LARGE,
            False,
            "Raise extract.max_body_bytes (for scan: --max-file-size) if you want a file of this size.",
        ),
        Code.CRAWL_LIMIT_REACHED: CodeFacts(Reason.LIMIT, False, "Raise the budget of the crawl."),
        Code.DUPLICATE_PAGE: CodeFacts(
            Reason.LIMIT, False, "The address leads to a page that this run takes in under another address."
        ),
        Code.OUT_OF_SCOPE: CodeFacts(
            Reason.LIMIT, False, "The page moved out of the crawl's scope; widen --scope or the globs."
        ),
        Code.CANCELLED: CodeFacts(Reason.CANCELLED, True, "Start it again."),
        Code.INVALID_CONFIG: CodeFacts(
            Reason.CONFIGURATION,
            False,
            "Mend what is named; mudroom config path says which settings file is read.",
        ),
        Code.INTERNAL_ERROR: CodeFacts(
            Reason.INTERNAL, False, "This is a fault of mudroom; report it with the log of this run."
        ),
    }
)
