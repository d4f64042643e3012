/* step_request.h - a request to the step scheduler, and which of its faults comes first.
 *
 * Layer:   scheduler/core (pure).
 * Source:  the course's step-driven scheduler: fields, defaults, sentences and their
 *          order are tested as it states them (tests/scheduler/course.json;
 *          docs/COURSE.md).
 */
#ifndef ROPEWAY_SCHEDULER_CORE_STEP_REQUEST_H
#define ROPEWAY_SCHEDULER_CORE_STEP_REQUEST_H

#include "common/base/span.h"
#include "common/base/status.h"
#include <stdint.h>

#define STEP_MAX_NEW_TOKENS_DEFAULT 32
#define STEP_ARRIVAL_STEP_DEFAULT   0

/* max_batch_size when none was given. */
#define STEP_BATCH_UNLIMITED INT64_MAX

/* Bounds of one run, which keeps every step: the course has none. A step number stays
 * exact as a double, which is how many programs read JSON. */
#define STEP_REQUESTS_MAX 16384
#define STEP_TOKENS_MAX   (1 << 20)
#define STEP_ARRIVAL_MAX  (INT64_C(1) << 53)

struct step_request {
    struct span request_id; /* both borrowed */
    struct span prompt;
    int64_t max_new_tokens;
    int64_t arrival_step;
};

/* The first fault in the course's order: max_batch_size, then request by request. *at is
 * the faulty request's index, or requests_count when it is no single request's. Bounds of
 * ours come after the course's checks. */
enum status step_requests_validate(const struct step_request *requests,
                                   uint32_t requests_count, int64_t max_batch_size,
                                   uint32_t *at, struct fault *fault);

#endif
