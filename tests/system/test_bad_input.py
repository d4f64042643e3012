"""Bad requests: each is refused with a 400 or 404 that names the field, at once, and does
no harm to the next one."""

import json
import time

import harness
from client import raw

REFUSED_S = 2.0  # far above what a refusal takes, far below what a generation would

# body fields beside the prompt -> error.param
COMPLETION_FIELDS = [
    ({"temperature": -1}, "temperature"),
    ({"temperature": 2.01}, "temperature"),
    ({"temperature": 999999}, "temperature"),
    ({"temperature": "1"}, "temperature"),
    ({"temperature": []}, "temperature"),
    ({"top_p": -0.5}, "top_p"),
    ({"top_p": 1.0001}, "top_p"),
    ({"top_p": 2}, "top_p"),
    ({"top_p": "x"}, "top_p"),
    ({"min_p": -1}, "min_p"),
    ({"min_p": 1.5}, "min_p"),
    ({"top_k": -2}, "top_k"),
    ({"top_k": 1.5}, "top_k"),
    ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"repetition_penalty": -1}, "repetition_penalty"),
    ({"presence_penalty": -2.5}, "presence_penalty"),
    ({"frequency_penalty": 3}, "frequency_penalty"),
    ({"seed": 1.5}, "seed"),
    ({"seed": "7"}, "seed"),
    ({"max_tokens": -5}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_tokens": "10"}, "max_tokens"),
    ({"max_tokens": 1e20}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"n": 0}, "n"),
    ({"n": -1}, "n"),
    ({"n": 1.5}, "n"),
    ({"n": 5000000}, "n"),
    ({"n": "2"}, "n"),
    ({"best_of": 10000}, "best_of"),
    ({"logprobs": 1000000000}, "logprobs"),
    ({"logprobs": -1}, "logprobs"),
    ({"stream": "yes"}, "stream"),
    ({"stream": 1}, "stream"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": 3}, "stream_options"),
    ({"ignore_eos": "no"}, "ignore_eos"),
    ({"stop": 7}, "stop"),
    ({"stop": ""}, "stop"),
    ({"stop": [""]}, "stop"),
    ({"stop": [None]}, "stop"),
    ({"stop": [7]}, "stop"),
    ({"stop": ["x" * count for count in range(1, 1001)]}, "stop"),
    ({"stop": "x" * 1000000}, "stop"),
    ({"logit_bias": {"AI": -100}}, "logit_bias"),
    ({"logit_bias": {"1.5": 1}}, "logit_bias"),
    ({"logit_bias": {" 7": 1}}, "logit_bias"),
    ({"logit_bias": {"": 1}}, "logit_bias"),
    ({"logit_bias": {"-1": 1}}, "logit_bias"),
    ({"logit_bias": {"99999999": 1}}, "logit_bias"),
    ({"logit_bias": {"99999999999999999999": 1}}, "logit_bias"),
    ({"logit_bias": {"7": "1"}}, "logit_bias"),
    ({"logit_bias": {"7": 1000}}, "logit_bias"),
    ({"logit_bias": []}, "logit_bias"),
    ({"logit_bias": {str(token): 1 for token in range(100000)}}, "logit_bias"),
    ({"model": 7}, "model"),
]

PROMPTS = [None, 7, {}, [], [[]], ["a", 1], [1, "a"], [{}], [[1], "a"], [[1.5]], [1.5],
           [-1], [99999999], [2**64], [[[1]]], [None], True]

