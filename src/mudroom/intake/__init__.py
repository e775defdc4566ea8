"""One page or one file: the whole path, told once."""

from mudroom.intake.events import IntakeObserver, NullObserver, PageEvent
from mudroom.intake.files import open_local_file, read_local_file, read_stream
from mudroom.intake.outcome import Blocked, Failed, Outcome, PageFacts, Quarantined, Stored
from mudroom.intake.path import Intake
from mudroom.intake.ports import Guests, PageFetcher, Parts
from mudroom.intake.priors import HEADER_NAMES_OPTION, PROFILE_OPTION, ArchivePriors, Prior, Priors
from mudroom.intake.recall import Recalled, recall_answer
from mudroom.intake.records import IMPORTED_OPTION
from mudroom.intake.report import describe_findings, describe_outcome
from mudroom.intake.request import FileRequest, PageRequest, RecordRequest
from mudroom.intake.robots_gate import (
    RobotsFetcher,
    RobotsGate,
    RobotsGates,
    RobotsMode,
    RobotsNotice,
    RobotsOptions,
    RobotsReader,
)
from mudroom.intake.robots_record import RecordSource
from mudroom.intake.single import take_single
from mudroom.intake.sitemaps import SitemapAnswer, SitemapAsk, SitemapReader, Sitemaps

__all__ = [
    "HEADER_NAMES_OPTION",
    "IMPORTED_OPTION",
    "PROFILE_OPTION",
    "ArchivePriors",
    "Blocked",
    "Failed",
    "FileRequest",
    "Guests",
    "Intake",
    "IntakeObserver",
    "NullObserver",
    "Outcome",
    "PageEvent",
    "PageFacts",
    "PageFetcher",
    "PageRequest",
    "Parts",
    "Prior",
    "Priors",
    "Quarantined",
    "Recalled",
    "RecordRequest",
    "RecordSource",
    "RobotsFetcher",
    "RobotsGate",
    "RobotsGates",
    "RobotsMode",
    "RobotsNotice",
    "RobotsOptions",
    "RobotsReader",
    "SitemapAnswer",
    "SitemapAsk",
    "SitemapReader",
    "Sitemaps",
    "Stored",
    "describe_findings",
    "describe_outcome",
    "open_local_file",
    "read_local_file",
    "read_stream",
    "recall_answer",
    "take_single",
]
