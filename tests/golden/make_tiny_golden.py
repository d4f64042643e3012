#!/usr/bin/env python3
"""Writes the greedy runs of a tiny model by reference.py, the independent fp32 forward.

    python3 make_tiny_golden.py FOLDER_OF_REFERENCE_PY MODEL > greedy_tiny.jsonl

The lines are those of greedy_smollm2.jsonl without the text. Prompts are random ids of lengths
about block and chunk borders. Run by hand when the tiny model's bytes change; the results are
committed.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import reference  # noqa: E402

LENGTHS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200, 440]
NEW, TOP_STEPS = 32, 8

model = reference.Model(sys.argv[2])
rng = np.random.default_rng(7)
for length in LENGTHS:
    ids = [int(i) for i in rng.integers(3, len(model.tokens), length)]
    tokens, tops = model.generate(ids, NEW, stop=False)
    run = {"prompt_ids": ids, "n": NEW, "tokens": tokens,
           "margins": [round(t[0][1] - t[1][1], 5) for t in tops],
           "top": [[[i, round(p, 5)] for i, p in t] for t in tops[:TOP_STEPS]]}
    print(json.dumps(run, separators=(",", ":")))
