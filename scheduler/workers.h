/* workers.h - the worker processes that are attached: identity, life and the step in
 * flight at each.
 *
 * Fencing: a worker is dead only when its pidfd says so. Until then its step is nobody
 *          else's, and the step's blocks are given to nobody.
 * Thread:  the scheduler's only thread.
 */
#ifndef ROPEWAY_SCHEDULER_WORKERS_H
#define ROPEWAY_SCHEDULER_WORKERS_H

#include "scheduler/core/scheduler.h"

struct workers;

/* Both are borrowed; instance names the segments to the workers. NULL when memory is out.
 */
struct workers *workers_create(const struct control *control, struct scheduler *scheduler,
                               const char *instance);
void workers_destroy(struct workers *workers);

/* Gives the worker a place, or the one that it has already; the reply's spans stand until
 * the next call. */
void workers_attach(struct workers *workers, const struct attach_request *request,
                    uint64_t now_ns, struct attach_reply *reply);
/* STATUS_CONFLICT: not attached in this generation. */
enum status workers_beat(const struct workers *workers,
                         const struct beat_request *request);

/* Lets go of those that have died; what they had in flight is settled or runs again. */
void workers_reap(struct workers *workers, uint64_t now_ns);

/* Settles the steps that are done, gives idle workers their next and rings them. */
void workers_drive(struct workers *workers, uint64_t now_ns);

uint32_t workers_count(const struct workers *workers);
uint64_t workers_died_total(const struct workers *workers);

/* How long nothing was settled though something is in flight; 0 when nothing is. */
uint64_t workers_stalled_ns(const struct workers *workers, uint64_t now_ns);

#endif
