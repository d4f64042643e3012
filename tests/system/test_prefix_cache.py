"""The prefix cache as clients see it: who finds what, with the same text as without."""

import threading
import unittest

import harness

harness.require("pynng", "msgpack")

from harness import Service, ServiceTest, wait_until
from client import Client
from scheduler_client import Frontend, Instance
from tiny import LONG_MODEL, ids

BLOCK = 16
BACK_S = 30
GREEDY = {"temperature": 0, "max_tokens": 12, "ignore_eos": True}


def cached(reply):
    assert reply.status == 200, reply
    return reply.json["usage"]["prompt_tokens_details"]["cached_tokens"]


class PrefixCache(ServiceTest):
    model = LONG_MODEL

    def ask(self, prompt, salt, **parameters):
        return self.client.complete(prompt, cache_salt=salt, **{**GREEDY, **parameters})

    def test_the_same_prompt_again_is_found_and_answered_alike(self):
        for length in (15, 16, 17, 32, 33, 100):
            first = self.ask(ids(length), "again")
            again = self.ask(ids(length), "again")
            self.assertEqual(cached(again), (length - 1) // BLOCK * BLOCK)
            self.assertEqual(again.text, first.text)
            self.assertEqual(again.text, self.ask(ids(length), f"cold {length}").text)

    def test_samples_and_logprobs_are_alike_too(self):
        wanted = {"temperature": 1, "seed": 3, "logprobs": 5, "repetition_penalty": 1.3}
        replies = [self.ask(ids(70), "sampled", **wanted) for _ in range(2)]
        self.assertEqual([cached(reply) for reply in replies], [0, 64])
        self.assertEqual(replies[0].json["choices"], replies[1].json["choices"])

    def test_a_stream_tells_of_it(self):
        for wanted in (0, 48):
            answer = self.client.stream_completion(
                ids(50), cache_salt="stream", stream_options={"include_usage": True},
                **GREEDY)
            details = answer.usage["prompt_tokens_details"]
            self.assertEqual(details["cached_tokens"], wanted)

    def test_the_next_turn_of_a_chat_finds_the_answer(self):
        """The answer is one letter again and again, so that its text has the tokens that
        were generated."""
        messages = [{"role": "user", "content": "q"}]
        letter = self.client.post("/v1/completions", {
            "prompt": "q", "max_tokens": 1, "logprobs": 0, "logit_bias": {"90": 100},
            "temperature": 0}).text
        self.assertEqual(len(letter), 1)
        body = {"cache_salt": "chat", "max_tokens": 60, "ignore_eos": True,
                "temperature": 0, "logit_bias": {"90": 100}}
        first = self.client.post("/v1/chat/completions", {"messages": messages, **body})
        self.assertEqual(first.text, 60 * letter)
        prompt_tokens = first.json["usage"]["prompt_tokens"]
        messages += [{"role": "assistant", "content": first.text},
                     {"role": "user", "content": "and then?"}]
        turn = {"messages": messages, **body, "logit_bias": {}}
        second = self.client.post("/v1/chat/completions", turn)
        # The newest token of the first turn had no row yet.
        self.assertEqual(cached(second), (prompt_tokens + 59) // BLOCK * BLOCK)
        cold = self.client.post("/v1/chat/completions",
                                {**turn, "cache_salt": "chat cold"})
        self.assertEqual(cached(cold), 0)
        self.assertEqual(second.text, cold.text)

    def test_another_salt_finds_nothing(self):
        """Case KV-03: none is taken for another, nor for the key's owner."""
        salts = ["a", "ab", "a\0b", "b", "é"]
        for salt in salts:
            self.assertEqual(cached(self.ask(ids(40), salt)), 0, salt)
        self.assertEqual(cached(self.client.complete(ids(40), **GREEDY)), 0)
        for salt in salts:
            self.assertEqual(cached(self.ask(ids(40), salt)), 32, salt)

    def test_a_salt_must_be_a_string_of_1_to_256_bytes(self):
        for salt in ("", "x" * 257, 7, ["a"], True):
            reply = self.ask("abc", salt)
            self.assertEqual(reply.status, 400, salt)
            self.assertEqual(reply.error["param"], "cache_salt", salt)
        self.assertEqual(self.ask("abc", "x" * 256).status, 200)

    def test_metrics_count_tokens_and_idle_blocks_are_free(self):
        names = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")
        before = [self.client.metric(name) for name in names]
        for _ in range(2):
            self.ask(ids(50), "metrics")
        after = [self.client.metric(name) for name in names]
        self.assertEqual([new - old for new, old in zip(after, before)], [100, 48])
        self.client.wait_idle()

    def test_a_killed_worker_poisons_nothing(self):
        prompts = [ids(60, first=20 + number % 3) + ids(20, first=60 + number)
                   for number in range(6)]
        wanted = {"max_tokens": 600}
        alone = [self.ask(prompt, f"alone {number}", **wanted).text
                 for number, prompt in enumerate(prompts)]
        texts = [None] * len(prompts)

        def ask(number):
            texts[number] = self.ask(prompts[number], "killed", **wanted).text

        for _ in range(2):
            threads = [threading.Thread(target=ask, args=(number,))
                       for number in range(len(prompts))]
            made = self.client.metric("vllm:generation_tokens_total")
            for thread in threads:
                thread.start()
            wait_until(lambda made=made: self.client.metric(
                "vllm:generation_tokens_total") > made, BACK_S, "progress")
            self.service.kill("worker")
            for thread in threads:
                thread.join(BACK_S)
            self.assertEqual(texts, alone)
        self.assertGreaterEqual(self.client.metric("ropeway_worker_restarts_total"), 1)
        again = [self.ask(prompt, "killed", **wanted) for prompt in prompts]
        self.assertEqual([cached(reply) for reply in again], [64] * len(prompts))
        self.assertEqual([reply.text for reply in again], alone)


class SmallPool(ServiceTest):
    """Case KV-07: 20 blocks, used again and again by others."""

    options = ("--num-blocks", "20")
    model = LONG_MODEL

    def test_what_was_overwritten_is_not_found(self):
        wanted = self.client.complete(ids(120), **GREEDY)
        self.assertEqual(cached(self.client.complete(ids(120), **GREEDY)), 112)
        for number in range(6):
            self.client.complete(ids(120, first=21 + number), **GREEDY)
        with_others = [threading.Thread(
            target=self.client.complete, args=(ids(60, first=90 + number),),
            kwargs={**GREEDY, "max_tokens": 30}) for number in range(2)]
        for thread in with_others:
            thread.start()
        reply = self.client.complete(ids(120), **GREEDY)
        for thread in with_others:
            thread.join(BACK_S)
        self.assertEqual(cached(reply), 0)
        self.assertEqual(reply.text, wanted.text)
        self.client.wait_idle()


class Off(unittest.TestCase):
    def test_nothing_is_found_or_counted(self):
        with Service("--enable-prefix-caching", "off") as service:
            client = Client(service.port)
            replies = [client.complete(ids(50), **GREEDY) for _ in range(2)]
            self.assertEqual([cached(reply) for reply in replies], [0, 0])
            self.assertEqual(client.metric("vllm:prefix_cache_queries_total"), 0)


class Owners(unittest.TestCase):
    """Case KV-02: the scheduler knows whose key a request came by."""

    def hits(self, frontend, name, **fields):
        before = frontend.status()["prefix_hits_total"]
        self.assertEqual(frontend.submit(name, ids(100), 4, **fields)["status"], "ok")
        tokens = frontend.collect([name])
        return frontend.status()["prefix_hits_total"] - before, tokens

    def test_another_key_finds_nothing(self):
        with Instance("--num-blocks", "100") as instance:
            frontend = Frontend(instance, 1)
            _, wanted = self.hits(frontend, "secret", owner_key=b"1" * 32)
            cases = [("other", {"owner_key": b"2" * 32}, 0), ("nobody", {}, 0),
                     ("salted", {"owner_key": b"1" * 32, "cache_salt": b"s"}, 0),
                     ("same", {"owner_key": b"1" * 32}, 96),
                     ("other again", {"owner_key": b"2" * 32}, 96)]
            for name, fields, expected in cases:
                self.assertEqual(self.hits(frontend, name, **fields),
                                 (expected, wanted), name)


if __name__ == "__main__":
    harness.main()