MESSAGES = [None, [], {}, "hi", ["hi"], [7], [{}], [{"role": "user"}],
            [{"content": "hi"}], [{"role": 7, "content": "hi"}],
            [{"role": "user", "content": 7}], [{"role": "user", "content": {}}],
            [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
            [{"role": "user", "content": [{"type": "text"}]}],
            [{"role": "user", "content": ["hi"]}]]

# Bodies that are no JSON, or no JSON that may be taken.
BODIES = [b"", b" ", b"{", b"null", b"[]", b"7", b'"x"', b"{'prompt':'a'}", b'{"prompt":}',
          b'{"prompt":"a"} x', b'{"prompt":"a"}{"prompt":"a"}', b'{"prompt":"a",}',
          b'{"prompt":"a","prompt":"b"}', b'{"prompt":"a","temperature":NaN}',
          b'{"prompt":"a","temperature":Infinity}', b'{"prompt":"a","temperature":1e999}',
          b'{"prompt":"a","max_tokens":01}', b'{"prompt":"\xff"}', b'{"prompt":"\xc0\x80"}',
          b'{"prompt":"\xed\xa0\xbd"}', b'{"prompt":"\\ud83d"}', b'{"prompt":"a\x01"}',
          b'{"model":"\xc4\xe3"}', b"[" * 100000, b'{"a":' * 100000,
          b'{"prompt":"a","x":' + b"[" * 5000 + b"]" * 5000 + b"}"]


class BadInput(harness.ServiceTest):
    options = ("--max-model-len", "128")

    def tearDown(self):
        """Whatever a test did, the service serves on."""
        reply = self.client.complete("abc", max_tokens=1)
        self.assertEqual(reply.status, 200, reply)

    def check(self, path, body, param, status=400):
        begin = time.monotonic()
        reply = self.client.post(path, body)
        shown = str(body)[:200]
        self.assertEqual(reply.status, status, (shown, reply))
        self.assertLess(time.monotonic() - begin, REFUSED_S, shown)
        self.assertTrue(reply.headers["Content-Type"].startswith("application/json"))
        self.assertEqual(set(reply.error), {"message", "type", "param", "code"}, shown)
        self.assertEqual(reply.error["type"], "invalid_request_error", shown)
        self.assertTrue(reply.error["message"], shown)
        if param is not None:
            self.assertEqual(reply.error["param"], param, (shown, reply))
        return reply

    def test_completion_fields(self):
        for fields, param in COMPLETION_FIELDS:
            with self.subTest(fields=str(fields)[:60]):
                self.check("/v1/completions", {"prompt": "abc", **fields}, param)

    def test_chat_fields(self):
        own = [({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
               ({"top_logprobs": 5}, "top_logprobs"),
               ({"logprobs": 3}, "logprobs"),
               ({"max_completion_tokens": -1}, "max_completion_tokens"),
               ({"max_completion_tokens": "1"}, "max_completion_tokens")]
        shared = [row for row in COMPLETION_FIELDS if row[1] not in ("logprobs", "best_of")]
        for fields, param in shared + own:
            with self.subTest(fields=str(fields)[:60]):
                self.check("/v1/chat/completions", {
                    "messages": [{"role": "user", "content": "hi"}], **fields}, param)

    def test_prompts(self):
        for prompt in PROMPTS:
            with self.subTest(prompt=str(prompt)):
                self.check("/v1/completions", {"prompt": prompt, "max_tokens": 1}, "prompt")
        self.check("/v1/completions", {"max_tokens": 1}, "prompt")

    def test_messages(self):
        for messages in MESSAGES:
            with self.subTest(messages=str(messages)):
                reply = self.check("/v1/chat/completions",
                                   {"messages": messages, "max_tokens": 1}, None)
                self.assertTrue(reply.error["param"].startswith("messages"), reply)
        self.check("/v1/chat/completions", {"max_tokens": 1}, "messages")

    def test_bodies_that_are_no_json(self):
        for path in ("/v1/completions", "/v1/chat/completions"):
            for body in BODIES:
                with self.subTest(path=path, body=body[:40]):
                    self.check(path, body, None)

    def test_a_refusal_quotes_no_bytes_that_are_no_text(self):
        reply = self.check("/v1/chat/completions", b'{"model":"\xc4\xe3"}', None)
        reply.body.decode("utf-8")

    def test_a_valid_surrogate_pair_is_a_character(self):
        reply = self.client.post("/v1/completions",
                                 b'{"prompt":"\\ud83d\\ude00","max_tokens":1}')
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.json["usage"]["prompt_tokens"],
                         self.client.complete("\U0001F600", max_tokens=1)
                         .json["usage"]["prompt_tokens"])

    def test_an_unknown_model_is_404(self):
        for path, body in (("/v1/completions", {"prompt": "abc"}),
                           ("/v1/chat/completions",
                            {"messages": [{"role": "user", "content": "hi"}]})):
            for streams in (False, True):
                reply = self.check(path, {**body, "model": "another", "stream": streams},
                                   "model", status=404)
                self.assertEqual(reply.error["code"], "model_not_found")

    def test_a_refusal_of_a_stream_is_no_stream(self):
        self.check("/v1/completions", {"prompt": "abc", "stream": True, "n": 0}, "n")
        self.check("/v1/completions", {"prompt": "x y " * 500, "stream": True}, None)

    def test_values_at_the_edge_are_legal(self):
        for fields in ({"temperature": 0}, {"temperature": 2}, {"top_p": 1},
                       {"top_k": -1}, {"top_k": 0}, {"min_p": 0}, {"min_p": 1},
                       {"seed": 0}, {"presence_penalty": -2}, {"frequency_penalty": 2},
                       {"repetition_penalty": 1}, {"stop": None}, {"stop": []},
                       {"n": None}, {"temperature": None}, {"logit_bias": None},
                       {"logit_bias": {}}, {"logit_bias": {"7": -100}}, {"user": "me"},
                       {"stream": None}, {"stop": ["a", "b", "c", "d"]}):
            with self.subTest(fields=fields):
                reply = self.client.complete("abc", **{"max_tokens": 2, **fields})
                self.assertEqual(reply.status, 200, reply)

    def test_a_body_at_once_after_a_bad_one_on_the_same_connection(self):
        bad, good = b'{"prompt":7}', json.dumps({"prompt": "a", "max_tokens": 1}).encode()
        data = b"".join(
            b"POST /v1/completions HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s"
            % (b"Connection: close\r\n" if body is good else b"", len(body), body)
            for body in (bad, good))
        received = raw(self.service.port, data)
        self.assertTrue(received.startswith(b"HTTP/1.1 400"), received)
        self.assertIn(b"HTTP/1.1 200", received)


if __name__ == "__main__":
    harness.main()
