"""The nng door: the same fields as over HTTP, and the same answers."""

import socket
import subprocess
import sys
import threading

import harness

harness.require("pynng", "msgpack")
sys.path.insert(0, harness.ROOT + "/examples")

import msgpack
import nng_client
import pynng

EXAMPLE = harness.ROOT + "/examples/nng_client.py"


class Door(harness.ServiceTest):
    options = ("--max-model-len", "256")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.url = f"ipc://{cls.service.runtime_dir}/frontend.ipc"

    def run_example(self, *arguments):
        return subprocess.run([sys.executable, EXAMPLE, "--url", self.url, *arguments],
                              capture_output=True, text=True, timeout=30)

    def test_the_example_completes(self):
        ran = self.run_example("completion", "abc", "--max-tokens", "8",
                               "--temperature", "0")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout,
                         self.client.completion("abc", max_tokens=8, temperature=0) + "\n")

    def test_the_example_chats(self):
        ran = self.run_example("chat", "hello", "--max-tokens", "8", "--temperature", "0")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout,
                         self.client.chat("hello", max_tokens=8, temperature=0).text + "\n")

    def test_the_example_lists_models_and_status(self):
        model = self.client.get("/v1/models").json["data"][0]["id"]
        self.assertEqual(self.run_example("models").stdout, model + "\n")
        ran = self.run_example("status")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue(ran.stdout)

    def test_the_example_ends_with_1_and_a_sentence_on_an_error(self):
        ran = self.run_example("completion", "abc", "--max-tokens", "-5")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("max_tokens", ran.stderr)

    def test_the_example_names_the_door_that_it_cannot_reach(self):
        url = f"ipc://{self.service.runtime_dir}/nobody.ipc"
        ran = subprocess.run([sys.executable, EXAMPLE, "--url", url, "models"],
                             capture_output=True, text=True, timeout=30)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(url, ran.stderr)

    def test_answers_equal_those_of_http(self):
        parameters = {"max_tokens": 8, "temperature": 0.8, "seed": 7, "n": 2,
                      "top_p": 0.9, "logit_bias": {"5": -2.5}}
        with nng_client.Client(self.url) as client:
            got = client.completion("abc", **parameters)
        wanted = self.client.complete("abc", **parameters).json
        for part in ("choices", "usage", "model", "object"):
            self.assertEqual(got[part], wanted[part])

    def test_errors_name_the_field(self):
        with nng_client.Client(self.url) as client:
            for fields, param in (({"max_tokens": "ten"}, "max_tokens"),
                                  ({"temperature": 9.0}, "temperature"),
                                  ({"stream": True}, "stream")):
                with self.assertRaises(nng_client.RopewayError) as caught:
                    client.completion("abc", **fields)
                self.assertEqual(caught.exception.error["param"], param)
            with self.assertRaises(nng_client.RopewayError):
                client.ask("nothing")
            with self.assertRaises(nng_client.RopewayError) as caught:
                client.completion("abc", model="another")
            self.assertEqual(caught.exception.error["code"], "model_not_found")

    def test_bytes_that_are_no_request_are_answered_and_do_no_harm(self):
        deep = msgpack.packb("x")
        for _ in range(2000):
            deep = b"\x91" + deep
        garbage = (b"", b"\xc1", b"\xff" * 64, msgpack.packb([1, 2]), msgpack.packb("chat"),
                   msgpack.packb({"op": "chat"}) + b"\x00", b"\xdf\xff\xff\xff\xff",
                   b"\xdb\xff\xff\xff\xffabc", b"\x81\xa2op" + deep,
                   b"\x82\xa2op\xa4chat\xa2op\xa4chat", b"\x81\x01\x02",
                   msgpack.packb({"op": "completion", "prompt": b"\xff\xfe"}))
        with nng_client.Client(self.url, timeout_s=10) as client:
            for data in garbage:
                client.socket.send(data)
                self.assertIn("error", msgpack.unpackb(client.socket.recv()), data)
            self.assertEqual(client.models()["object"], "list")

    def test_a_large_answer_comes_whole(self):
        """Larger than the largest request: about 8 MB as JSON."""
        fields = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 200,
                  "n": 128, "seed": 1, "logprobs": True, "top_logprobs": 5,
                  "ignore_eos": True}
        with nng_client.Client(self.url) as client:
            answer = client.ask("chat", **fields)
        for choice in answer["choices"]:
            self.assertEqual(len(choice["logprobs"]["content"]), 200)
        self.assertEqual(len(answer["choices"]), 128)

    def test_an_answer_too_large_for_the_door_is_refused(self):
        pid = self.service.pid_of("frontend")
        fields = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 200,
                  "n": 128, "logprobs": True, "top_logprobs": 20, "ignore_eos": True}
        with nng_client.Client(self.url) as client:
            with self.assertRaises(nng_client.RopewayError) as caught:
                client.ask("chat", **fields)
            self.assertEqual(caught.exception.error["code"], "too_large")
            self.assertEqual(client.models()["object"], "list")
        self.assertEqual(self.service.pid_of("frontend"), pid)

    def test_a_token_with_a_zero_byte_has_its_logprobs(self):
        with nng_client.Client(self.url) as client:
            answer = client.completion("abc", max_tokens=2, temperature=0, logprobs=1,
                                       logit_bias={"3": 100})
        self.assertEqual(answer["choices"][0]["text"], "\0\0")
        self.assertEqual(answer["choices"][0]["logprobs"]["tokens"], ["bytes:\\x00"] * 2)

    def test_many_clients_each_get_their_own_answer(self):
        prompts = [f"question {number}" for number in range(24)]
        wanted = [self.client.completion(prompt, max_tokens=6, temperature=0)
                  for prompt in prompts]
        got = [None] * len(prompts)

        def ask(index):
            with nng_client.Client(self.url) as client:
                reply = client.completion(prompts[index], max_tokens=6, temperature=0)
                got[index] = reply["choices"][0]["text"]

        threads = [threading.Thread(target=ask, args=(index,)) for index in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(got, wanted)

    def test_a_door_over_tcp_by_option(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            url = "tcp://127.0.0.1:%d" % probe.getsockname()[1]
        with harness.Service("--max-model-len", "256", "--nng-listen", url):
            with nng_client.Client(url) as client:
                text = client.completion("abc", max_tokens=4,
                                         temperature=0)["choices"][0]["text"]
        self.assertEqual(text, self.client.completion("abc", max_tokens=4, temperature=0))

    def test_contexts_of_one_socket_do_not_cross(self):
        with pynng.Req0(dial=self.url, recv_timeout=30000) as requester:
            contexts = [requester.new_context() for _ in range(8)]
            for number, context in enumerate(contexts):
                context.send(msgpack.packb({"op": "completion", "prompt": f"p{number}",
                                            "max_tokens": 4, "temperature": 0}))
            for number, context in reversed(list(enumerate(contexts))):
                text = msgpack.unpackb(context.recv())["choices"][0]["text"]
                self.assertEqual(
                    text, self.client.completion(f"p{number}", max_tokens=4, temperature=0))
                context.close()


if __name__ == "__main__":
    harness.main()
