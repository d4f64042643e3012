"""Frontend, scheduler and worker speak: every token once, whatever is lost or killed."""

import random
import signal
import unittest

import harness

harness.require("pynng", "msgpack")

from harness import shm_segments
from scheduler_client import CANCELLED, FAILED, LENGTH, STOP, Frontend, Instance
from tiny import ids

TOKENS = 300
LENGTHS = (1, 15, 16, 17, 31, 32, 33, 200)
POOL = ("--num-blocks", "300")


def submit_all(frontend, prefix, tokens=TOKENS):
    names = [f"{prefix}{length}" for length in LENGTHS]
    for name, length in zip(names, LENGTHS):
        assert frontend.submit(name, ids(length), tokens)["status"] == "ok"
    return names


def alone(frontend, tokens=TOKENS):
    answers = []
    for length in LENGTHS:
        frontend.submit(f"alone{length}", ids(length), tokens)
        answers += frontend.collect([f"alone{length}"])
    return answers


def mapped_segments(process, instance):
    with open(f"/proc/{process.pid}/maps") as maps:
        return [line for line in maps if f"ropeway-{instance.instance}-" in line]


class Tokens(unittest.TestCase):
    def test_a_lost_reply_is_told_again_and_every_token_is_taken_once(self):
        with Instance(*POOL) as instance:
            frontend, losing = Frontend(instance, 1), Frontend(instance, 2)
            wanted = alone(frontend)
            names = submit_all(losing, "lost")
            chance = random.Random(1)
            while not all(name in losing.ends for name in names):
                reply = losing.poll()
                while chance.random() < 0.4:
                    reply = losing.poll(again=True)
                losing.take(reply)
            self.assertEqual([losing.tokens[name] for name in names], wanted)
            self.assertEqual({losing.ends[name] for name in names}, {LENGTH})

    def test_a_killed_worker_changes_no_token(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            wanted = alone(frontend)
            names = submit_all(frontend, "killed")
            polls = 0

            def kill_some():
                nonlocal polls
                polls += 1
                if polls in (5, 60, 120):
                    instance.kill(instance.worker)
                    instance.worker = instance.start_worker()

            self.assertEqual(frontend.collect(names, kill_some), wanted)
            status = frontend.status()
            self.assertEqual(status["worker_restarts_total"], 3)
            self.assertEqual(status["failed_total"], 0)
            self.assertEqual(status["blocks_free_count"], status["blocks_count"])

    def test_another_frontend_takes_over_where_the_first_stood(self):
        with Instance(*POOL) as instance:
            first, second = Frontend(instance, 1), Frontend(instance, 2)
            wanted = alone(first)[-1]
            first.submit("moved", ids(LENGTHS[-1]), TOKENS)
            while len(first.tokens["moved"]) < 10:
                first.take(first.poll())
            second.tokens["moved"] = first.tokens["moved"][:4]
            second.take(second.poll(
                cursors=[{"id": "moved", "choice": 0, "tokens_count": 4}]))
            self.assertEqual(second.collect(["moved"]), [wanted])

    def test_the_same_submit_is_the_same_request(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            for _ in range(3):
                self.assertEqual(frontend.submit("one", ids(5), 8)["status"], "ok")
            frontend.collect(["one"])
            self.assertEqual(frontend.submit("one", ids(5), 8)["status"], "ok")
            other = frontend.submit("one", ids(5), 8, body_digest=b"e" * 32)
            self.assertEqual(other["status"], "conflict")
            self.assertEqual(frontend.status()["finished_length_total"], 1)


class Cancelling(unittest.TestCase):
    def test_a_frozen_worker_keeps_its_blocks_and_a_cancel_is_answered(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            frontend.submit("frozen", ids(200), 2000)
            frontend.take(frontend.poll())
            instance.worker.send_signal(signal.SIGSTOP)
            frontend.wait_status("a step that does not end",
                                 lambda status: status["heartbeat_age_ns"] > 300_000_000)
            self.assertTrue(frontend.cancel("frozen")["found"])
            status = frontend.status()
            self.assertEqual(status["running_count"], 1)
            self.assertLess(status["blocks_free_count"], status["blocks_count"])
            told = len(frontend.tokens["frozen"])
            instance.worker.send_signal(signal.SIGCONT)
            frontend.collect(["frozen"])
            self.assertEqual(frontend.ends["frozen"], CANCELLED)
            self.assertEqual(len(frontend.tokens["frozen"]), told)
            frontend.wait_status(
                "the blocks' return",
                lambda now: now["blocks_free_count"] == now["blocks_count"])

    def test_a_stop_string_and_a_queued_request(self):
        with Instance(*POOL, "--max-num-seqs", "1") as instance:
            frontend = Frontend(instance, 1)
            frontend.submit("running", ids(20), 2000)
            frontend.submit("queued", ids(20), 2000)
            frontend.take(frontend.poll())
            self.assertTrue(frontend.cancel("queued")["found"])
            self.assertTrue(frontend.cancel("running", STOP)["found"])
            self.assertFalse(frontend.cancel("unknown")["found"])
            frontend.collect(["running", "queued"])
            self.assertEqual(frontend.ends, {"running": STOP, "queued": CANCELLED})
            status = frontend.status()
            self.assertEqual((status["finished_stop_total"], status["aborted_total"]),
                             (1, 1))


class Life(unittest.TestCase):
    def test_a_killed_scheduler_tells_what_is_lost_and_serves_on(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            frontend.submit("before", ids(20), 50)
            wanted = frontend.collect(["before"])
            frontend.submit("lost", ids(20), 3000)
            frontend.take(frontend.poll())
            instance.kill(instance.scheduler)
            instance.scheduler = instance.start_scheduler()
            frontend = Frontend(instance, 1)
            frontend.number = 2
            self.assertEqual(frontend.poll()["status"], "not_found")
            frontend.tokens["lost"] = [0] * 9
            frontend.take(frontend.poll(
                cursors=[{"id": "lost", "choice": 0, "tokens_count": 9}]))
            self.assertEqual(frontend.ends, {"lost": FAILED})
            self.assertEqual(frontend.status()["generation"], 2)
            self.assertEqual(len(shm_segments(instance.instance)), 2)
            frontend.submit("after", ids(20), 50)
            self.assertEqual(frontend.collect(["after"]), wanted)

    def test_only_one_scheduler_serves_an_instance(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            generation = frontend.status()["generation"]
            self.assertEqual(instance.start_scheduler().wait(harness.START_S), 1)
            self.assertEqual(frontend.status()["generation"], generation)

    def test_a_term_signal_keeps_the_segments_for_a_successor(self):
        with Instance(*POOL) as instance:
            Frontend(instance, 1).status()
            instance.scheduler.terminate()
            self.assertEqual(instance.scheduler.wait(harness.STOP_S), 0)
            self.assertEqual(len(shm_segments(instance.instance)), 2)

    def test_a_drain_waits_for_what_runs_and_lets_nothing_new_in(self):
        with Instance(*POOL) as instance:
            frontend, supervisor = Frontend(instance, 1), Frontend(instance, 2)
            frontend.wait_status("the worker", lambda now: now["workers_count"] == 1)
            instance.worker.send_signal(signal.SIGSTOP)
            frontend.submit("last", ids(20), 500)
            self.assertEqual(supervisor.call("drain", timeout_ms=0)["left_count"], 1)
            self.assertEqual(frontend.submit("late", ids(20), 5)["status"], "unavailable")
            instance.worker.send_signal(signal.SIGCONT)
            reply = supervisor.call("drain", timeout_ms=25000)
            self.assertEqual(reply["left_count"], 0)
            frontend.collect(["last"])
            self.assertEqual(len(frontend.tokens["last"]), 500)

    def test_without_a_worker_requests_wait(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            frontend.wait_status("the worker", lambda now: now["workers_count"] == 1)
            instance.kill(instance.worker)
            frontend.wait_status("its end", lambda now: now["workers_count"] == 0)
            frontend.submit("waits", ids(20), 5)
            self.assertEqual(frontend.status()["waiting_count"], 1)
            instance.worker = instance.start_worker()
            frontend.collect(["waits"])

    def test_a_worker_lets_go_of_a_dead_schedulers_memory_and_attaches_to_the_next(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            frontend.wait_status("the worker", lambda now: now["workers_count"] == 1)
            self.assertEqual(len(mapped_segments(instance.worker, instance)), 2)
            instance.kill(instance.scheduler)
            harness.wait_until(
                lambda: not mapped_segments(instance.worker, instance),
                harness.START_S, "a worker without segments")
            instance.scheduler = instance.start_scheduler()
            frontend.wait_status("the worker", lambda now: now["workers_count"] == 1)

    def test_a_worker_without_room_for_the_schedulers_steps_says_so_and_ends(self):
        with Instance(*POOL) as instance:
            Frontend(instance, 1).status()
            small = instance.start("worker", "--threads", "1", "--max-num-seqs", "2")
            self.assertEqual(small.wait(harness.START_S), 2)
            with open(instance.log.name) as log:
                self.assertIn("give both the same options", log.read())

    def test_a_worker_without_a_scheduler_ends_on_a_term_signal(self):
        with Instance(*POOL) as instance:
            frontend = Frontend(instance, 1)
            frontend.wait_status("the worker", lambda now: now["workers_count"] == 1)
            instance.kill(instance.scheduler)
            instance.worker.terminate()
            self.assertEqual(instance.worker.wait(harness.STOP_S), 0)


if __name__ == "__main__":
    harness.main()
