"""`ropeway sim --steps` on the course's cases and on files that will not do.

    test_sim_steps.py COURSE_JSON ROPEWAY
"""

import json
import random
import subprocess
import sys
import unittest

ROPEWAY = sys.argv.pop()
with open(sys.argv.pop(), encoding="utf-8") as file:
    COURSE = json.load(file)["step_scheduler"]

SHORT = {"request_id": "a", "prompt": "x", "max_new_tokens": 1}


def sim(*arguments, steps=b""):
    return subprocess.run([ROPEWAY, "sim", *arguments], input=steps, capture_output=True,
                          timeout=50)


def lines(*requests):
    return "".join(json.dumps(request) + "\n" for request in requests).encode()


def run(*requests, options=()):
    """The document of a run that must succeed."""
    ran = sim("--steps", "-", "--json", *options, steps=lines(*requests))
    assert (ran.returncode, ran.stderr) == (0, b""), ran
    return json.loads(ran.stdout)


def with_prompts(case):
    """The file's cases say nothing of prompts."""
    return [{"prompt": "x", **request} for request in case["requests"]]


class CourseCases(unittest.TestCase):
    def test_every_case_gives_the_courses_values(self):
        self.assertGreater(len(COURSE["cases"]), 0)
        for case in COURSE["cases"]:
            options = (["--max-batch-size", str(case["max_batch_size"])]
                       if "max_batch_size" in case else [])
            document = run(*with_prompts(case), options=options)
            for key, expected in case.items():
                if key not in ("requests", "max_batch_size"):
                    self.check(document, key, expected)

    def check(self, document, key, expected):
        if key.startswith("step_"):
            record, = (step for step in document["steps"]
                       if step["step"] == int(key.removeprefix("step_")))
            for list_name, ids in expected.items():
                self.assertEqual(record[f"{list_name}_request_ids"], ids)
        elif key == "active_batch_sizes":
            self.assertEqual(document["summary"][key], expected)
            self.assertEqual([step["active_batch_size"] for step in document["steps"]],
                             expected)
        else:
            field = {"generated": "generated_tokens"}.get(key, key)
            self.assertEqual([request[field] for request in document["requests"]], expected)

    def test_the_summary_has_the_courses_fields_in_its_order(self):
        document = run(SHORT)
        self.assertEqual(list(document["summary"]), COURSE["summary"]["fields"])

    def test_a_summary_has_the_courses_values(self):
        # All of it that a run can give: the file's five tokens do not fit into its table
        # of four places. The unit tests have the whole.
        document = run({**SHORT, "max_new_tokens": 2},
                       {**SHORT, "request_id": "b", "max_new_tokens": 2, "arrival_step": 1})
        sizes = COURSE["summary"]["case"]["active_batch_sizes"]
        summary = document["summary"]
        self.assertEqual(summary["active_batch_sizes"], sizes)
        for field in ("request_count", "max_active_batch_size", "mean_active_batch_size",
                      "scheduler_steps"):
            self.assertEqual(summary[field], COURSE["summary"]["case"][field])
        self.assertEqual(summary["mean_generated_tokens"], 2)

    def test_a_record_has_the_courses_fields(self):
        record, = run(SHORT)["steps"]
        self.assertEqual(record, {"step": 0, "admitted_request_ids": ["a"],
                                  "running_request_ids": ["a"],
                                  "completed_request_ids": ["a"], "active_batch_size": 1})

    def test_what_is_left_out_has_the_courses_default(self):
        request, = run({"request_id": "a", "prompt": "x"})["requests"]
        self.assertEqual(request["generated_tokens"], COURSE["request"]["max_new_tokens"])
        self.assertEqual(request["admitted_step"], COURSE["request"]["arrival_step"])

    def test_seconds_are_charged_by_the_step(self):
        document = run({**SHORT, "max_new_tokens": 3}, options=("--step-seconds", "0.5"))
        request, = document["requests"]
        self.assertEqual(request["ttft_seconds"], 0.5)
        self.assertEqual(request["prefill_seconds"], 0.5)
        self.assertEqual(request["decode_seconds"], 1)
        self.assertEqual(document["summary"]["total_seconds"], 1.5)
        self.assertEqual(document["summary"]["tokens_per_second"], 2)

    def test_the_table_for_people(self):
        ran = sim("--steps", "-", steps=lines(*with_prompts(COURSE["cases"][0])))
        self.assertEqual(ran.returncode, 0, ran)
        table, summary = ran.stdout.decode().split("\n\n")
        self.assertEqual([row.split() for row in table.splitlines()],
                         [["step", "active", "admitted", "running", "completed"],
                          ["0", "1", "short-0", "short-0", "-"],
                          ["1", "2", "late-1", "short-0,late-1", "short-0"],
                          ["2", "1", "-", "late-1", "-"],
                          ["3", "1", "-", "late-1", "late-1"]])
        self.assertEqual([row.split()[0] for row in summary.splitlines()],
                         COURSE["summary"]["fields"])
        self.assertFalse(any(row.endswith(" ") for row in table.splitlines()), table)


def model(requests, max_batch_size):
    """The course's rules, slow and obvious: the steps as the document has them."""
    waiting = sorted(requests, key=lambda request: request["arrival_step"])
    running, steps, step = [], [], 0
    generated = {request["request_id"]: 0 for request in requests}
    while waiting or running:
        if not running:
            step = max(step, waiting[0]["arrival_step"])
        admitted = []
        while (waiting and waiting[0]["arrival_step"] <= step
               and len(running) < max_batch_size):
            admitted.append(waiting[0])
            running.append(waiting.pop(0))
        completed, ran = [], list(running)
        for request in ran:
            generated[request["request_id"]] += 1
            count = generated[request["request_id"]]
            if count in (request["max_new_tokens"], request["eos_after"]):
                completed.append(request)
                running.remove(request)
        steps.append({"step": step, "admitted_request_ids": ids(admitted),
                      "running_request_ids": ids(ran),
                      "completed_request_ids": ids(completed),
                      "active_batch_size": len(ran)})
        step += 1
    return steps


