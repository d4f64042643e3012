/* activations.h - what the forward pass writes between its products, taken once.
 *
 * Layer:   worker/model. Every row array has room for matmul_padded_rows of its rows.
 */
#ifndef ROPEWAY_WORKER_MODEL_ACTIVATIONS_H
#define ROPEWAY_WORKER_MODEL_ACTIVATIONS_H

#include "worker/model/model.h"

/* Sampled rows whose logits are held at once: bounds memory at large vocabularies. */
#define LOGIT_ROWS_MAX 32

struct activations {
    float *hidden;    /* [rows][embedding_length]: the residual stream */
    float *normed;    /* [rows][embedding_length]: what a product reads */
    float *added;     /* [rows][embedding_length]: what attention or feed-forward adds */
    float *queries;   /* [rows][query heads * key_length] */
    float *keys;      /* [rows][kv heads * key_length] */
    float *values;    /* [rows][kv heads * key_length] */
    float *attended;  /* [rows][query heads * key_length] */
    float *gate, *up; /* [rows][feed_forward_length] */
    float *cosines, *sines; /* [rows][rotations][pairs]: the same for every layer */
    float *sampled;         /* [LOGIT_ROWS_MAX][embedding_length] */
    float *logits;          /* [LOGIT_ROWS_MAX][vocabulary] */
    float *attention_scratch;
    size_t attention_scratch_floats; /* of one thread */
    void *memory;
};

enum status activations_init(struct activations *activations, const struct model *model,
                             uint32_t rows_max, uint32_t logit_rows_max,
                             uint32_t context_length, uint32_t threads_count,
                             struct fault *fault);
void activations_fini(struct activations *activations);

#endif
