/* kv_region.h - the pair of shared memory segments of an instance, and the lock on them.
 *
 * Lock:    <runtime dir>/scheduler.lock, flock'd for as long as its scheduler lives, with
 *          its pid inside for people. Segments whose lock is free are stale: their owner
 *          is dead, and they are reclaimed. Names are fixed by the instance, so a crash
 *          leaves at most what the next start reuses.
 * Owner:   kv_region_close unmaps and unlocks, and keeps the segments.
 */
#ifndef ROPEWAY_SCHEDULER_KV_REGION_H
#define ROPEWAY_SCHEDULER_KV_REGION_H

#include "common/os/config.h"
#include "common/os/shm_region.h"
#include "proto/kv_layout.h"
#include <stdbool.h>

struct kv_region {
    struct shm_region control_region;
    struct shm_region blocks_region;
    struct control control;
    int lock; /* the locked file's descriptor */
};

/* Takes the lock, reclaims a stale pair, makes both segments and stamps the caller as
 * their owner, in a generation after the stale pair's. STATUS_CONFLICT: another scheduler
 * of this instance lives, or the segments are another user's. */
enum status kv_region_open(struct kv_region *region, const struct config *config,
                           const struct geometry *geometry, struct fault *fault);
void kv_region_close(struct kv_region *region);

/* Removes both segments' names: for the end of `ropeway serve`, after the scheduler's. */
void instance_segments_unlink(const char *instance);

/* The same, unless a scheduler that lives owns them: then false and nothing is done. */
bool instance_segments_reclaim(const char *instance);

#endif
