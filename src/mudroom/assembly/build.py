"""Each part's options, from settings and from what the machine says of itself."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path

from mudroom import __version__
from mudroom.address import EgressPolicy
from mudroom.clock import Clock
from mudroom.corpus import FileCorpus, RunVersions
from mudroom.fetch import FetchOptions, Scheduler, SchedulerOptions
from mudroom.intake import PROFILE_OPTION
from mudroom.jail import SCAN_ROLE, JailOptions
from mudroom.model import Isolation
from mudroom.net import NetLimits, add_interfaces, list_interfaces
from mudroom.replay import EGRESS_OPTION, KEEP_OPTION, describe_egress
from mudroom.screen import SCANNER_VERSION, PolicyOptions, compute_policy_version, digest_rules
from mudroom.settings import EgressSettings, Settings
from mudroom.snapshot import FileSnapshotStore, RebuildReport, SnapshotOptions, rebuild_index

__all__ = [
    "build_archive",
    "build_egress",
    "build_fetch_options",
    "build_jail_options",
    "build_operator_egress",
    "build_reading_corpus",
    "build_scheduler",
    "describe_run",
    "find_versions",
    "rebuild_archive",
]


def build_egress(settings: EgressSettings) -> EgressPolicy:
    """The egress policy of this moment: what settings say, and what the machine says of itself."""
    return add_interfaces(build_operator_egress(settings), list_interfaces())


def build_operator_egress(settings: EgressSettings) -> EgressPolicy:
    """What settings say of egress, without a word of the machine."""
    return EgressPolicy(
        ports=settings.ports,
        allow_origins=settings.allow_origins,
        allow_networks=settings.allow_networks,
        deny_hosts=settings.deny_hosts,
        deny_networks=settings.deny_networks,
    )


def build_fetch_options(settings: Settings) -> FetchOptions:
    """The request profile that every surface shares."""
    fetch, egress = settings.fetch, settings.egress
    limits = NetLimits(
        connect_timeout_seconds=fetch.connect_timeout_seconds,
        response_timeout_seconds=fetch.response_timeout_seconds,
        idle_timeout_seconds=fetch.idle_timeout_seconds,
        total_timeout_seconds=fetch.total_timeout_seconds,
        max_header_bytes=fetch.max_header_bytes,
        max_body_bytes=fetch.max_body_bytes,
    )
    return FetchOptions(
        user_agent=fetch.user_agent or f"mudroom/{__version__}",
        limits=limits,
        chain_timeout_seconds=fetch.chain_timeout_seconds,
        max_decoded_bytes=fetch.max_decoded_bytes,
        trust_anchors=dict.fromkeys(egress.ca_hosts, egress.ca_file) if egress.ca_file else {},
    )


def build_archive(settings: Settings, clock: Clock) -> FileSnapshotStore:
    """The archive of the workspace."""
    return FileSnapshotStore(_archive_folder(settings), _archive_options(settings), clock)


def rebuild_archive(settings: Settings) -> RebuildReport:
    """The index of the workspace's archive, made again. Blocks; raises as `rebuild_index` does."""
    return rebuild_index(_archive_folder(settings), _archive_options(settings))


def _archive_folder(settings: Settings) -> Path:
    return settings.workspace / "private" / "archive"


def _archive_options(settings: Settings) -> SnapshotOptions:
    return SnapshotOptions(
        max_bytes=settings.archive.max_bytes,
        max_segment_bytes=settings.archive.max_segment_bytes,
        max_records_per_source=settings.archive.max_records_per_source,
        software=f"mudroom {__version__}",
    )


def build_reading_corpus(settings: Settings) -> FileCorpus:
    """The corpus of the workspace, for reading only: no rules are loaded to name the versions of new runs."""
    return FileCorpus(settings.workspace, RunVersions(mudroom=__version__, scanner="", policy=""))


def build_jail_options(settings: Settings, *, floor: Isolation = Isolation.PROCESS) -> JailOptions:
    """How guests are held; the scanner is told its own limits."""
    jail = settings.jail
    return JailOptions(
        isolation=jail.isolation,
        floor=floor,
        by=jail.by,
        guests_per_role=jail.guests_per_role,
        wall_seconds=jail.wall_seconds,
        cpu_seconds=jail.cpu_seconds,
        max_memory_bytes=jail.max_memory_bytes,
        scan_role=replace(SCAN_ROLE, settings=astuple(settings.screen)),
    )


def find_versions(settings: Settings, policy: PolicyOptions) -> RunVersions:
    """What verdicts depend on: the program, the scanner, and the policy with its rules."""
    return RunVersions(
        mudroom=__version__,
        scanner=SCANNER_VERSION,
        policy=compute_policy_version(settings.screen, policy, digest_rules()),
    )


def build_scheduler(settings: Settings, clock: Clock) -> Scheduler:
    """What lets exchanges start; a crawl may use as many to one origin as its own option says."""
    fetch, crawl = settings.fetch, settings.crawl
    options = SchedulerOptions(
        global_slots=fetch.global_slots,
        origin_slots=max(fetch.origin_slots, crawl.per_host_concurrency),
        http2_origin_slots=max(fetch.http2_origin_slots, crawl.per_host_concurrency),
        host_delay_seconds=fetch.host_delay_seconds,
        max_host_pause_seconds=fetch.max_host_pause_seconds,
    )
    return Scheduler(options, clock)


def describe_run(settings: Settings) -> dict[str, object]:
    """What every run says of itself beside its policy: what else decides what it fetches and keeps."""
    return {
        EGRESS_OPTION: describe_egress(build_operator_egress(settings.egress)),
        KEEP_OPTION: settings.archive.keep.value,
        PROFILE_OPTION: [list(field) for field in build_fetch_options(settings).headers],
    }
