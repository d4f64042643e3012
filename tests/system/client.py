"""A plain HTTP client for tests: no retries, nothing hidden, every byte checked."""

import http.client
import json
import re
import socket

from harness import wait_until

TIMEOUT_S = 50


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    @property
    def text(self):
        choice = self.json["choices"][0]
        return choice["message"]["content"] if "message" in choice else choice["text"]

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Stream:
    """The events of one SSE answer, taken as they come; `done` once [DONE] was there."""

    def __init__(self, connection, response):
        self.connection = connection
        self.response = response
        self.done = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.done:
            self.close()
            raise StopIteration
        lines = []
        while True:
            line = self.response.readline()
            if line == b"":
                raise AssertionError("the stream ended without [DONE]")
            if line == b"\n":
                break
            if not line.startswith(b":"):
                lines.append(line)
        if len(lines) != 1 or not lines[0].startswith(b"data: "):
            raise AssertionError(f"no event of one data line: {lines}")
        data = lines[0][len(b"data: "):].strip()
        if data == b"[DONE]":
            self.done = True
            if self.response.read() != b"":
                raise AssertionError("bytes after [DONE]")
            self.close()
            raise StopIteration
        return json.loads(data)

    def close(self):
        self.connection.close()
        self.response.close()


class Answer:
    """A stream put together again: what a non-streaming answer would have said."""

    def __init__(self, events):
        self.texts = {}
        self.finish_reasons = {}
        self.usage = None
        self.events = []
        for event in events:
            self.events.append(event)
            self._take(event)

    def _take(self, event):
        if "error" in event:
            raise AssertionError(f"an error within the stream: {event}")
        if event["choices"] == []:
            if self.usage is not None:
                raise AssertionError("usage came twice")
            self.usage = event["usage"]
        for choice in event["choices"]:
            index = choice["index"]
            if index in self.finish_reasons:
                raise AssertionError(f"choice {index} goes on after its end: {event}")
            delta = choice["delta"].get("content") if "delta" in choice else choice["text"]
            self.texts[index] = self.texts.get(index, "") + (delta or "")
            if choice["finish_reason"] is not None:
                self.finish_reasons[index] = choice["finish_reason"]

    @property
    def text(self):
        return self.texts[0]

    @property
    def finish_reason(self):
        return self.finish_reasons[0]


class Client:
    def __init__(self, port, host="127.0.0.1"):
        self.host = host
        self.port = port

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)

    def request(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, data, {"Content-Type": "application/json"})

    def stream(self, path, body):
        connection = self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}).encode(),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise AssertionError(f"{response.status} {response.read()!r}")
        content_type = response.headers["Content-Type"]
        if not content_type.startswith("text/event-stream"):
            raise AssertionError(f"a stream of {content_type}")
        return Stream(connection, response)

    # The two that everybody asks

    def complete(self, prompt, **parameters):
        return self.post("/v1/completions", {"prompt": prompt, **parameters})

    def completion(self, prompt, **parameters):
        """The text of a completion that must succeed."""
        reply = self.complete(prompt, **parameters)
        if reply.status != 200:
            raise AssertionError(reply)
        return reply.text

    def chat(self, content, **parameters):
        return self.post("/v1/chat/completions",
                         {"messages": [{"role": "user", "content": content}], **parameters})

    def stream_completion(self, prompt, **parameters):
        return Answer(self.stream("/v1/completions", {"prompt": prompt, **parameters}))

    def stream_chat(self, content, **parameters):
        return Answer(self.stream("/v1/chat/completions", {
            "messages": [{"role": "user", "content": content}], **parameters}))

    # Numbers

    def metrics(self):
        """{(name, labels as text): value}"""
        text = self.get("/metrics").body.decode()
        found = {}
        for line in text.splitlines():
            match = re.fullmatch(r"([A-Za-z_:][\w:]*)(\{.*\})? (\S+)", line)
            if match:
                found[match[1], match[2] or ""] = float(match[3])
        return found

    def metric(self, name):
        """The sum of a metric over all its labels; fails when there is none."""
        values = [value for (key, _), value in self.metrics().items() if key == name]
        if not values:
            raise AssertionError(f"/metrics has no {name}")
        return sum(values)

    def running(self):
        return self.metric("vllm:num_requests_running")

    def waiting(self):
        return self.metric("vllm:num_requests_waiting")

    def wait_idle(self, deadline_s=10):
        wait_until(lambda: self.running() == 0 and self.waiting() == 0
                   and self.metric("vllm:kv_cache_usage_perc") == 0,
                   deadline_s, "an idle service with no block held")


def raw(port, data, timeout_s=TIMEOUT_S):
    """Sends bytes as they are and returns all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout_s) as connection:
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It may refuse before it has read everything.
        received = b""
        while True:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                return received
            if not piece:
                return received
            received += piece
