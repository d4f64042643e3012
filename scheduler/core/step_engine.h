/* step_engine.h - the course's engine loop over the step scheduler.
 *
 * Layer:   scheduler/core (pure: the forward pass, and with it time, is a parameter).
 * Loop:    when nothing runs, step = max(step, next_arrival_step); admit; one forward
 *          over all that run; one token each; EOS or max_new_tokens finishes; step += 1.
 * Time:    a forward's elapsed seconds are charged whole to every request in it. The
 *          first token comes in the step of the admission, which reads the prompt.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_STEP_ENGINE_H
#define ROPEWAY_SCHEDULER_CORE_STEP_ENGINE_H

#include "scheduler/core/step_scheduler.h"

/* The token that a request gets in this step. */
struct step_token {
    uint32_t request;
    uint32_t number; /* its first is 1 */
    bool is_eos;     /* the forward says; false before */
};

/* Computes the next token of each, in elapsed_seconds all together. */
typedef enum status step_forward(void *context, struct step_token *tokens, uint32_t count,
                                 double *elapsed_seconds, struct fault *fault);

struct step_result {
    uint32_t generated_tokens; /* with EOS */
    double ttft_seconds;       /* from admission to the first token */
    double prefill_seconds;    /* of the first token's step */
    double decode_seconds;     /* of all later ones */
};

/* Runs a scheduler that has just been created to its end. Refuses an empty list. results
 * has an element for each request. */
enum status step_engine_run(struct step_scheduler *scheduler, step_forward *forward,
                            void *context, struct step_result *results,
                            double *total_seconds, struct fault *fault);

#endif
