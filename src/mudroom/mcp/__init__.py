"""What an agent touches: tools that hand on accepted pages, fenced."""

from mudroom.mcp.excerpts import GuestExcerptScreen
from mudroom.mcp.options import McpOptions
from mudroom.mcp.ports import AgentParts, ExcerptScreen, ExcerptVerdict, PageOpener
from mudroom.mcp.server import build_server, serve

__all__ = [
    "AgentParts",
    "ExcerptScreen",
    "ExcerptVerdict",
    "GuestExcerptScreen",
    "McpOptions",
    "PageOpener",
    "build_server",
    "serve",
]