def ids(requests):
    return [request["request_id"] for request in requests]


class Differential(unittest.TestCase):
    def test_random_files_run_as_the_model_does(self):
        for seed in range(100):
            chance = random.Random(seed)
            requests = [{"request_id": str(i), "prompt": "x",
                         "max_new_tokens": chance.randint(1, 8),
                         "arrival_step": chance.choice((0, chance.randint(0, 60))),
                         "eos_after": chance.randint(1, 12)}
                        for i in range(chance.randint(1, 30))]
            size = chance.randint(1, 5)
            document = run(*requests, options=("--max-batch-size", str(size)))
            self.assertEqual(document["steps"], model(requests, size), f"seed {seed}")


class Refusals(unittest.TestCase):
    def refused(self, sentence, steps, *options):
        ran = sim("--steps", "-", *options, steps=steps)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""), ran)
        self.assertEqual(ran.stderr.decode(), f"ropeway sim: {sentence}\n")

    def test_the_courses_sentences_in_the_courses_order(self):
        order = [sentence.removeprefix("per request, in order: ")
                 for sentence in COURSE["validation_order"]]
        wrong = {"request_id": "a", "prompt": "", "max_new_tokens": 0, "arrival_step": -1}
        self.refused(order[0], lines(SHORT, wrong), "--max-batch-size", "0")
        self.refused("line 2: " + order[1].replace("X", "a"), lines(SHORT, wrong))
        for sentence, mend in zip(order[2:], ({"arrival_step": 0}, {"max_new_tokens": 1},
                                              {"prompt": "x"})):
            wrong["request_id"] = "b"
            self.refused("line 2: " + sentence, lines(SHORT, wrong))
            wrong.update(mend)
        run(SHORT, wrong)

    def test_an_empty_file_is_refused_naming_requests(self):
        self.refused("requests must not be empty", b"")
        self.refused("requests must not be empty", b"\n \r\n")

    def test_lines_that_are_no_requests(self):
        for line, sentence in (
                (b"{", "line 2 is not JSON (column 1)"),
                (b"[]", "line 2 is not a JSON object"),
                (b'{"request_id":"b","request_id":"c"}', "line 2 has a repeated key"),
                (b'{"prompt":"x"}', "line 2: request_id is missing"),
                (b'{"request_id":"b"}', "line 2: prompt is missing"),
                (b'{"request_id":"","prompt":"x"}', "line 2: request_id must not be empty"),
                (b'{"request_id":7,"prompt":"x"}', "line 2: request_id must be a string"),
                (b'{"request_id":"\\u001b[2J","prompt":"x"}',
                 "line 2: request_id holds a control character"),
                (b'{"request_id":"b","prompt":"x","arrival_step":1.5}',
                 "line 2: arrival_step must be an integer"),
                (b'{"request_id":"b","prompt":"x","max_new_tokens":true}',
                 "line 2: max_new_tokens must be an integer"),
                (b'{"request_id":"b","prompt":"x","eos_after":0}',
                 "line 2: eos_after must be at least 1"),
                (b'{"request_id":"b","prompt":"x","max_tokens":4}',
                 "line 2: unknown field 'max_tokens'; known are request_id, prompt, "
                 "max_new_tokens, arrival_step, eos_after")):
            self.refused(sentence, lines(SHORT) + line + b"\n")

    def test_bounds(self):
        long_id = {**SHORT, "request_id": "a" * 257}
        self.refused("line 1: request_id is longer than 256 bytes", lines(long_id))
        self.refused("line 1 is longer than 65536 bytes",
                     lines({**SHORT, "prompt": "x" * 65536}))
        self.refused("line 16385: there are more than 16384 requests",
                     lines(*({**SHORT, "request_id": str(i)} for i in range(16385))))
        self.refused("line 1: max_new_tokens of all requests together must be at most "
                     "1048576", lines({**SHORT, "max_new_tokens": 1048577}))
        self.refused("line 1: arrival_step must be at most 9007199254740992",
                     lines({**SHORT, "arrival_step": 2**53 + 1}))

    def test_as_much_as_the_bounds_allow_runs(self):
        document = run(*({**SHORT, "request_id": str(i), "max_new_tokens": 64,
                          "arrival_step": 2**53 - i} for i in range(16384)))
        self.assertEqual(document["summary"]["mean_generated_tokens"], 64)
        self.assertEqual(document["steps"][0]["admitted_request_ids"], ["16383"])

    def test_options(self):
        for options, sentence in (
                ((), "--steps FILE is needed"),
                (("--steps", "-", "more"), "--steps FILE is needed"),
                (("--steps",), "--steps needs a value"),
                (("--steps", "-", "--nonsense"), "--nonsense is no option"),
                (("--steps", "-", "--max-batch-size", "x"), "'x' is not an integer"),
                (("--steps", "-", "--step-seconds", "nan"), "'nan' is not a number"),
                (("--steps", "/nowhere/at/all"), "cannot be opened")):
            ran = sim(*options)
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), ran)
            self.assertIn(sentence, ran.stderr.decode())
            self.assertEqual(ran.stderr.count(b"\n"), 1)

    def test_help(self):
        ran = sim("--help")
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        for option in (b"--steps", b"--max-batch-size", b"--step-seconds", b"--json"):
            self.assertIn(option, ran.stdout)


if __name__ == "__main__":
    unittest.main()
