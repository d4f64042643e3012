/* step_queue.h - which of the posted steps a worker runs next.
 *
 * Layer:   worker (pure: reads shared memory that the caller mapped).
 */
#ifndef ROPEWAY_WORKER_STEP_QUEUE_H
#define ROPEWAY_WORKER_STEP_QUEUE_H

#include "proto/step.h"

#define STEP_SLOT_NONE UINT32_MAX

/* The slot of the lowest-numbered step that is posted to worker in generation and not
 * done, or STEP_SLOT_NONE. Steps of another generation are a former scheduler's. */
uint32_t step_queue_next(const struct control *control, uint32_t worker,
                         uint32_t generation);

/* Publishes the results of the step in slot: its done word, after all that it speaks of.
 */
void step_queue_finish(const struct control *control, uint32_t slot);

#endif
