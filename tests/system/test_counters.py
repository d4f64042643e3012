"""The counters agree with one another and with what clients saw."""

import threading

import harness
from client import Client
from tiny import LONG_MODEL, ids

LONG = {"max_tokens": 2000, "ignore_eos": True, "temperature": 0}


class Counters(harness.ServiceTest):
    model = LONG_MODEL
    options = ("--max-num-seqs", "4",
               "--max-waiting-seqs", "4")

    def conserved(self):
        """received - finished - aborted - rejected - failed - running - waiting, of one
        scrape: 0 whenever it is taken."""
        found = {}
        for (name, labels), value in self.client.metrics().items():
            found[name] = found.get(name, 0) + value
        ended = found["vllm:request_success_total"]
        return (found["ropeway_requests_received_total"] - ended
                - found["ropeway_requests_rejected_total"]
                - found["ropeway_requests_failed_total"]
                - found["vllm:num_requests_running"] - found["vllm:num_requests_waiting"])

    def test_requests_are_conserved_at_every_moment(self):
        def ask(number):
            client = Client(self.service.port)
            if number % 4 == 0:
                client.complete("abc", max_tokens=-1)
            elif number % 4 == 1:
                stream = client.connect()
                stream.request("POST", "/v1/completions",
                               '{"prompt":"abc","max_tokens":2000,"ignore_eos":true}')
                stream.close()
            else:
                client.complete("abc", max_tokens=number, ignore_eos=True)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
            self.assertEqual(self.conserved(), 0)
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(self.conserved(), 0)
        self.client.wait_idle()
        self.assertEqual(self.conserved(), 0)

    def test_tokens_are_those_of_usage(self):
        names = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")
        before = [self.client.metric(name) for name in names]
        used = [0, 0]
        for count in (1, 16, 40):
            usage = self.client.complete(ids(count), n=2, max_tokens=count,
                                         ignore_eos=True).json["usage"]
            used[1] += usage["completion_tokens"]
        self.client.wait_idle()
        after = [self.client.metric(name) for name in names]
        self.assertEqual(after[1] - before[1], used[1])
        self.assertEqual(after[0] - before[0], 2 * (1 + 16 + 40))

    def test_reasons_are_told_apart(self):
        def reasons():
            return {labels.partition('finished_reason="')[2].partition('"')[0]: value
                    for (name, labels), value in self.client.metrics().items()
                    if name == "vllm:request_success_total"}
        before = reasons()
        text = self.client.completion("abc", max_tokens=20, temperature=0, ignore_eos=True)
        stop = next(piece for piece in (text[start:start + 2] for start in range(len(text)))
                    if len(piece) == 2 and piece.isascii())
        self.client.completion("abc", max_tokens=20, temperature=0, stop=stop,
                               ignore_eos=True)
        self.client.wait_idle()
        after = reasons()
        self.assertEqual(after["length"] - before.get("length", 0), 1)
        self.assertEqual(after["stop"] - before.get("stop", 0), 1)

    def test_the_cache_is_used_while_it_runs_and_empty_after(self):
        stream = self.client.stream("/v1/completions", {"prompt": ids(64), **LONG})
        next(stream)
        self.assertGreater(self.client.metric("vllm:kv_cache_usage_perc"), 0)
        self.assertLessEqual(self.client.metric("vllm:kv_cache_usage_perc"), 1)
        stream.close()
        self.client.wait_idle()


if __name__ == "__main__":
    harness.main()
