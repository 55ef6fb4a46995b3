"""The benchmark's tools over MCP, on a Unix socket: what a confined command reaches of the host.

The official SDK's server answers, from one task's environment and from nothing else. Messages are lines, as on standard
input and output, so that a relay of bytes makes it a stdio server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from chase.core.errors import SetupError
from chase.core.interfaces import Environment
from chase.core.outside import NotPlain, plain, valid_unicode
from chase.core.values import ToolResult

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

SERVER = "benchmark"
"""Its name. It says nothing of which benchmark that is."""
MOST_CONNECTIONS = 8
MOST_MESSAGES = 2_000
"""Of a rollout. The benchmark's own limits on calls are far below."""
LINE_BYTES = 64 << 10


def require_sdk() -> None:
    """A `SetupError` where the SDK is not installed."""
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ImportError:
        raise SetupError(
            "an agent of your own gets the tools over MCP, whose SDK is not installed: pip install "
            "'chase-harness[agent]'."
        ) from None


def _server(environment: Environment) -> Server[Any]:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters))
                for tool in environment.tools
            ]
        )

    async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        result = _called(environment, parameters.name, parameters.arguments)
        text = types.TextContent(text=valid_unicode(result.text))
        return types.CallToolResult(content=[text], is_error=not result.ok)

    return Server(SERVER, version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def _called(environment: Environment, tool: str, arguments: Any) -> ToolResult:
    """A call as the environment takes it; what is no plain JSON object is passed on as such, refused and counted."""
    try:
        given = plain(arguments or {})
    except NotPlain:
        given = {"(not valid JSON)": None}
    return environment.call(valid_unicode(tool), given)


class ToolServer:
    """Answers connections from one environment. Whatever is sent, it never raises into the host."""

    def __init__(self, environment: Environment) -> None:
        self._server = _server(environment)
        self._connections = 0
        self._messages = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends or has said too much."""
        self._connections += 1
        try:
            if self._connections <= MOST_CONNECTIONS:
                await self._converse(reader, writer)
        except Exception:
            pass
        finally:
            self._connections -= 1
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from mcp.shared.message import SessionMessage

        heard, hears = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        says, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, reader, heard)
            group.start_soon(_tell, said, writer)
            await self._server.run(hears, says, self._server.create_initialization_options())
            group.cancel_scope.cancel()

    async def _listen(self, reader: asyncio.StreamReader, heard: Any) -> None:
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        async with heard:
            while (line := await _line(reader)) and self._messages < MOST_MESSAGES:
                self._messages += 1
                try:
                    message = SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
                except (ValueError, RecursionError) as error:
                    await heard.send(error if isinstance(error, ValueError) else ValueError("too deep"))
                    continue
                await heard.send(message)


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; nothing at the end, or where one is too long."""
    try:
        return await reader.readline()
    except (ValueError, ConnectionError):
        return b""


async def _tell(said: Any, writer: asyncio.StreamWriter) -> None:
    async with said:
        async for message in said:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            with suppress(ConnectionError):
                writer.write(f"{line}\n".encode())
                await writer.drain()


@asynccontextmanager
async def tools_at(socket: Path, environment: Environment) -> AsyncIterator[None]:
    """The environment's tools at a socket, while a command works."""
    server, talks = ToolServer(environment), set[asyncio.Task[None]]()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.ensure_future(server.serve(reader, writer))
        talks.add(talk)
        talk.add_done_callback(talks.discard)

    listening = await asyncio.start_unix_server(connected, path=socket, limit=LINE_BYTES)
    try:
        yield
    finally:
        listening.close()
        for talk in (*talks,):
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        with suppress(OSError):  # the folder is the agent's: it may have put anything there
            socket.unlink()
