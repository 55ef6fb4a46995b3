"""Agents of one's own: a command in a folder of its own, with the benchmark's tools over MCP."""
