#!/usr/bin/env python3
"""Asks ropeway over nng: the same fields as over HTTP, in msgpack instead of JSON.

    python3 -m venv .venv && .venv/bin/pip install pynng msgpack
    .venv/bin/python examples/nng_client.py chat "Who are you?"
    .venv/bin/python examples/nng_client.py completion "The capital of France is"
    .venv/bin/python examples/nng_client.py --url tcp://127.0.0.1:9000 models

A request is one msgpack map: `op` ("chat", "completion", "models" or "status") and the
fields of the HTTP body. The reply is one map, the HTTP answer's body; one that carries
`error` says what was wrong. There is one reply a request, so streaming is HTTP's alone.
"""

import argparse
import os
import sys

try:
    import msgpack
    import pynng
except ImportError as missing:
    sys.exit(f"nng_client: the Python package {missing.name} is missing: pip install pynng "
             "msgpack, in a virtual environment")


class RopewayError(Exception):
    """The server refused: `error` holds message, type, param and code."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = error


class Client:
    """One question at a time; threads take a client each. Use it as a context manager."""

    def __init__(self, url, timeout_s=600):
        self.socket = pynng.Req0(recv_timeout=int(timeout_s * 1000))
        # nng would send a question again when no answer came within a minute; a model may
        # well need longer, and would then answer twice.
        self.socket.resend_time = -1
        self.socket.dial(url, block=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def ask(self, op, **fields):
        self.socket.send(msgpack.packb({"op": op, **fields}))
        reply = msgpack.unpackb(self.socket.recv())
        if "error" in reply:
            raise RopewayError(reply["error"])
        return reply

    def chat(self, messages, **parameters):
        return self.ask("chat", messages=messages, **parameters)

    def completion(self, prompt, **parameters):
        return self.ask("completion", prompt=prompt, **parameters)

    def models(self):
        return self.ask("models")

    def status(self):
        return self.ask("status")


def default_url():
    """Where a server without --instance and --runtime-dir listens."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = f"{base}/ropeway-default" if base else f"/tmp/ropeway-{os.getuid()}-default"
    return f"ipc://{folder}/frontend.ipc"


def parameters_of(arguments):
    names = ("max_tokens", "temperature", "seed")
    given = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def answer(client, arguments):
    """What the command line asked for, as text."""
    parameters = parameters_of(arguments)
    if arguments.op == "chat":
        messages = [{"role": "user", "content": arguments.text}]
        reply = client.chat(messages, **parameters)
        return reply["choices"][0]["message"]["content"]
    if arguments.op == "completion":
        return client.completion(arguments.text, **parameters)["choices"][0]["text"]
    if arguments.op == "models":
        return "\n".join(model["id"] for model in client.models()["data"])
    return "\n".join(f"{name}: {value}" for name, value in client.status().items())


def main():
    parser = argparse.ArgumentParser(description="Asks ropeway over nng.")
    parser.add_argument("--url", default=default_url(),
                        help="ipc://RUNTIME_DIR/frontend.ipc or tcp://HOST:PORT "
                             "(%(default)s)")
    parser.add_argument("op", choices=("chat", "completion", "models", "status"))
    parser.add_argument("text", nargs="?", default="", help="the message or the prompt")
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    try:
        with Client(arguments.url) as client:
            print(answer(client, arguments))
    except RopewayError as error:
        print(f"nng_client: {error}", file=sys.stderr)
        return 1
    except pynng.exceptions.NNGException as error:
        print(f"nng_client: {arguments.url}: {error}; does a server run there? --url names "
              "another", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
