"""What was done, done again from the archive: replays, proofs, and another screening."""

from mudroom.replay.compare import REPLAY_OPTION, Difference, compare_manifests, compare_versions
from mudroom.replay.dossier import Archivist
from mudroom.replay.egress import EGRESS_OPTION, describe_egress
from mudroom.replay.names import (
    PageTarget,
    RefTarget,
    RunTarget,
    Target,
    UrlTarget,
    find_target,
    name_ref,
)
from mudroom.replay.proof import PageProof, Stage
from mudroom.replay.replayer import KEEP_OPTION, Replayer, ReplayReport
from mudroom.replay.rescanner import Rescanner, RescanReport, VerdictChange
from mudroom.replay.verifier import RefProof, RunProof, Verifier

__all__ = [
    "EGRESS_OPTION",
    "KEEP_OPTION",
    "REPLAY_OPTION",
    "Archivist",
    "Difference",
    "PageProof",
    "PageTarget",
    "RefProof",
    "RefTarget",
    "ReplayReport",
    "Replayer",
    "RescanReport",
    "Rescanner",
    "RunProof",
    "RunTarget",
    "Stage",
    "Target",
    "UrlTarget",
    "VerdictChange",
    "Verifier",
    "compare_manifests",
    "compare_versions",
    "describe_egress",
    "find_target",
    "name_ref",
]
