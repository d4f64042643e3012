"""Prompts and answers at the edges of blocks, of the context and of the pool."""

import threading

import harness
from client import Client
from tiny import ids

CONTEXT = 128


class Lengths(harness.ServiceTest):
    options = ("--max-model-len", str(CONTEXT), "--block-size", "16",
               "--prefill-chunk", "32", "--max-num-batched-tokens", "64")

    def complete(self, count, **parameters):
        return self.client.complete(ids(count), temperature=0, ignore_eos=True,
                                    **parameters)

    def test_prompts_around_the_borders_of_blocks(self):
        """The text after k more tokens of prompt is what k generated tokens led to: a
        prompt is prefilled and a token decoded with the same result."""
        for count in (1, 15, 16, 17, 31, 32, 33, 63, 64, 65):
            reply = self.complete(count, max_tokens=20)
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(reply.json["usage"]["prompt_tokens"], count)
            self.assertEqual(reply.json["usage"]["completion_tokens"], 20)
            self.assertEqual(reply.json["choices"][0]["finish_reason"], "length")
            self.assertEqual(self.complete(count, max_tokens=20).text, reply.text)

    def test_the_last_place_of_the_context_may_be_used(self):
        reply = self.complete(CONTEXT - 1, max_tokens=1)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.json["usage"]["completion_tokens"], 1)
        self.assertEqual(reply.json["usage"]["total_tokens"], CONTEXT)

    def test_more_than_the_context_is_refused_with_numbers(self):
        for count, tokens in ((CONTEXT, 1), (CONTEXT + 1, 1), (CONTEXT - 1, 2),
                              (1, CONTEXT), (40, 10000)):
            reply = self.complete(count, max_tokens=tokens)
            self.assertEqual(reply.status, 400, (count, tokens, reply))
            self.assertEqual(reply.error["code"], "context_length_exceeded")
            self.assertIn(str(CONTEXT), reply.error["message"])
            self.assertIn(str(count), reply.error["message"])

    def test_without_max_tokens_a_chat_may_fill_the_context(self):
        reply = self.client.chat("hi", temperature=0, ignore_eos=True)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.json["usage"]["total_tokens"], CONTEXT)
        self.assertEqual(reply.json["choices"][0]["finish_reason"], "length")

    def test_without_max_tokens_a_full_prompt_is_refused(self):
        self.assertEqual(self.complete(CONTEXT).status, 400)

    def test_text_at_the_limit_is_counted_in_tokens(self):
        self.assertEqual(self.client.complete("a b c d e f " * 400, max_tokens=1)
                         .error["code"], "context_length_exceeded")


class Chunks(harness.ServiceTest):
    """Another cut of the same work: smaller chunks, other blocks, one thread."""

    options = ("--max-model-len", str(CONTEXT), "--block-size", "32", "--threads", "1",
               "--prefill-chunk", "7", "--max-num-batched-tokens", "39")

    def test_no_cut_changes_a_text(self):
        plain = harness.Service(*Lengths.options)
        with plain:
            other = Client(plain.port)
            for count in (1, 7, 8, 31, 32, 33, 100):
                for seed in (0, 1):
                    parameters = {"max_tokens": 20, "temperature": float(seed),
                                  "seed": seed, "ignore_eos": True}
                    self.assertEqual(
                        self.client.completion(ids(count), **parameters),
                        other.completion(ids(count), **parameters), count)


class SmallPool(harness.ServiceTest):
    """12 blocks of 16 tokens: four requests of three blocks, whatever the slots allow."""

    options = ("--max-model-len", "160", "--num-blocks", "12", "--block-size", "16",
               "--max-num-seqs", "8", "--max-waiting-seqs", "256")

    def test_two_hundred_requests_all_finish(self):
        failures, texts = [], {}
        lock = threading.Lock()
        queue = list(range(200))

        def work():
            while True:
                with lock:
                    if not queue:
                        return
                    number = queue.pop()
                count = 1 + number % 40
                reply = self.client.complete(ids(count), max_tokens=1 + number % 8,
                                             temperature=0, ignore_eos=True)
                with lock:
                    if reply.status != 200 or (reply.json["usage"]["completion_tokens"]
                                               != 1 + number % 8):
                        failures.append((number, reply))
                    else:
                        texts.setdefault((count, number % 8), set()).add(reply.text)

        threads = [threading.Thread(target=work) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        self.assertEqual(failures, [])
        self.assertTrue(all(len(same) == 1 for same in texts.values()))
        self.client.wait_idle()

    def test_one_request_of_the_whole_context_fits(self):
        reply = self.client.complete(ids(159), max_tokens=1, temperature=0)
        self.assertEqual(reply.status, 200, reply)


if __name__ == "__main__":
    harness.main()
