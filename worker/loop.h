/* loop.h - runs the steps that the scheduler posts, one after another. */
#ifndef ROPEWAY_WORKER_LOOP_H
#define ROPEWAY_WORKER_LOOP_H

#include "worker/attendant.h"

/* Until the attendant says stop or lost; the step in flight is finished first. */
void loop_run(const struct attachment *attachment, struct engine *engine,
              const struct attendant *attendant);

#endif
