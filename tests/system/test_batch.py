"""Many requests at once give exactly the texts that each gives alone."""

import queue
import random
import threading

import harness
from tiny import LONG_CONTEXT, LONG_MODEL, ids

SEQUENCES = 16


def mixed_requests(count, chance):
    """Greedy and sampled, short and long, text and ids, streamed and not."""
    requests = []
    for number in range(count):
        prompt = (ids(chance.choice((1, 15, 16, 17, 33, 90, 200)), 20 + number % 9)
                  if number % 3 else f"request number {number % 11} asks")
        parameters = {"max_tokens": chance.randint(1, 40), "ignore_eos": number % 2 == 0,
                      "temperature": 0 if number % 4 < 2 else 0.9, "seed": number % 7}
        if number % 5 == 0:
            parameters.update(top_k=20, presence_penalty=0.5)
        if number % 5 == 1:
            parameters.update(top_p=0.8, repetition_penalty=1.2)
        if number % 5 == 2:
            parameters.update(min_p=0.02, frequency_penalty=0.7, logit_bias={"40": 2})
        if number % 5 == 3:
            parameters.update(logprobs=number % 6)
        requests.append((prompt, parameters, number % 2 == 1))
    return requests


def logprobs_of(events):
    """The tokens' logprobs, in their order; nothing where none were asked for."""
    return [value for event in events for choice in event["choices"]
            for value in (choice.get("logprobs") or {"token_logprobs": []})
            ["token_logprobs"]]


class Batch(harness.ServiceTest):
    model = LONG_MODEL
    options = ("--max-num-seqs", str(SEQUENCES),
               "--prefill-chunk", "32", "--max-num-batched-tokens", "64")

    def ask(self, prompt, parameters, streams):
        if streams:
            answer = self.client.stream_completion(prompt, **parameters)
            return answer.text, answer.finish_reason, logprobs_of(answer.events)
        reply = self.client.complete(prompt, **parameters)
        if reply.status != 200:
            raise AssertionError(reply)
        return (reply.text, reply.json["choices"][0]["finish_reason"],
                logprobs_of([reply.json]))

    def ask_all_at_once(self, requests):
        """The answers, in the order of requests; any failure is an answer too."""
        answers, begin = [None] * len(requests), threading.Barrier(len(requests))

        def ask(index):
            begin.wait(30)
            try:
                answers[index] = self.ask(*requests[index])
            except Exception as error:  # reported by the comparison, with its text
                answers[index] = error

        threads = [threading.Thread(target=ask, args=(index,))
                   for index in range(len(requests))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        return answers

    def test_64_mixed_requests_equal_themselves_alone(self):
        requests = mixed_requests(64, random.Random(3))
        alone = [self.ask(*request) for request in requests]
        self.assertEqual(self.ask_all_at_once(requests), alone)
        random.Random(4).shuffle(order := list(range(64)))
        shuffled = self.ask_all_at_once([requests[index] for index in order])
        self.assertEqual(shuffled, [alone[index] for index in order])
        self.client.wait_idle()

    def test_they_do_run_at_once(self):
        """Otherwise the test above would prove nothing: all slots are seen in use."""
        streams = [self.client.stream("/v1/completions", {
            "prompt": ids(8, 20 + index), "max_tokens": 3000, "ignore_eos": True,
            "temperature": 0}) for index in range(SEQUENCES)]
        harness.wait_until(lambda: self.client.running() == SEQUENCES, 20, "full slots")
        for stream in streams:
            stream.close()
        self.client.wait_idle()

    def test_a_long_prompt_does_not_stall_a_stream(self):
        """Between two events of the long prompt's life the stream must have had many."""
        stream = self.client.stream("/v1/completions", {
            "prompt": "abc", "max_tokens": 3000, "ignore_eos": True, "temperature": 0})
        next(stream)
        ended = queue.Queue()
        threading.Thread(target=lambda: ended.put(self.client.complete(
            ids(LONG_CONTEXT - 1), max_tokens=1))).start()
        events = 0
        while ended.empty():
            next(stream)
            events += 1
        stream.close()
        self.assertEqual(ended.get().status, 200)
        self.assertGreater(events, 10)

    def test_a_full_queue_is_told_at_once(self):
        """More than slots and queue hold: some are refused with 429 and Retry-After, and
        the others are served."""
        with harness.Service("--max-num-seqs", "1",
                             "--max-waiting-seqs", "2", model=LONG_MODEL) as service:
            from client import Client
            client = Client(service.port)
            streams = [client.stream("/v1/completions", {
                "prompt": "abc", "max_tokens": 400, "ignore_eos": True})]
            next(streams[0])
            replies = []
            threads = [threading.Thread(target=lambda: replies.append(
                client.complete("abc", max_tokens=400, ignore_eos=True)))
                for _ in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            streams[0].close()
            codes = sorted(reply.status for reply in replies)
            self.assertEqual(set(codes), {200, 429})
            for reply in replies:
                if reply.status == 429:
                    self.assertGreaterEqual(int(reply.headers["Retry-After"]), 1)
                    self.assertEqual(reply.error["code"], "overloaded")


if __name__ == "__main__":
    harness.main()
