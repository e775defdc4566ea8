"""What was done, done again from the archive: replays, proofs, and another screening."""

from mudroom.replay.compare import REPLAY_OPTION, Difference, compare_manifests, compare_versions
from mudroom.replay.egress import EGRESS_OPTION, describe_egress
from mudroom.replay.replayer import KEEP_OPTION, Replayer, ReplayReport

__all__ = [
    "EGRESS_OPTION",
    "KEEP_OPTION",
    "REPLAY_OPTION",
    "Difference",
    "ReplayReport",
    "Replayer",
    "compare_manifests",
    "compare_versions",
    "describe_egress",
]
