"""A scheduler and its workers without a frontend, and a client that speaks their protocol
(docs/PROTOCOL.md): what each token's way looks like when nothing hides it."""

import os
import shutil
import struct
import subprocess
import tempfile

import msgpack
import pynng

from harness import BUILD, is_alive, new_instance, shm_segments, wait_until
from tiny import LONG_MODEL

ANSWER_MS = 30000
START_S = 60
DONE = 4  # enum request_state
STOP, LENGTH, CANCELLED, TIMED_OUT, FAILED = range(1, 6)  # enum finish_reason


class Instance:
    """Ends what it started, and removes what a kill left."""

    def __init__(self, *options):
        self.options = list(options)
        self.instance = new_instance()
        self.home = tempfile.mkdtemp(prefix="ropeway-test-")
        os.chmod(self.home, 0o700)
        self.url = f"ipc://{self.home}/scheduler.ipc"
        self.started = []
        self.log = open(os.path.join(self.home, "log"), "ab")

    def start(self, program, *options):
        process = subprocess.Popen(
            [os.path.join(BUILD, "ropeway-" + program), "--model", LONG_MODEL,
             "--instance", self.instance, "--runtime-dir", self.home, *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.started.append(process)
        return process

    def start_scheduler(self):
        return self.start("scheduler", *self.options)

    def start_worker(self):
        return self.start("worker", "--threads", "1")

    def __enter__(self):
        self.scheduler = self.start_scheduler()
        self.worker = self.start_worker()
        return self

    def __exit__(self, kind, value, traceback):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.log.close()
        if kind is not None:
            with open(self.log.name) as log:
                print(log.read()[-4000:])
        for name in shm_segments(self.instance):
            os.unlink("/dev/shm/" + name)
        shutil.rmtree(self.home, ignore_errors=True)

    def kill(self, process):
        process.kill()
        process.wait()
        assert not is_alive(process.pid)


class Frontend:
    """Counts its polls and keeps what it was told, each token once."""

    def __init__(self, instance, identity):
        self.identity = identity
        self.number = 0
        self.tokens = {}
        self.ends = {}
        self.overlaps = 0
        self.socket = pynng.Req0(dial=instance.url, block_on_dial=False,
                                 recv_timeout=ANSWER_MS, send_timeout=ANSWER_MS)

    def call(self, op, **fields):
        self.socket.send(msgpack.packb({"op": op, **fields}))
        return msgpack.unpackb(self.socket.recv())

    def submit(self, id, prompt, max_tokens, seed=7, **fields):
        message = dict(
            frontend=self.identity, id=id, choice=0, body_digest=b"d" * 32,
            temperature=1.0, top_p=1.0, min_p=0.0, repetition_penalty=1.0,
            presence_penalty=0.0, frequency_penalty=0.0, top_k=0, min_tokens=0,
            ignore_end=1, logprobs=0, top_logprobs=0, max_tokens=max_tokens, seed=seed,
            prompt_tokens=struct.pack("<%dI" % len(prompt), *prompt))
        message.update(fields)
        reply = self.call("submit", **message)
        if reply["status"] == "ok":
            self.tokens.setdefault(id, [])
        return reply

    def poll(self, again=False, hold_ms=2000, cursors=None):
        """again: the number of the poll before, as if its reply had been lost."""
        self.number += not again
        fields = {"cursors": cursors} if cursors is not None else {}
        return self.call("poll", frontend=self.identity, number=self.number,
                         hold_ms=hold_ms, **fields)

    def take(self, reply):
        for event in reply.get("events", []):
            told = event.get("tokens", b"")
            tokens = struct.unpack("<%dI" % (len(told) // 4), told)
            have = self.tokens[event["id"]]
            assert event["from"] <= len(have), "a gap"
            assert event["id"] not in self.ends or not tokens, "a token after the end"
            self.overlaps += event["from"] < len(have)
            have.extend(tokens[len(have) - event["from"]:])
            if event["state"] == DONE:
                self.ends[event["id"]] = event["finish_reason"]

    def collect(self, ids, on_poll=lambda: None):
        while not all(id in self.ends for id in ids):
            self.take(self.poll())
            on_poll()
        return [self.tokens[id] for id in ids]

    def cancel(self, id, reason=CANCELLED):
        return self.call("cancel", frontend=self.identity, id=id, choice=0,
                         finish_reason=reason)

    def status(self):
        return self.call("status", counters=True)

    def wait_status(self, what, condition):
        return wait_until(lambda: condition(self.status()), START_S, what)
