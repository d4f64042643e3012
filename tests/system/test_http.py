"""What every client meets first: the paths, keep-alive, pipelining."""

import json
import socket
import time

import harness
from client import Client, raw


class Paths(harness.ServiceTest):
    options = ("--max-model-len", "256")

    def test_health_is_ok(self):
        self.assertEqual(self.client.get("/health").status, 200)

    def test_models_lists_the_one_model(self):
        reply = self.client.get("/v1/models")
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json["object"], "list")
        self.assertEqual(len(reply.json["data"]), 1)
        model = reply.json["data"][0]
        self.assertEqual(model["object"], "model")
        self.assertTrue(model["id"])
        self.assertEqual(self.client.completion("a", model=model["id"], temperature=0),
                         self.client.completion("a", temperature=0))

    def test_a_model_is_found_by_its_name_and_no_other(self):
        model = self.client.get("/v1/models").json["data"][0]
        quoted = "".join(f"%{byte:02X}" for byte in model["id"].encode())
        for name in (model["id"], quoted, model["id"] + "?a=b", model["id"] + "/"):
            self.assertEqual(self.client.get("/v1/models/" + name).json, model)
        for name in ("another", model["id"] + "x", model["id"][:-1], "%", quoted + "%0"):
            reply = self.client.get("/v1/models/" + name)
            self.assertEqual((reply.status, reply.error["code"]), (404, "model_not_found"))

    def test_version_names_the_version(self):
        self.assertRegex(self.client.get("/version").json["version"], r"^\d+\.\d+\.\d+")

    def test_metrics_are_prometheus_text(self):
        reply = self.client.get("/metrics")
        self.assertTrue(reply.headers["Content-Type"].startswith("text/plain"))
        for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc",
                     "prompt_tokens_total", "generation_tokens_total"):
            self.assertIn(f"# TYPE vllm:{name} ", reply.body.decode())

    def test_an_unknown_path_is_404(self):
        reply = self.client.get("/v1/nothing")
        self.assertEqual(reply.status, 404)
        self.assertEqual(reply.error["type"], "invalid_request_error")
        self.assertIn("/v1/chat/completions", reply.error["message"])

    def test_a_wrong_method_is_405_and_names_the_right_one(self):
        reply = self.client.get("/v1/completions")
        self.assertEqual(reply.status, 405)
        self.assertIn("POST", reply.headers["Allow"])
        reply = self.client.post("/v1/models", {})
        self.assertEqual(reply.status, 405)
        self.assertIn("GET", reply.headers["Allow"])

    def test_head_has_the_headers_of_get_and_no_body(self):
        got = self.client.get("/v1/models")
        head = self.client.request("HEAD", "/v1/models")
        self.assertEqual(head.status, 200)
        self.assertEqual(head.body, b"")
        self.assertEqual(head.headers["Content-Type"], got.headers["Content-Type"])

    def test_a_query_is_ignored_for_routing(self):
        self.assertEqual(self.client.get("/health?x=1").status, 200)


class Connections(harness.ServiceTest):
    options = ("--max-model-len", "256")

    def test_a_connection_is_kept_alive(self):
        connection = self.client.connect()
        for _ in range(5):
            body = json.dumps({"prompt": "abc", "max_tokens": 2})
            connection.request("POST", "/v1/completions", body)
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            response.read()
            local = connection.sock.getsockname()
        self.assertEqual(connection.sock.getsockname(), local)
        connection.close()

    def test_a_connection_is_kept_alive_after_a_stream_and_after_an_error(self):
        connection = self.client.connect()
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": "abc", "max_tokens": 2, "stream": True}))
        self.assertTrue(connection.getresponse().read().endswith(b"data: [DONE]\n\n"))
        local = connection.sock.getsockname()
        connection.request("POST", "/v1/completions", b"{")
        response = connection.getresponse()
        self.assertEqual(response.status, 400)
        response.read()
        connection.request("GET", "/health")
        self.assertEqual(connection.getresponse().status, 200)
        self.assertEqual(connection.sock.getsockname(), local)
        connection.close()

    def test_pipelined_requests_are_answered_in_order(self):
        """A slow generation first, then quick ones: the answers keep the order."""
        slow = json.dumps({"prompt": "abc", "max_tokens": 24, "ignore_eos": True}).encode()
        data = (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
                % (len(slow), slow))
        data += b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n"
        data += b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n"
        data += b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        received = raw(self.service.port, data)
        self.assertEqual(received.count(b"HTTP/1.1 200"), 4, received)
        places = [received.index(mark) for mark in
                  (b'"text_completion"', b'"version"', b'"list"')]
        self.assertEqual(places, sorted(places), received)

    def test_a_request_in_single_bytes_is_understood(self):
        with socket.create_connection(("127.0.0.1", self.service.port), 10) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n":
                connection.sendall(bytes([byte]))
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200"))

    def test_a_head_that_drips_is_given_up_at_its_deadline(self):
        """Each byte must not win new time."""
        with socket.create_connection(("127.0.0.1", self.service.port), 30) as connection:
            connection.settimeout(0.5)
            connection.sendall(b"GET /health HTTP/1.1\r\nX: ")
            received, end = b"", time.monotonic() + 25
            while not received and time.monotonic() < end:
                try:
                    received = connection.recv(1000)
                except TimeoutError:
                    connection.sendall(b"a")
            self.assertTrue(received.startswith(b"HTTP/1.1 408"), received)

    def test_more_connections_than_allowed_are_told(self):
        with harness.Service("--max-model-len", "256", "--max-connections", "4") as service:
            client = Client(service.port)
            held = [client.connect() for _ in range(4)]
            for connection in held:
                connection.request("GET", "/health")
                connection.getresponse().read()
            self.assertEqual(client.get("/health").status, 503)
            for connection in held:
                connection.close()
            harness.wait_until(lambda: client.get("/health").status == 200, 10, "a place")

    def test_expect_continue_is_answered(self):
        with socket.create_connection(("127.0.0.1", self.service.port), 10) as connection:
            body = b'{"prompt":"a","max_tokens":1}'
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\n"
                               b"Expect: 100-continue\r\nConnection: close\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(body))
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 100"))
            connection.sendall(body)
            self.assertIn(b"HTTP/1.1 200", connection.recv(65536))


if __name__ == "__main__":
    harness.main()
