"""Bytes below the API: smuggling, chunked coding, and what must be bounded."""

import select
import socket
import threading
import time

import harness
from client import raw

HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = b'{"prompt":"a","max_tokens":1}'
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n"
MIB = 1 << 20


def memory_bytes(pid):
    with open(f"/proc/{pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def send_until_closed(port, first, piece, most_bytes):
    """Sends first, then piece again and again until the server answers or closes; returns
    (bytes sent, answer). It must not take most_bytes."""
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        sent = 0
        try:
            connection.sendall(first)
            while sent < most_bytes:
                connection.sendall(piece)
                sent += len(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        received = b""
        try:
            while True:
                part = connection.recv(65536)
                if not part:
                    break
                received += part
        except ConnectionResetError:
            pass
        return sent, received


class Bytes(harness.ServiceTest):
    options = ("--max-model-len", "128")

    def tearDown(self):
        self.assertEqual(self.client.get("/health").status, 200)

    def refused(self, data, *codes):
        """One answer with one of the codes, then the connection is closed."""
        received = raw(self.service.port, data, 20)
        shown = (data[:120], received[:300])
        self.assertTrue(received.startswith(b"HTTP/1.1 "), shown)
        self.assertIn(int(received[9:12]), codes, shown)
        self.assertEqual(received.count(b"HTTP/1.1 "), 1, shown)
        self.assertIn(b"connection: close", received.lower(), shown)

    def test_content_lengths_that_smuggle(self):
        for lengths in (b"Content-Length: 38\r\nContent-Length: 0\r\n",
                        b"Content-Length: 0\r\nContent-Length: 38\r\n",
                        b"Content-Length: 5, 5\r\n", b"Content-Length: +5\r\n",
                        b"Content-Length: -1\r\n", b"Content-Length: 0x5\r\n",
                        b"Content-Length: 5 5\r\n", b"Content-Length: \r\n",
                        b"Content-Length: 18446744073709551621\r\n",
                        b"Content-Length: " + b"1" * 31 + b"\r\n",
                        b"Content-Length : 5\r\n",
                        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                        b"Transfer-Encoding: xchunked\r\n",
                        b"Transfer-Encoding: chunked, identity\r\n"):
            for start in (b"GET /health HTTP/1.1\r\nHost: a\r\n", HEAD):
                with self.subTest(lengths=lengths, start=start[:4]):
                    self.refused(start + lengths + b"\r\n" + SMUGGLED, 400, 413, 501)

    def test_lines_that_are_no_http(self):
        for data in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost a\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
                     b"GET /he alth HTTP/1.1\r\nHost: a\r\n\r\n",
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            with self.subTest(data=data):
                self.refused(data, 400)

    def test_chunks_that_are_wrong(self):
        for chunks in (b"5\r\nhelloXX0\r\n\r\n", b"5\nhello\n0\n\n", b"-1\r\n",
                       b"0x5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff1\r\n",
                       b"g\r\n", b"5 \r\nhello\r\n0\r\n\r\n"):
            with self.subTest(chunks=chunks):
                self.refused(CHUNKED + chunks + SMUGGLED, 400, 413)

    def test_a_chunked_body_is_understood(self):
        parts = b"".join(b"%x\r\n%s\r\n" % (1, bytes([byte])) for byte in BODY)
        received = raw(self.service.port, CHUNKED.replace(
            b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + parts + b"0\r\n\r\n")
        self.assertTrue(received.startswith(b"HTTP/1.1 200"), received)

    def test_chunk_extensions_are_bounded(self):
        sent, received = send_until_closed(self.service.port, CHUNKED + b"1;",
                                           b"a" * 65536, 64 * MIB)
        self.assertLess(sent, 32 * MIB)
        self.assertRegex(received[:12], rb"HTTP/1.1 4(00|13)|^$")

    def test_small_chunks_with_large_extensions_are_bounded(self):
        piece = (b"1;" + b"e" * 4000 + b"\r\n \r\n") * 16
        sent, _ = send_until_closed(self.service.port, CHUNKED, piece, 128 * MIB)
        self.assertLess(sent, 64 * MIB)

    def test_trailers_are_bounded(self):
        sent, _ = send_until_closed(self.service.port, CHUNKED + b"0\r\n",
                                    b"X-Trailer: value\r\n" * 1000, 64 * MIB)
        self.assertLess(sent, 32 * MIB)

    def test_headers_that_trickle_meet_a_total_deadline(self):
        """A byte each half second extends nothing; others are served all the while."""
        begin = time.monotonic()
        slow = [socket.create_connection(("127.0.0.1", self.service.port), 20)
                for _ in range(8)]
        for connection in slow:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nX: ")
        while not select.select(slow, [], [], 0.5)[0]:
            self.assertEqual(self.client.get("/version").status, 200)
            self.assertLess(time.monotonic() - begin, 15)
            for connection in slow:
                connection.sendall(b"a")
        self.assertGreater(time.monotonic() - begin, 9)
        for connection in slow:
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 408"))
            connection.close()

    def test_a_huge_declared_body_is_refused_before_it_comes(self):
        begin = time.monotonic()
        self.refused(HEAD + b"Content-Length: 40000000000\r\n\r\n", 413)
        self.assertLess(time.monotonic() - begin, 5)

    def test_a_chunked_body_is_refused_as_it_passes_the_cap(self):
        before = memory_bytes(self.service.pid_of("frontend"))
        piece = b"%x\r\n%s\r\n" % (65536, b" " * 65536)
        sent, received = send_until_closed(self.service.port, CHUNKED, piece, 256 * MIB)
        self.assertLess(sent, 64 * MIB)
        self.assertRegex(received[:12], rb"HTTP/1.1 413|^$")
        after = memory_bytes(self.service.pid_of("frontend"))
        self.assertLess(after - before, 32 * MIB)

    def test_headers_are_bounded(self):
        """A header line, many headers, the URL and blank lines, each without an end."""
        for first, piece in ((b"GET / HTTP/1.1\r\nX: ", b"a" * 4096),
                             (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 500),
                             (b"GET /", b"a" * 4096), (b"", b"\r\n" * 2048)):
            with self.subTest(piece=piece[:6]):
                sent, received = send_until_closed(self.service.port, first, piece,
                                                   64 * MIB)
                self.assertLess(sent, 32 * MIB)
                self.assertRegex(received[:12], rb"HTTP/1.1 4(00|14|31)|^$")

    def test_headers_just_over_the_cap_are_told_so(self):
        """Sent as one piece and read whole, the answer itself must arrive."""
        lines = b"".join(b"X-%d: %s\r\n" % (number, b"v" * 900) for number in range(80))
        self.refused(b"GET /health HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n", 431)
        self.refused(b"GET /" + b"a" * 80000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, 431)
        many = b"X: y\r\n" * 1000
        self.refused(b"GET /health HTTP/1.1\r\nHost: a\r\n" + many + b"\r\n", 431)

    def test_memory_stays_flat_over_many_refusals(self):
        pid = self.service.pid_of("frontend")
        data = b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100000
        for _ in range(100):
            raw(self.service.port, data, 20)
        before = memory_bytes(pid)
        for _ in range(300):
            raw(self.service.port, data, 20)
        self.assertLess(memory_bytes(pid) - before, 4 * MIB)

    def test_a_pipeline_whose_answers_are_not_read_waits(self):
        """The kernel's buffers and ours fill; then the client must wait for itself."""
        pid = self.service.pid_of("frontend")
        before = memory_bytes(pid)
        with socket.create_connection(("127.0.0.1", self.service.port), 20) as connection:
            connection.settimeout(1)
            sent = 0
            with self.assertRaises(TimeoutError):
                while sent < 64 * MIB:
                    sent += connection.send(SMUGGLED * 1000)
            self.assertLess(memory_bytes(pid) - before, 16 * MIB)

    def test_a_half_closed_pipeline_gets_all_its_answers(self):
        """The first takes a while, so that the others wait behind it."""
        body = b'{"prompt":"a","max_tokens":100,"ignore_eos":true}'
        first = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        for count in (1, 10, 20000):
            with socket.create_connection(("127.0.0.1", self.service.port),
                                          20) as connection:
                connection.sendall(first + SMUGGLED * count)
                connection.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: connection.recv(65536), b""))
            self.assertEqual(received.count(b"HTTP/1.1 200"), count + 1)

    def test_a_long_pipeline_lets_others_in(self):
        """100000 requests wait in our memory behind one that takes a while."""
        body = b'{"prompt":"a","max_tokens":100,"n":20,"ignore_eos":true}'
        first = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        received = bytearray()

        def read(connection):
            while piece := connection.recv(MIB):
                received.extend(piece)

        with socket.create_connection(("127.0.0.1", self.service.port), 60) as connection:
            reader = threading.Thread(target=read, args=(connection,))
            reader.start()
            sender = threading.Thread(target=connection.sendall,
                                      args=(first + SMUGGLED * 100000,))
            sender.start()
            worst = 0
            while sender.is_alive() or not received:
                begin = time.monotonic()
                self.assertEqual(self.client.get("/health").status, 200)
                worst = max(worst, time.monotonic() - begin)
            sender.join()
            connection.shutdown(socket.SHUT_WR)
            reader.join()
        self.assertEqual(received.count(b"HTTP/1.1 200"), 100001)
        self.assertLess(worst, 1)


if __name__ == "__main__":
    harness.main()
