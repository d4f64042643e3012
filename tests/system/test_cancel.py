"""A client that leaves takes its request with it: queued, in prefill or decoding, streamed
or not. The slot and the blocks come back at once, and no token is made for nobody."""

import json
import socket
import threading

import harness
from harness import wait_until
from tiny import LONG_CONTEXT, LONG_MODEL, ids

RETURNS_S = 3  # one iteration, seen through the metrics of a busy machine
LONG = {"max_tokens": LONG_CONTEXT - 64, "ignore_eos": True, "temperature": 0}


def request_bytes(body, path=b"/v1/completions"):
    data = json.dumps(body).encode()
    return (b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
            % (path, len(data), data))


def aborted(client):
    return sum(value for (name, labels), value in client.metrics().items()
               if name == "vllm:request_success_total" and "abort" in labels)


class Leaving(harness.ServiceTest):
    """One slot, so that a second request waits; small chunks, so that a prefill lasts."""

    model = LONG_MODEL
    options = ("--max-num-seqs", "1",
               "--prefill-chunk", "4", "--max-num-batched-tokens", "8")

    def setUp(self):
        self.client.wait_idle()
        self.aborted_before = aborted(self.client)

    def open(self, body):
        connection = socket.create_connection(("127.0.0.1", self.service.port), 20)
        connection.sendall(request_bytes(body))
        return connection

    def check_gone(self, count=1):
        """Idle again, counted as aborted, and the counter of tokens stands still."""
        self.client.wait_idle(RETURNS_S)
        wait_until(lambda: aborted(self.client) - self.aborted_before == count, RETURNS_S,
                   f"{count} aborted, not {aborted(self.client) - self.aborted_before}")
        made = self.client.metric("vllm:generation_tokens_total")
        for _ in range(10):
            self.assertEqual(self.client.metric("vllm:generation_tokens_total"), made)
        return made

    def test_while_decoding_a_stream(self):
        made = self.client.metric("vllm:generation_tokens_total")
        for _ in range(10):
            stream = self.client.stream("/v1/completions", {"prompt": "abc", **LONG})
            for _ in range(3):
                next(stream)
            stream.close()
        self.assertLess(self.check_gone(10) - made, 10 * LONG["max_tokens"])

    def test_while_decoding_without_a_stream(self):
        for _ in range(5):
            made = self.client.metric("vllm:generation_tokens_total")
            connection = self.open({"prompt": "abc", **LONG})
            wait_until(lambda: self.client.metric("vllm:generation_tokens_total") > made,
                       10, "a first token")
            connection.close()
            self.client.wait_idle(RETURNS_S)
        self.check_gone(5)

    def test_in_prefill(self):
        for streams in (False, True):
            connection = self.open({"prompt": ids(LONG_CONTEXT - 1), "max_tokens": 1,
                                    "stream": streams})
            wait_until(lambda: self.client.running() == 1, 10, "a running request")
            connection.close()
            self.client.wait_idle(RETURNS_S)

    def test_while_queued(self):
        first = self.client.stream("/v1/completions", {"prompt": "abc", **LONG})
        next(first)
        queued = [self.open({"prompt": "def", "stream": streams, **LONG})
                  for streams in (False, True, False, True)]
        wait_until(lambda: self.client.waiting() == 4, 10, "four waiting requests")
        for connection in queued:
            connection.close()
        wait_until(lambda: self.client.waiting() == 0, RETURNS_S, "an empty queue")
        self.assertEqual(self.client.running(), 1)
        first.close()
        self.check_gone(5)

    def test_all_choices_of_a_request_leave(self):
        connection = self.open({"prompt": ["ab", "cd"], "n": 3, **LONG})
        wait_until(lambda: self.client.waiting() == 5, 10, "five waiting choices")
        connection.close()
        self.check_gone(6)

    def test_with_a_reset(self):
        """SO_LINGER 0 makes the close a reset instead of an orderly end."""
        connection = self.open({"prompt": "abc", "stream": True, **LONG})
        connection.recv(200)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()
        self.check_gone(1)

    def test_a_half_close_alone_is_no_cancel(self):
        """The client may still read: netcat and old proxies end their side at once."""
        connection = self.open({"prompt": "abc", "max_tokens": 16, "ignore_eos": True,
                                "temperature": 0})
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        connection.close()
        self.assertIn(b"HTTP/1.1 200", received)
        # An interim 100 may come before: that is how the server looks for a reset.
        answer = received[received.index(b"HTTP/1.1 200"):]
        self.assertEqual(json.loads(answer.partition(b"\r\n\r\n")[2])
                         ["usage"]["completion_tokens"], 16)


class Unread(harness.ServiceTest):
    model = LONG_MODEL
    options = ("--max-num-seqs", "5", "--max-num-batched-tokens", "64",
               "--prefill-chunk", "32")

    def test_a_reader_that_never_reads_is_cancelled_at_a_bound(self):
        """Its answers, made large by logprobs, pile up in sockets and then here; nobody
        else waits for it."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", self.service.port))
        connection.sendall(request_bytes({
            "messages": [{"role": "user", "content": "hi"}], "stream": True, "n": 4,
            "logprobs": True, "top_logprobs": 20, **LONG, "max_tokens": 3000},
            b"/v1/chat/completions"))
        wait_until(lambda: self.client.running() == 4, 10, "four running choices")
        self.assertEqual(self.client.complete("abc", max_tokens=2).status, 200)
        wait_until(lambda: aborted(self.client) == 4, 40, "four aborted choices")
        self.client.wait_idle()
        connection.close()


if __name__ == "__main__":
    harness.main()
