"""kill -9 of any process at any moment: what runs goes on or is told, and nothing stays."""

import os
import signal
import threading
import unittest

import harness
from client import Answer, Client
from harness import Service, ServiceTest, children_of, is_alive, shm_segments, wait_until
from tiny import LONG_MODEL

STREAMS = 6
LONG = {"max_tokens": 2000, "ignore_eos": True, "temperature": 1.0}
BACK_S = 30


def prompts():
    return [f"stream {number}" for number in range(STREAMS)]


class WorkerDeaths(ServiceTest):
    model = LONG_MODEL

    def kill_attached_worker(self):
        """kill -9 of a worker that the scheduler knows, and its death noticed there."""
        deaths = self.client.metric("ropeway_worker_restarts_total")
        wait_until(lambda: self.client.get("/health").status == 200, BACK_S, "a worker")
        self.service.kill("worker")
        wait_until(lambda: self.client.metric("ropeway_worker_restarts_total") > deaths,
                   BACK_S, "a death that is noticed")


class WorkerDiesOften(WorkerDeaths):
    """On a service of its own, since restarts come slower after many deaths."""

    def test_many_requests_under_five_deaths_equal_themselves_alone(self):
        """Short and long ones come and go while the worker is killed again and again."""
        requests = [(f"request {number}", {"max_tokens": 50 + 60 * (number % 8),
                                           "temperature": number % 2, "seed": number,
                                           "ignore_eos": True}) for number in range(32)]
        alone = [self.client.completion(prompt, **parameters)
                 for prompt, parameters in requests]
        texts, ended = [None] * len(requests), threading.Event()

        def ask(index):
            prompt, parameters = requests[index]
            try:
                texts[index] = self.client.stream_completion(prompt, **parameters).text
            except (AssertionError, OSError) as error:
                texts[index] = error

        def ask_all():
            threads = [threading.Thread(target=ask, args=(index,))
                       for index in range(len(requests))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(BACK_S)
            ended.set()

        asking = threading.Thread(target=ask_all)
        asking.start()
        deaths = 0
        while deaths < 5 and not ended.is_set():
            made = self.client.metric("vllm:generation_tokens_total")
            wait_until(lambda made=made: ended.is_set() or self.client.metric(
                "vllm:generation_tokens_total") > made, BACK_S, "progress")
            self.kill_attached_worker()
            deaths += 1
        asking.join(BACK_S)
        self.assertGreaterEqual(deaths, 2)
        self.assertEqual(texts, alone)
        self.assertEqual(len(shm_segments(self.service.instance)), 2)
        self.client.wait_idle()


class WorkerDies(WorkerDeaths):
    def test_streams_go_on_with_the_same_bytes(self):
        """Killed three times, each time after every stream has gone on a little."""
        alone = [self.client.completion(prompt, seed=4, **LONG) for prompt in prompts()]
        streams = [self.client.stream("/v1/completions", {
            "prompt": prompt, "seed": 4, "stream_options": {"include_usage": True}, **LONG})
            for prompt in prompts()]
        began = [[] for _ in streams]
        for _ in range(3):
            for events, stream in zip(began, streams):
                events.append(next(stream))
            # Each has begun; on a busy machine some may have ended before the kill.
            self.assertGreater(self.client.running(), 0)
            self.kill_attached_worker()
        answers = [Answer(events + list(stream)) for events, stream in zip(began, streams)]
        self.assertEqual([answer.text for answer in answers], alone)
        for answer in answers:
            self.assertEqual(answer.finish_reason, "length")
            self.assertEqual(answer.usage["completion_tokens"], LONG["max_tokens"])
        self.client.wait_idle()

    def test_in_prefill_and_without_a_stream(self):
        prompt = "x y z " * 60
        wanted = self.client.complete(prompt, seed=1, max_tokens=40, temperature=1,
                                      ignore_eos=True)
        self.assertEqual(wanted.status, 200, wanted)
        replies = []
        asks = threading.Thread(target=lambda: replies.append(self.client.complete(
            prompt, seed=1, max_tokens=40, temperature=1, ignore_eos=True)))
        asks.start()
        self.service.kill("worker")
        asks.join(BACK_S)
        self.assertEqual(replies[0].text, wanted.text)

    def test_an_idle_worker_is_restarted(self):
        wanted = self.client.completion("abc", temperature=0, max_tokens=8)
        for _ in range(3):
            self.service.kill("worker")
            self.assertEqual(self.client.completion("abc", temperature=0, max_tokens=8),
                             wanted)


class OthersDie(ServiceTest):
    model = LONG_MODEL

    def answers_again(self):
        """A completion by whichever port the frontend has now."""
        try:
            with open(os.path.join(self.service.runtime_dir, "frontend.port")) as file:
                client = Client(int(file.read()))
            reply = client.complete("abc", temperature=0, max_tokens=8)
            return reply.text if reply.status == 200 else None
        except (OSError, ValueError, AssertionError):
            return None

    def check_kill(self, role):
        wanted = self.answers_again()
        stream = Client(self.service.port).stream("/v1/completions",
                                                  {"prompt": "abc", **LONG})
        next(stream)
        self.service.kill(role)
        stream.close()
        self.assertEqual(wait_until(self.answers_again, BACK_S,
                                    f"an answer after the death of the {role}"), wanted)
        with open(os.path.join(self.service.runtime_dir, "frontend.port")) as file:
            type(self).service.port = int(file.read())
        Client(self.service.port).wait_idle()
        self.assertEqual(len(shm_segments(self.service.instance)), 2)

    def test_the_scheduler_dies_and_the_service_comes_back(self):
        for _ in range(2):
            self.check_kill("scheduler")

    def test_the_frontend_dies_and_the_service_comes_back(self):
        for _ in range(2):
            self.check_kill("frontend")

    def test_a_stream_ends_when_the_scheduler_dies(self):
        """It goes on or is told; it does not hang."""
        stream = Client(self.service.port).stream("/v1/completions",
                                                  {"prompt": "abc", **LONG})
        next(stream)
        self.service.kill("scheduler")
        try:
            last = list(stream)[-1:]
        except (AssertionError, OSError):
            last = []
        for event in last:
            self.assertTrue("error" in event or event["choices"], event)
        wait_until(self.answers_again, BACK_S, "an answer")


class SupervisorDies(unittest.TestCase):
    def test_children_end_and_the_next_start_reclaims(self):
        first = Service(model=LONG_MODEL)
        second = Service(model=LONG_MODEL, instance=first.instance, runtime_dir=first.home)
        try:
            first.start()
            wanted = Client(first.port).completion("abc", temperature=0, max_tokens=8)
            stream = Client(first.port).stream("/v1/completions", {"prompt": "abc", **LONG})
            next(stream)
            children = children_of(first.process.pid)
            self.assertEqual(set(children), set(harness.ROLES))
            os.kill(first.process.pid, signal.SIGKILL)
            for role, pid in children.items():
                wait_until(lambda pid=pid: not is_alive(pid), BACK_S, f"the {role}'s end")
            stream.close()
            first.process.wait(10)
            with second:
                client = Client(second.port)
                self.assertEqual(client.completion("abc", temperature=0, max_tokens=8),
                                 wanted)
                self.assertEqual(len(shm_segments(second.instance)), 2)
                client.wait_idle()
        finally:
            first.discard()

    def test_everything_dies_at_once_and_the_next_start_reclaims(self):
        first = Service(model=LONG_MODEL)
        second = Service(model=LONG_MODEL, instance=first.instance, runtime_dir=first.home)
        try:
            for _ in range(2):
                first.start()
                next(Client(first.port).stream("/v1/completions",
                                               {"prompt": "abc", **LONG}))
                first.kill_all()
            with second:
                self.assertEqual(len(shm_segments(second.instance)), 2)
                Client(second.port).wait_idle()
        finally:
            first.discard()

    def test_a_stale_file_of_another_shape_is_replaced(self):
        """What lies under our name is empty, or garbage of the right size or of none."""
        for content in (b"", b"garbage" * 1000):
            service = Service(model=LONG_MODEL)
            for name in ("control", "kv"):
                with open(f"/dev/shm/ropeway-{service.instance}-{name}", "wb") as file:
                    os.fchmod(file.fileno(), 0o600)
                    file.write(content)
            with service:
                Client(service.port).wait_idle()


class Hangs(ServiceTest):
    model = LONG_MODEL
    options = ("--stall-timeout", "1")

    def health(self):
        return self.client.get("/health").status

    def test_health_tells_of_a_worker_that_hangs(self):
        stream = self.client.stream("/v1/completions", {"prompt": "abc", **LONG})
        next(stream)
        worker = self.service.pid_of("worker")
        os.kill(worker, signal.SIGSTOP)
        try:
            wait_until(lambda: self.health() == 503, BACK_S, "/health 503")
        finally:
            os.kill(worker, signal.SIGCONT)
        wait_until(lambda: self.health() == 200, BACK_S, "/health 200")
        self.assertEqual(Answer(stream).finish_reason, "length")

    def test_health_tells_of_a_scheduler_that_hangs(self):
        scheduler = self.service.pid_of("scheduler")
        os.kill(scheduler, signal.SIGSTOP)
        try:
            wait_until(lambda: self.health() == 503, BACK_S, "/health 503")
        finally:
            os.kill(scheduler, signal.SIGCONT)
        wait_until(lambda: self.health() == 200, BACK_S, "/health 200")
        self.assertEqual(self.client.complete("abc", max_tokens=1).status, 200)


if __name__ == "__main__":
    harness.main()
