"""The real processes on loopback, for tests: starts `ropeway serve`, waits for it, ends it.

Every service has an instance name, a runtime directory and a port of its own, so that
tests neither meet one another nor a service that the machine runs already. A test never
sleeps: it waits for an event, or asks again until a deadline.

The environment, set by CMakeLists.txt: ROPEWAY_BUILD (where the executables are),
ROPEWAY_TINY_MODEL (the GGUF of fixed random weights made at build time).
"""

import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ROPEWAY_BUILD", os.path.join(ROOT, "build"))
TINY_MODEL = os.environ.get("ROPEWAY_TINY_MODEL", os.path.join(BUILD, "tiny.gguf"))
SHARED = os.environ.get("ROPEWAY_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))
ROPEWAY = os.path.join(BUILD, "ropeway")

SKIPPED = 77  # ctest's SKIP_RETURN_CODE of every file here
# A program under a sanitizer or on a busy machine is slower, never different.
START_S = 60
STOP_S = 40
POOL = "128MiB"  # a tiny model's token takes at most 1536 bytes: 21 contexts of 4096

ROLES = ("frontend", "scheduler", "worker")


def require(*modules):
    """Ends the file as skipped, with a sentence, where a package is missing."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"SKIPPED: the Python package {module} is not installed")
            sys.exit(SKIPPED)


def require_file(path, what):
    if not os.path.exists(path):
        print(f"SKIPPED: {what} is not at {path}")
        sys.exit(SKIPPED)


def main():
    """Runs the calling file's tests; skipped when every one of them was."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit(1)
    sys.exit(SKIPPED if len(result.skipped) == result.testsRun else 0)


def wait_until(condition, deadline_s, what):
    """The first true value of condition(); fails with `what` when the deadline passes."""
    end = time.monotonic() + deadline_s
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        pause.wait(0.01)


def new_instance():
    return "test-%d-%s" % (os.getpid(), os.urandom(3).hex())


def shm_segments(instance):
    return sorted(name for name in os.listdir("/dev/shm") if instance in name)


def is_alive(pid):
    """False once the process has ended; one that waits to be reaped has ended too."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid):
    """{role: pid} of a supervisor's children, by the names of their executables."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            if parent != pid or not is_alive(int(entry)):
                continue
            name = os.path.basename(os.readlink(f"/proc/{entry}/exe"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        role = name.removeprefix("ropeway-")
        if role in ROLES:
            found[role] = int(entry)
    return found


class Service:
    """One `ropeway serve`. `with Service(...) as service:` always ends it, and checks that
    it left nothing: no segment in /dev/shm, no socket, no child, exit code 0."""

    def __init__(self, *options, model=TINY_MODEL, environment=None, instance=None,
                 runtime_dir=None):
        self.options = list(options)
        self.model = model
        self.environment = environment or {}
        self.instance = instance or new_instance()
        self.home = runtime_dir or tempfile.mkdtemp(prefix="ropeway-test-")
        self.runtime_dir = os.path.join(self.home, "run")
        self.process = None
        self.port = None
        self.lines = []
        self._ready = threading.Event()
        self._ended = threading.Event()

    # Life

    def command(self):
        return [ROPEWAY, "serve", "--model", self.model, "--port", "0", "--instance",
                self.instance, "--runtime-dir", self.runtime_dir, *self.pool(),
                *self.options]

    def pool(self):
        """A small pool where the test asks for none: reserving the default's takes time."""
        if {"--num-blocks", "--kv-cache-memory"} & set(self.options):
            return []
        return ["--kv-cache-memory", POOL]

    def start(self):
        # New ones: the last process's reader may still come to its end.
        self._ready, self._ended = threading.Event(), threading.Event()
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("ROPEWAY_")}
        environment.update(self.environment)
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        threading.Thread(target=self._read, daemon=True,
                         args=(self.process, self._ready, self._ended)).start()
        wait_until(lambda: self._ready.is_set() or self._ended.is_set(), START_S,
                   "the line 'ready:' of serve\n" + self.log())
        if not self._ready.is_set():
            raise AssertionError("serve ended before it was ready\n" + self.log())
        with open(os.path.join(self.runtime_dir, "frontend.port")) as file:
            self.port = int(file.read())
        return self

    def _read(self, process, ready, ended):
        with process.stdout as lines:
            for line in lines:
                self.lines.append(line.decode("utf-8", "replace"))
                if self.lines[-1].startswith("ready:"):
                    ready.set()
        ended.set()

    def log(self):
        return "".join(self.lines[-60:])

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait(self, deadline_s=STOP_S):
        return self.process.wait(deadline_s)

    def stop(self, number=signal.SIGTERM):
        """Ends it in order; returns the exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.send_signal(number)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise AssertionError("serve did not end on a signal\n" + self.log()) from None

    def kill_all(self):
        """SIGKILL to the supervisor, then to what is left of its session."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(STOP_S)

    def left_behind(self):
        """What an ended service must not leave: its segments and its sockets."""
        left = ["/dev/shm/" + name for name in shm_segments(self.instance)]
        for folder, _, names in os.walk(self.runtime_dir):
            left += [os.path.join(folder, name) for name in names
                     if not name.endswith(".lock")]
        return left

    def discard(self):
        """Ends what runs and removes what a failed test left, whatever state it is in."""
        self.kill_all()
        for name in shm_segments(self.instance):
            os.unlink("/dev/shm/" + name)
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.discard()
            raise

    def __exit__(self, kind, value, traceback):
        try:
            code = self.stop()
            if kind is None:
                if code != 0:
                    raise AssertionError(f"serve ended with {code}\n{self.log()}")
                if self.left_behind():
                    raise AssertionError(f"left behind: {self.left_behind()}")
            else:
                print(self.log(), file=sys.stderr)
        finally:
            self.discard()
        return False

    # What runs

    def pid_of(self, role):
        """The pid of a child that lives, waited for while it is being restarted."""
        return wait_until(lambda: children_of(self.process.pid).get(role), START_S,
                          f"a living {role}")

    def kill(self, role):
        """kill -9 of one child; returns once it has ended."""
        pid = self.pid_of(role)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), STOP_S, f"the end of {role} {pid}")
        return pid


class ServiceTest(unittest.TestCase):
    """Tests that share one service, with `options` of the class."""

    options = ()
    model = TINY_MODEL
    environment = None

    @classmethod
    def setUpClass(cls):
        from client import Client
        cls.service = Service(*cls.options, model=cls.model, environment=cls.environment)
        cls.service.__enter__()
        cls.client = Client(cls.service.port)

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__(None, None, None)

    def run(self, result=None):
        """Shows what the service said last beside a failure."""
        failed_before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > failed_before:
            print(self.service.log(), file=sys.stderr)
