/* forward.h - a batch of rows through every layer, into KV rows and hidden states.
 *
 * Layer:   worker/model. One path for every architecture: it reads the model's row.
 * Bytes:   a row's hidden state depends on its token, its position and the K and V rows
 *          that it sees; see matmul.h and attention.h for why.
 */
#ifndef ROPEWAY_WORKER_MODEL_FORWARD_H
#define ROPEWAY_WORKER_MODEL_FORWARD_H

#include "worker/model/activations.h"
#include "worker/model/kv_view.h"

/* Neighbouring rows of one sequence, in a form that threads take as one piece of work. */
struct row_tile {
    uint32_t sequence;
    uint32_t row;      /* first */
    uint32_t position; /* of the first */
    uint32_t rows_count;
};

/* Parallel arrays, filled by the engine. */
struct batch {
    uint32_t rows_count;
    uint32_t *row_token;
    uint32_t *row_position;
    uint32_t *row_sequence;
    uint32_t sequences_count;
    struct kv_view *sequence_view;
    uint32_t tiles_count;
    struct row_tile *tiles; /* of at most ATTENTION_ROWS_MAX rows; cover all rows */
};

struct forward {
    const struct model *model;
    struct team *team;
    struct matmul *matmul;
    struct activations activations;
    uint32_t context_length;
    uint64_t matmul_ns, attention_ns; /* grow; the engine reads and clears them */

    /* The batch and layer in hand. */
    const struct batch *batch;
    const struct layer *layer;
    uint32_t layer_index;
};

/* Tokens must be below the vocabulary's count, positions below the context length. */
void forward_run(struct forward *forward, const struct batch *batch);

/* Raw logits of rows_count <= LOGIT_ROWS_MAX rows of the batch run last, named by rows:
 * into activations.logits, [rows_count][vocabulary]. */
void forward_logits(struct forward *forward, const uint32_t *rows, uint32_t rows_count);

#endif
