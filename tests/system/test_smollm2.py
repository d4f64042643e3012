"""The real model through the real processes: reference texts, steady streams, memory."""

import json
import os
import threading
import time

import harness
from client import Answer
from harness import children_of, shm_segments

MODEL = os.environ.get("ROPEWAY_SMOLLM2", os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
    "ropeway", "SmolLM2-135M-Instruct.Q4_1.gguf"))
NAME = "greedy_smollm2.jsonl"
REFERENCES = (os.path.join(harness.ROOT, "tests", "golden", NAME),
              os.path.join(harness.SHARED, "reference", NAME))

MARGIN_LEAST = 0.005  # below it another order of summation may choose another token
RUNS = 12             # enough of each kind of prompt for a minute of two cores
POOL_MIB = 256
MEMORY_OVER_MIB = 200
PANEL_SCRATCH_MIB = 64  # threads x one dequantised panel, and rows of activations
MIB = 1 << 20


def references():
    """Runs that the margins decide to their end, so that their whole text must match."""
    path = next(filter(os.path.exists, REFERENCES))
    with open(path, encoding="utf-8") as file:
        runs = [json.loads(line) for line in file]
    return [run for run in runs if run["min_margin"] >= MARGIN_LEAST
            and len(run["prompt_ids"]) + run["n"] <= 512][:RUNS]


def resident_bytes(pid):
    """Without shared memory, which is counted whole elsewhere. Pss shares what several
    processes map, so that a model file's pages count once."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) * 1024 for line in file
                   if line.startswith(("Pss_Anon:", "Pss_File:")))


class SmolLM2(harness.ServiceTest):
    options = ("--max-model-len", "512", "--kv-cache-memory", f"{POOL_MIB}MiB")
    model = MODEL
    environment = {"ROPEWAY_KERNELS": "general", "ROPEWAY_KV_CACHE_DTYPE": "fp32"}

    def ask(self, run):
        return self.client.complete(run["prompt_ids"], max_tokens=run["n"], temperature=0)

    def test_greedy_texts_are_the_references_many_at_once(self):
        runs = references()
        self.assertGreaterEqual(len(runs), 8)
        replies = [None] * len(runs)

        def ask(index):
            replies[index] = self.ask(runs[index])

        threads = [threading.Thread(target=ask, args=(index,))
                   for index in range(len(runs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(150)
        for run, reply in zip(runs, replies):
            with self.subTest(prompt=run["prompt"][:40]):
                self.assertEqual(reply.status, 200, reply)
                self.assertEqual(reply.text, run["text"])
                self.assertEqual(reply.json["choices"][0]["finish_reason"],
                                 run["finish"])
                self.assertEqual(reply.json["usage"]["completion_tokens"],
                                 len(run["tokens"]))

    def test_the_capital_of_france_as_text(self):
        run = next(run for run in references()
                   if run["prompt"] == "The capital of France is")
        reply = self.client.complete(run["prompt"], max_tokens=run["n"], temperature=0)
        self.assertEqual(reply.text, run["text"])
        self.assertEqual(reply.json["usage"]["prompt_tokens"], len(run["prompt_ids"]))

    def test_a_chat_is_answered(self):
        reply = self.client.chat("What is the capital of France?", max_tokens=40,
                                 temperature=0)
        self.assertIn("Paris", reply.text)

    def test_eight_streams_have_steady_tokens(self):
        """No stream waits for another: each gap is far below the whole run, and all run
        from beginning to end together."""
        gaps, spans = [], []

        def read(number):
            stream = self.client.stream("/v1/completions", {
                "prompt": f"Story number {number}:", "max_tokens": 24, "temperature": 0,
                "ignore_eos": True, "stream_options": {"include_usage": True}})
            times, events = [], []
            for event in stream:
                times.append(time.monotonic())
                events.append(event)
            self_answer = Answer(events)
            spans.append((times[0], times[-1], self_answer.usage["completion_tokens"]))
            gaps.extend(later - former for former, later in zip(times, times[1:]))

        threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual([tokens for _, _, tokens in spans], [24] * 8)
        begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
        print(f"8 streams: {8 * 24 / (end - begin):.1f} tokens/s, "
              f"greatest gap {max(gaps):.3f} s of {end - begin:.3f} s")
        self.assertLess(max(gaps), (end - begin) / 3)
        self.assertLess(max(span[0] for span in spans), min(span[1] for span in spans))

    def test_zz_memory_of_all_processes_is_bounded(self):
        """Last by its name, so that everything above has touched what it needs."""
        pids = {"serve": self.service.process.pid, **children_of(self.service.process.pid)}
        resident = {role: resident_bytes(pid) for role, pid in pids.items()}
        resident["shared"] = sum(os.stat("/dev/shm/" + name).st_blocks * 512
                                 for name in shm_segments(self.service.instance))
        allowed = (os.path.getsize(MODEL) + POOL_MIB * MIB + PANEL_SCRATCH_MIB * MIB
                   + MEMORY_OVER_MIB * MIB)
        print("resident MiB: " + ", ".join(f"{role} {size / MIB:.1f}"
                                         for role, size in sorted(resident.items()))
              + f"; all {sum(resident.values()) / MIB:.1f} of {allowed / MIB:.1f}")
        self.assertLess(sum(resident.values()), allowed)


if __name__ == "__main__":
    harness.require_file(MODEL, "the model SmolLM2-135M-Instruct.Q4_1.gguf")
    if not any(map(os.path.exists, REFERENCES)):
        harness.require_file(REFERENCES[-1], "the reference data")
    harness.main()
