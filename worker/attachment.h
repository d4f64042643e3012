/* attachment.h - a worker's place at a scheduler: the slot it was given, and both
 * segments.
 *
 * The worker says who it is over nng; the reply names the segments, which are mapped and
 * checked against the engine before any step is run. From then on the steps themselves
 * lie in shared memory, and nng carries a beat a second.
 */
#ifndef ROPEWAY_WORKER_ATTACHMENT_H
#define ROPEWAY_WORKER_ATTACHMENT_H

#include "common/os/link.h"
#include "common/os/shm_region.h"
#include "worker/model/engine.h"

struct attachment {
    struct shm_region control_region;
    struct shm_region kv_region;
    struct control control;
    uint32_t worker;
    uint32_t generation;
    int scheduler; /* pidfd of the segments' owner; -1 where none is open */
};

/* One try. STATUS_UNAVAILABLE and STATUS_TIMEOUT: nobody answers, try again; other errors
 * are the scheduler's refusal or segments that do not fit the engine's options. */
enum status attachment_open(struct attachment *attachment, struct link_client *link,
                            const struct engine *engine,
                            const struct engine_options *options, struct fault *fault);
void attachment_close(struct attachment *attachment);

/* False once the scheduler that owns the segments has ended. Does not wait. A worker then
 * lets go of them, so that the next scheduler finds their memory free. */
bool attachment_scheduler_lives(const struct attachment *attachment);

/* STATUS_OK, or STATUS_CONFLICT when the scheduler does not know us any more; no answer
 * is no reason to leave while it lives. */
enum status attachment_beat(const struct attachment *attachment,
                            struct link_client *link);

#endif
