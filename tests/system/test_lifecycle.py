"""Starting and stopping: options that are refused, signals, and what is left behind."""

import os
import signal
import subprocess
import tempfile
import threading
import unittest

import harness
from client import Answer, Client
from harness import ROPEWAY, Service, children_of, is_alive, shm_segments, wait_until
from tiny import LONG_MODEL

PROGRAMS = ("ropeway", "ropeway-frontend", "ropeway-scheduler", "ropeway-worker")
LONG = {"prompt": "abc", "max_tokens": 2000, "ignore_eos": True, "temperature": 0}


class Signals(unittest.TestCase):
    def check_clean(self, service, code, children):
        self.assertEqual(code, 0, service.log())
        self.assertEqual(service.left_behind(), [])
        self.assertEqual([pid for pid in children.values() if is_alive(pid)], [])

    def stop_with(self, numbers, options=(), load=False, group=False):
        service = Service(*options, model=LONG_MODEL)
        streams = []
        try:
            service.start()
            children = children_of(service.process.pid)
            self.assertEqual(set(children), set(harness.ROLES))
            if load:
                client = Client(service.port)
                streams = [client.stream("/v1/completions", LONG) for _ in range(4)]
                for stream in streams:
                    next(stream)
            pause = threading.Event()
            for number in numbers:
                if group:
                    os.killpg(service.process.pid, number)
                else:
                    service.send_signal(number)
                pause.wait(0.01)
            self.check_clean(service, service.wait(), children)
        finally:
            for stream in streams:
                stream.close()
            service.discard()

    def test_sigterm(self):
        self.stop_with([signal.SIGTERM])

    def test_sigint(self):
        self.stop_with([signal.SIGINT])

    def test_sigterm_twice_10_ms_apart(self):
        self.stop_with([signal.SIGTERM, signal.SIGTERM])

    def test_sigterm_then_sigint_under_load(self):
        self.stop_with([signal.SIGTERM, signal.SIGINT], load=True)

    def test_sigterm_to_the_whole_group(self):
        self.stop_with([signal.SIGTERM], group=True)

    def test_sigint_to_the_whole_group_as_a_terminal_sends_it(self):
        self.stop_with([signal.SIGINT, signal.SIGINT], group=True, load=True)

    def test_under_load_with_no_time_to_drain(self):
        self.stop_with([signal.SIGTERM], options=("--drain-timeout", "0"), load=True)

    def test_streams_reach_their_end_while_draining(self):
        service = Service(model=LONG_MODEL)
        try:
            service.start()
            client = Client(service.port)
            wanted = client.completion(**LONG)
            streams = [client.stream("/v1/completions", LONG) for _ in range(4)]
            for stream in streams:
                next(stream)
            children = children_of(service.process.pid)
            service.send_signal(signal.SIGTERM)
            answers = [Answer(stream) for stream in streams]
            for answer in answers:
                self.assertEqual(answer.finish_reason, "length")
                self.assertTrue(wanted.endswith(answer.text))
            self.check_clean(service, service.wait(), children)
        finally:
            service.discard()

    def end_of_time(self, numbers, *options):
        """What a stream and a whole answer get when the time to drain is over."""
        service = Service(*options, model=LONG_MODEL)
        try:
            service.start()
            client = Client(service.port)
            replies = []
            stream = client.stream("/v1/completions", LONG)
            next(stream)
            asker = threading.Thread(
                target=lambda: replies.append(client.complete(**{**LONG, "n": 32})))
            asker.start()
            wait_until(lambda: client.running() > 1, 20, "both running")
            children = children_of(service.process.pid)
            for number in numbers:
                service.send_signal(number)
                wait_until(lambda: "stopping: what runs" in service.log(), 20, "a stop")
            last = [event for event in stream][-1]
            asker.join()
            self.check_clean(service, service.wait(), children)
        finally:
            service.discard()
        self.assertEqual(last["error"]["code"], "unavailable")
        self.assertEqual([reply.status for reply in replies], [503])
        self.assertEqual(replies[0].error["code"], "unavailable")

    def test_when_the_time_to_drain_is_over_clients_are_told(self):
        self.end_of_time([signal.SIGTERM], "--drain-timeout", "0")

    def test_in_a_hurry_clients_are_told(self):
        self.end_of_time([signal.SIGTERM, signal.SIGTERM])

    def test_while_it_starts(self):
        """At whatever moment of the start the signal comes, nothing is left."""
        for delay_s in (0.0, 0.005, 0.02, 0.05, 0.1, 0.2):
            service = Service("--max-model-len", "256")
            try:
                service.process = subprocess.Popen(
                    service.command(), stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    start_new_session=True)
                threading.Event().wait(delay_s)
                service.send_signal(signal.SIGTERM)
                code = service.wait()
                # Before main() has begun, the signal's default ends the process.
                self.assertIn(code, (0, -signal.SIGTERM))
                self.assertEqual(service.left_behind(), [], delay_s)
            finally:
                service.discard()


