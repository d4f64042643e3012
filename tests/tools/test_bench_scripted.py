"""The traffic generator against a server that does as the script says: every way in which
an answer can fail, told apart, and times that are known."""

import json
import pty
import os
import signal
import socket
import subprocess
import sys
import threading
import unittest

ROPEWAY = sys.argv.pop()
HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n")
TOKENS = 5


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value):
    return chunk(b"data: " + json.dumps(value).encode() + b"\n\n")


def text(value):
    return event({"choices": [{"index": 0, "text": value}]})


def usage(count):
    return event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": count}})


DONE = chunk(b"data: [DONE]\n\n") + chunk(b"")
GOOD = HEAD + text("a") + text("b") + usage(TOKENS) + DONE


def whole(status, body=b'{"error":{"message":"no"}}'):
    return (b"HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
            % (status, len(body), body))


# name: (bytes to send, whether the connection is closed then)
ANSWERS = {
    "none": (GOOD, False),
    "overloaded": (whole(b"503 Service Unavailable"), True),
    "refused": (whole(b"400 Bad Request"), True),
    "server_error": (whole(b"500 Internal Server Error"), True),
    "stream_error": (HEAD + text("a") + event({"error": {"message": "x"}}) + DONE, False),
    "cut": (HEAD + text("a") + text("b"), True),
    "empty": (HEAD + usage(0) + DONE, False),
    "no_usage": (HEAD + text("a") + DONE, False),
    "malformed": (b"HTTP/9.9 what\r\n\r\n", True),
    "connection": (b"", True),
}


class Server:
    """Answers the n-th request of all connections as answer(n) says; one byte at a time
    where `bytewise`, so that every cut of the stream occurs."""

    def __init__(self, answer, bytewise=False):
        self.answer = answer
        self.bytewise = bytewise
        self.count = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            while self.read_request(reader):
                with self.lock:
                    number = self.count
                    self.count += 1
                data, closes = self.answer(number)
                if data is None:  # says nothing until the client goes
                    reader.read()
                    return
                self.send(connection, data)
                if closes:
                    return

    @staticmethod
    def read_request(reader):
        length = 0
        while (line := reader.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = reader.read(length)
        if not body:
            return False
        request = json.loads(body)
        assert request["stream"] and request["stream_options"]["include_usage"]
        return True

    def send(self, connection, data):
        pieces = [data[i:i + 1] for i in range(len(data))] if self.bytewise else [data]
        for piece in pieces:
            connection.sendall(piece)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def bench(url, *arguments):
    return subprocess.run([ROPEWAY, "bench", url, "--json", *arguments],
                          capture_output=True, text=True, timeout=30)


class Scripted(unittest.TestCase):
    def test_all_good(self):
        for bytewise in (False, True):
            with Server(lambda number: (GOOD, False), bytewise) as server:
                ran = bench(server.url, "--requests", "20", "--concurrency", "4")
                self.assertEqual(ran.returncode, 0, ran)
                self.assertEqual(ran.stderr, "")
                got = json.loads(ran.stdout)
                self.assertEqual(got["requests"]["succeeded"], 20)
                self.assertEqual(got["tokens"]["completion"], 20 * TOKENS)
                self.assertEqual(got["tokens"]["chunks"], 40)
                self.assertEqual(got["time_to_first_token_ms"]["count"], 20)
                self.assertEqual(got["inter_chunk_ms"]["count"], 20)
                rate = got["throughput"]["output_tokens_per_s"] * got["duration_s"]
                self.assertAlmostEqual(rate, 20 * TOKENS, places=3)

    def test_each_failure_is_counted_in_its_class_and_in_nothing_else(self):
        names = list(ANSWERS)
        with Server(lambda number: ANSWERS[names[number % len(names)]]) as server:
            ran = bench(server.url, "--requests", str(4 * len(names)), "--concurrency", "3")
        self.assertEqual(ran.returncode, 1, ran)
        got = json.loads(ran.stdout)
        for name in names[1:]:
            self.assertEqual(got["failures"][name], 4, (name, got["failures"]))
        self.assertEqual(got["requests"]["succeeded"], 4)
        self.assertEqual(got["requests"]["failed"], 4 * (len(names) - 1))
        self.assertEqual(got["tokens"]["completion"], 4 * TOKENS)
        self.assertEqual(got["request_ms"]["count"], 4)
        self.assertIsNone(got["request_failures_infinite_ms"]["p95"])
        self.assertIsNotNone(got["request_ms"]["p95"])

    def test_one_that_hangs_times_out(self):
        with Server(lambda number: (None, False) if number == 1 else (GOOD, False)) as server:
            ran = bench(server.url, "--requests", "4", "--concurrency", "2", "--timeout", "1")
        got = json.loads(ran.stdout)
        self.assertEqual(got["failures"]["timeout"], 1)
        self.assertEqual(got["requests"]["succeeded"], 3)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        ran = bench(f"http://127.0.0.1:{port}", "--requests", "3", "--concurrency", "2")
        self.assertEqual(ran.returncode, 1)
        got = json.loads(ran.stdout)
        self.assertEqual(got["failures"]["connection"], 3)
        self.assertIsNone(got["request_ms"]["p50"])

    def test_ctrl_c_reports_what_was_measured(self):
        hung = threading.Event()

        def answer(number):
            if number < 2:
                return GOOD, False
            hung.set()
            return None, False

        with Server(answer) as server:
            process = subprocess.Popen(
                [ROPEWAY, "bench", server.url, "--json", "--requests", "9",
                 "--concurrency", "1"], stdout=subprocess.PIPE)
            self.assertTrue(hung.wait(20))
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=20)
        got = json.loads(out)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(got["requests"],
                         {"succeeded": 2, "failed": 0, "incomplete": 1, "failed_share": 0.0})

    def test_a_terminal_gets_a_progress_bar_on_standard_error_only(self):
        try:
            master, slave = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal to be had here: {error}")
        with Server(lambda number: (GOOD, False)) as server:
            ran = subprocess.run([ROPEWAY, "bench", server.url, "--json", "--requests", "5"],
                                 stdout=subprocess.PIPE, stderr=slave, timeout=30)
        os.close(slave)
        shown = os.read(master, 65536).decode()
        os.close(master)
        self.assertIn("5/5", shown)
        self.assertEqual(json.loads(ran.stdout)["requests"]["succeeded"], 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
