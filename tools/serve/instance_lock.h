/* instance_lock.h - one `ropeway serve` a runtime directory. */
#ifndef ROPEWAY_TOOLS_SERVE_INSTANCE_LOCK_H
#define ROPEWAY_TOOLS_SERVE_INSTANCE_LOCK_H

#include "common/os/config.h"

/* Descriptors: closing one unlocks. `children` is inherited by every child, so that it is
 * locked for as long as any of them lives. */
struct instance_lock {
    int serve, children;
};

/* Locks <runtime dir>/serve.lock, and waits a moment for the children of a supervisor
 * that was killed, who are just dying with it: their sockets and segments are in use
 * until then. STATUS_CONFLICT tells that another supervisor lives. */
enum status instance_lock_take(const struct config *config, struct instance_lock *lock,
                               struct fault *fault);
void instance_lock_release(struct instance_lock *lock);

#endif