class Options(unittest.TestCase):
    def serve(self, *options, model=harness.TINY_MODEL, environment=None):
        with tempfile.TemporaryDirectory(prefix="ropeway-test-") as home:
            instance = harness.new_instance()
            command = [ROPEWAY, "serve", "--port", "0", "--instance", instance,
                       "--runtime-dir", os.path.join(home, "run")]
            if model:
                command += ["--model", model]
            ran = subprocess.run(command + list(options), capture_output=True, text=True,
                                 timeout=30, env={**os.environ, **(environment or {})})
            self.assertEqual(shm_segments(instance), [])
            return ran

    def check_refused(self, ran, *words):
        """Exit 2, nothing on stdout, one sentence on stderr that holds the words."""
        self.assertEqual(ran.returncode, 2, ran)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        for word in words:
            self.assertIn(word, ran.stderr)

    def test_an_unknown_option(self):
        self.check_refused(self.serve("--nonsense"), "nonsense")

    def test_values_that_are_none(self):
        for option, value in (("--port", "70000"), ("--port", "x"), ("--threads", "-1"),
                              ("--max-num-seqs", "0"), ("--block-size", "0"),
                              ("--max-num-seqs", "99999999999"), ("--port", ""),
                              ("--kv-cache-memory", "many"), ("--workers", "0"),
                              ("--kernels", "fast"), ("--kv-cache-dtype", "fp8"),
                              ("--scheduling-policy", "luck"), ("--instance", "../x"),
                              ("--prefill-chunk", "0"), ("--log-level", "loud")):
            with self.subTest(option=option, value=value):
                self.check_refused(self.serve(option, value), option)

    def test_combinations_that_cannot_be(self):
        self.check_refused(
            self.serve("--max-num-batched-tokens", "64", "--prefill-chunk", "64",
                       "--max-num-seqs", "8"), "--max-num-batched-tokens")
        self.check_refused(
            self.serve("--max-model-len", "512", "--num-blocks", "4", "--block-size", "16"),
            "--max-model-len")
        self.check_refused(self.serve("--max-model-len", "1000000"), "--max-model-len")

    def test_too_little_memory(self):
        self.check_refused(self.serve("--kv-cache-memory", "100TiB"), "--kv-cache-memory")
        self.check_refused(self.serve("--kv-cache-memory", "1"), "--kv-cache-memory")

    def test_models_that_are_none(self):
        self.check_refused(self.serve(model=None), "--model")
        self.check_refused(self.serve(model="/nowhere/model.gguf"), "/nowhere/model.gguf")
        self.check_refused(self.serve(model="/tmp"), "/tmp")
        with open(harness.TINY_MODEL, "rb") as file:
            whole = file.read()
        with tempfile.TemporaryDirectory() as folder:
            for content in (b"", b"tjgg" + b"\0" * 64, b"GGUF\x01\0\0\0" + b"\0" * 64,
                            b"GGUF\x04\0\0\0" + b"\0" * 64, b"GGUF\0\0\0\x03" + b"\0" * 64,
                            b"version https://git-lfs.github.com/spec/v1\n",
                            whole[:-5000]):
                path = os.path.join(folder, "model.gguf")
                with open(path, "wb") as file:
                    file.write(content)
                with self.subTest(content=content[:16]):
                    self.check_refused(self.serve(model=path), path)

    def test_a_port_in_use_is_one_sentence(self):
        with Service("--max-model-len", "256") as service:
            ran = self.serve("--port", str(service.port))
            self.check_refused(ran, str(service.port))

    def test_an_instance_in_use_is_refused_and_the_first_serves_on(self):
        with Service("--max-model-len", "256") as service:
            ran = subprocess.run(service.command(), capture_output=True, text=True,
                                 timeout=30)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(service.instance, ran.stderr)
            self.assertEqual(
                Client(service.port).complete("abc", max_tokens=1).status, 200)

    def test_help_and_version_everywhere(self):
        for program in PROGRAMS:
            path = os.path.join(harness.BUILD, program)
            for option in ("--help", "--version"):
                ran = subprocess.run([path, option], capture_output=True, text=True,
                                     timeout=10)
                with self.subTest(program=program, option=option):
                    self.assertEqual(ran.returncode, 0, ran)
                    self.assertEqual(ran.stderr, "")
                    self.assertTrue(ran.stdout)
            ran = subprocess.run([path, "--nonsense"], capture_output=True, text=True,
                                 timeout=10)
            self.assertEqual(ran.returncode, 2, ran)

    def test_file_then_environment_then_flags(self):
        """Each of the three names another model; the later source wins."""
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            file.write("served-model-name = from-file\nmax-model-len = 200\n")
            file.flush()
            for environment, options, wanted in (
                    ({}, (), "from-file"),
                    ({"ROPEWAY_SERVED_MODEL_NAME": "from-environment"}, (),
                     "from-environment"),
                    ({"ROPEWAY_SERVED_MODEL_NAME": "from-environment"},
                     ("--served-model-name", "from-flag"), "from-flag")):
                with Service("--config", file.name, *options,
                             environment=environment) as service:
                    client = Client(service.port)
                    self.assertEqual(client.get("/v1/models").json["data"][0]["id"], wanted)
                    self.assertIn("200", client.complete("a", max_tokens=999)
                                  .error["message"])

    def test_steps_and_their_parts_are_logged_at_debug(self):
        with Service("--max-model-len", "256", "--log-level", "debug") as service:
            Client(service.port).complete("abc", max_tokens=5, ignore_eos=True)
            steps = wait_until(lambda: [line for line in service.lines if "step " in line
                                        and "matmul_us=" in line][:5], 10, "steps")
            for part in ("rows=", "run_us=", "attention_us=", "sample_us="):
                self.assertIn(part, steps[0])

    def test_an_api_key_is_asked_for(self):
        with Service("--max-model-len", "256",
                     environment={"ROPEWAY_API_KEY": "secret"}) as service:
            client = Client(service.port)
            self.assertEqual(client.get("/v1/models").status, 401)
            self.assertEqual(client.get("/health").status, 200)
            for key, status in (("secret", 200), ("other", 401)):
                self.assertEqual(client.request(
                    "GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})
                    .status, status)
            for pid in [service.process.pid, *children_of(service.process.pid).values()]:
                with open(f"/proc/{pid}/cmdline") as file:
                    self.assertNotIn("secret", file.read())


if __name__ == "__main__":
    harness.main()
