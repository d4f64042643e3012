"""What tests may rely on of the tiny models that tools/make_tiny_model makes."""

import os

from harness import BUILD

# The same weights with a longer context: a generation that lasts long enough to be
# interrupted in its middle.
SPM_MODEL = os.path.join(BUILD, "tiny-spm.gguf")  # another tokenizer, tied embeddings
LONG_MODEL = os.path.join(BUILD, "tiny-long.gguf")
LONG_CONTEXT = 4096


def ids(count, first=20):
    """A prompt of so many tokens; ids from 3 to 258 are single bytes."""
    return [first + number % 60 for number in range(count)]
