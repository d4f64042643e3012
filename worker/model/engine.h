/* engine.h - the forward pass of one model: runs a step of shared memory.
 *
 * Layer:   worker/model. Holds the mapped weights and scratch, and nothing that must
 *          survive: every output goes into KV rows and the step's results.
 * Bytes:   every row's result depends on that row's tokens and parameters alone, not on
 *          its batch mates, its place in the batch, the chunking or the threads.
 */
#ifndef ROPEWAY_WORKER_MODEL_ENGINE_H
#define ROPEWAY_WORKER_MODEL_ENGINE_H

#include "common/gguf/model_shape.h"
#include "proto/step.h"

struct engine;

struct engine_options {
    const char *model_path;
    uint32_t threads_count;
    uint32_t step_rows_max;
    uint32_t step_sequences_max;
    uint32_t context_length; /* most tokens of a sequence: sizes the scratch */
};

/* Maps, checks and prepares the model; slot-tests every matrix shape used. */
enum status engine_open(struct engine **engine, const struct engine_options *options,
                        struct fault *fault);
void engine_close(struct engine *engine);

const struct model_shape *engine_shape(const struct engine *engine);
/* "general (avx2, OpenBLAS Haswell)" */
const char *engine_kernels(const struct engine *engine);

/* Runs the step: writes KV rows into kv (geometry of control->header) and the step's
 * result arrays and times, but not its done word. previous are the results that
 * ROW_TOKEN_RESULT rows name, or NULL. Allocates nothing. */
void engine_run(struct engine *engine, const struct control *control, void *kv,
                const struct step_view *step, const struct step_view *previous);

/* One row's raw logits [vocabulary], until the visit returns. */
typedef void engine_visit_logits(void *context, uint32_t row, const float *logits);

/* For perplexity and golden tests: visits the logits of each row, in ascending order, of
 * tokens at positions 0..rows_count-1 of one sequence from an empty cache, in fp32 KV of
 * the engine's own, which the first call allocates. rows_count is at most step_rows_max;
 * tokens are below the vocabulary's count. */
enum status engine_logits(struct engine *engine, const uint32_t *tokens,
                          uint32_t rows_count, engine_visit_logits *visit, void *context,
                          struct fault *fault);

#endif
