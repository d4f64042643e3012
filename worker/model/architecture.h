/* architecture.h - what tells one transformer family from another, as data.
 *
 * Layer:   worker/model (pure). One row a family; the forward pass reads the row and has
 *          no family's name in it. What a file may change by itself (biases, tied
 *          embeddings, softcaps, scaling of rotations, head lengths) is read from the
 *          file for every family and stands in no row.
 */
#ifndef ROPEWAY_WORKER_MODEL_ARCHITECTURE_H
#define ROPEWAY_WORKER_MODEL_ARCHITECTURE_H

#include "common/base/span.h"
#include "worker/math/rope.h"
#include <stdbool.h>

enum activation { ACTIVATION_SILU, ACTIVATION_GELU_TANH };

struct architecture {
    const char *name; /* general.architecture */
    enum rope_style rope_style;
    enum activation activation;
    bool head_norms;       /* RMS norm of each query and key head before rotation */
    bool post_norms;       /* RMS norm of what attention and feed-forward add */
    bool scaled_embedding; /* embeddings times sqrt(embedding length) */
    /* 0: every layer attends to all positions. n: every n-th does, the others to
     * attention.sliding_window, with a rotation base of their own. */
    uint32_t global_layer_period;
    /* Attention scores are divided by the root of a head's length, but in a model of so
     * many layers by that of the embedding's share of a head. 0: in none. */
    uint32_t embedding_scale_layers_count;
};

/* NULL for a family that we do not know. */
const struct architecture *architecture_find(struct span name);

/* For names_join. */
const char *architecture_name_at(size_t index);

#endif
