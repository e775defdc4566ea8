"""The MCP server: what an agent touches."""
