"""What was taken in, as it lies in a workspace: accepted documents, and the record of each run."""

from mudroom.corpus.file_corpus import FileCorpus
from mudroom.corpus.memory_corpus import MemoryCorpus
from mudroom.corpus.reading import read_title
from mudroom.corpus.records import (
    FailedRecord,
    PageNote,
    RunSummary,
    RunVersions,
    RunWarning,
    SourceRecord,
    StoredDocument,
    StoredPage,
)
from mudroom.corpus.reopening import RecordedPage, ReopenedRun
from mudroom.corpus.rescreening import Rescreening
from mudroom.corpus.schemas import SCHEMA_NAMES, load_schema
from mudroom.corpus.store import CorpusStore, RunWriter

__all__ = [
    "SCHEMA_NAMES",
    "CorpusStore",
    "FailedRecord",
    "FileCorpus",
    "MemoryCorpus",
    "PageNote",
    "RecordedPage",
    "ReopenedRun",
    "Rescreening",
    "RunSummary",
    "RunVersions",
    "RunWarning",
    "RunWriter",
    "SourceRecord",
    "StoredDocument",
    "StoredPage",
    "load_schema",
    "read_title",
]
