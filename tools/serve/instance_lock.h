/* instance_lock.h - one `ropeway serve` a runtime directory. */
#ifndef ROPEWAY_TOOLS_SERVE_INSTANCE_LOCK_H
#define ROPEWAY_TOOLS_SERVE_INSTANCE_LOCK_H

#include "common/os/config.h"

/* Locks <runtime dir>/serve.lock and waits a moment for a scheduler that is just dying
 * with its supervisor. *lock is a descriptor: closing it unlocks. STATUS_CONFLICT names
 * who holds it. */
enum status instance_lock_take(const struct config *config, int *lock,
                               struct fault *fault);

#endif
