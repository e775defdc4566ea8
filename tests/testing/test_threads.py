import http.client

from mudroom.testing.routes import Route
from mudroom.testing.threads import serve_in_thread


def test_a_site_in_a_thread_answers_a_caller_that_blocks() -> None:
    with serve_in_thread(Route(path="/", body="here")) as site:
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"here"
        connection.close()
        assert site.hit_count("/") == 1


def test_a_site_in_a_thread_ends_with_its_context_though_a_connection_is_open() -> None:
    with serve_in_thread(Route(path="/", body="here")) as site:
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
        connection.request("GET", "/")
        connection.getresponse().read()
    connection.close()
    assert site.open_connections == 0
