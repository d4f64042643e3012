"""What tests may rely on of the tiny model of tools/make_tiny_gguf."""

CONTEXT = 1024  # its context is at least this


def ids(count, first=20):
    """A prompt of so many tokens; ids below 100 are in its vocabulary."""
    return [first + number % 60 for number in range(count)]
