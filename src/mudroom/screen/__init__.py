"""Signs of instruction hidden in text, and the policy that turns findings into a verdict."""

from mudroom.screen.decision import (
    AcceptedDocument,
    ExposedPage,
    QuarantinedDocument,
    ScannedDocument,
    block_unscanned,
    decide,
)
from mudroom.screen.limits import ScanLimits
from mudroom.screen.policy import PolicyOptions, WarnHandling, compute_policy_version, judge_findings

__all__ = [
    "AcceptedDocument",
    "ExposedPage",
    "PolicyOptions",
    "QuarantinedDocument",
    "ScanLimits",
    "ScannedDocument",
    "WarnHandling",
    "block_unscanned",
    "compute_policy_version",
    "decide",
    "judge_findings",
]
