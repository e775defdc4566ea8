import select
import socket

import pytest

from mudroom.testing.ports import deaf_port, refusing_port


def test_a_refusing_port_refuses() -> None:
    with refusing_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_deaf_port_neither_accepts_nor_refuses() -> None:
    with deaf_port() as port, socket.socket() as knocking:
        knocking.setblocking(False)
        knocking.connect_ex(("127.0.0.1", port))
        _, writable, _ = select.select([], [knocking], [], 0.1)
        assert writable == []
