import asyncio
import os

import pytest

from mudroom.mcp.lines import InputLines


async def test_lines_come_as_they_end_whatever_the_pieces() -> None:
    reader, writer = os.pipe()
    lines = InputLines(reader)
    try:
        os.write(writer, "än\nzw".encode())
        assert await anext(lines) == "än\n"
        os.write(writer, b"ei\n\nlast")
        assert [await anext(lines), await anext(lines)] == ["zwei\n", "\n"]
        os.close(writer)
        with pytest.raises(StopAsyncIteration):
            await anext(lines)
    finally:
        os.close(reader)


async def test_whoever_waits_for_a_line_can_be_cancelled() -> None:
    reader, writer = os.pipe()
    lines = InputLines(reader)
    try:
        waiting = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        os.write(writer, b"later\n")
        assert await anext(lines) == "later\n"
    finally:
        os.close(reader)
        os.close(writer)
