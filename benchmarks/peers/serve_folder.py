"""A static HTTP/1.1 server for benchmarks: keep-alive, everything in memory, prints its port.

Usage: python benchmarks/peers/serve_folder.py FOLDER
"""

from __future__ import annotations

import asyncio
import mimetypes
import sys
from pathlib import Path
from urllib.parse import unquote


def load(folder: Path) -> dict[str, bytes]:
    """Path to the whole answer, headers included."""
    answers = {}
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        body = file.read_bytes()
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        answers["/" + file.relative_to(folder).as_posix()] = head + body
    return answers


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nnot found"


async def main(folder: Path) -> None:
    """Serve until the parent ends this process."""
    answers = load(folder)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = unquote(head.split(b" ", 2)[1].decode("latin-1")).partition("?")[0]
                writer.write(answers.get(path, NOT_FOUND))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
