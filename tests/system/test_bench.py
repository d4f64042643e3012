"""The traffic generator, against the real service."""

import json
import subprocess

import harness


class Bench(harness.ServiceTest):
    options = ("--max-model-len", "512")

    def bench(self, *arguments, port=None):
        url = f"http://127.0.0.1:{port or self.service.port}"
        return subprocess.run([harness.ROPEWAY, "bench", url, *arguments],
                              capture_output=True, text=True, timeout=50)

    def test_json_prints_one_document_and_nothing_else(self):
        before = self.client.metric("vllm:generation_tokens_total")
        ran = self.bench("--json", "--concurrency", "4", "--requests", "12",
                         "--prompt-tokens", "24", "--max-tokens", "10")
        self.assertEqual(ran.returncode, 0, ran)
        document = json.loads(ran.stdout)
        self.client.wait_idle()
        made = self.client.metric("vllm:generation_tokens_total") - before
        self.assertEqual(made, 120)
        self.assertIn(120, flat_numbers(document))
        self.assertIn(12, flat_numbers(document))
        self.assertTrue(all(number >= 0 for number in flat_numbers(document)))

    def test_the_report_for_people_names_the_percentiles(self):
        ran = self.bench("--concurrency", "2", "--requests", "4", "--max-tokens", "5")
        self.assertEqual(ran.returncode, 0, ran)
        for word in ("p50", "p99", "tokens"):
            self.assertIn(word, ran.stdout.lower())

    def test_failures_are_told_by_the_exit_code(self):
        ran = self.bench("--json", "--requests", "2", "--max-tokens", "5", port=1)
        self.assertNotEqual(ran.returncode, 0)

    def test_a_bad_option_is_one_sentence_and_2(self):
        ran = self.bench("--requests", "none")
        self.assertEqual(ran.returncode, 2, ran)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)


def flat_numbers(value):
    if isinstance(value, dict):
        return [number for part in value.values() for number in flat_numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in flat_numbers(part)]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value]
    return []


if __name__ == "__main__":
    harness.main()
