/* derived.h - all that follows from the records and steps: queues, free lists, indexes.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Why:     an adopting scheduler builds this from shared memory alone, and so does every
 *          check: what production keeps up to date must equal what is built anew. So the
 *          layout is proven to hold all that a successor needs.
 * Order:   waiting: the policy's; done: by the time of the end; idle blocks: by the time
 *          of their release; running: by turns, which a successor may begin anew.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_DERIVED_H
#define ROPEWAY_SCHEDULER_CORE_DERIVED_H

#include "proto/step.h"
#include "scheduler/core/block_pool.h"
#include "scheduler/core/heap_pages.h"
#include "scheduler/core/policy.h"
#include "scheduler/core/prefix_cache.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/record_index.h"

#define STEP_NONE UINT32_MAX

struct derived {
    const struct control *control;
    const struct policy *policy;
    struct queue_node *nodes; /* a record is in exactly one of these four */
    struct queue free, waiting, running, done;
    struct block_pool *blocks;
    struct prefix_cache *cache;
    struct heap_pages *heap;
    struct record_index *index;
    uint32_t *record_step; /* slot of the step in flight with record, or STEP_NONE */
    uint32_t *worker_step; /* slot of the step in flight at worker, or STEP_NONE */
    uint64_t next_submit_number;
    uint64_t next_step_number;
};

/* Empty until derived_rebuild. NULL when memory is out. */
struct derived *derived_create(const struct control *control, const struct policy *policy,
                               uint64_t secret);
void derived_destroy(struct derived *derived);

/* Reads everything from the segment, every index checked before it is used:
 * STATUS_CORRUPT names the record or step and what is wrong with it. */
enum status derived_rebuild(struct derived *derived, struct fault *fault);

/* STATUS_CORRUPT names the first difference of what was kept from what was built anew. */
enum status derived_compare(const struct derived *kept, const struct derived *rebuilt,
                            struct fault *fault);

/* The waiting queue's order, for queue_insert. context is a struct derived. */
bool derived_waits_before(const void *context, uint32_t a, uint32_t b);

#endif
