#include "worker/loop.h"

#include "common/os/futex.h"
#include "worker/step_queue.h"

static void run_step(const struct attachment *attachment, struct engine *engine,
                     uint32_t slot)
{
    const struct control *control = &attachment->control;
    const struct step_view view = step_at(control, slot);
    /* One step of a worker is in flight at a time, so none of its rows names a result of
     * the step before. */
    engine_run(engine, control, attachment->kv_region.base, &view, NULL);
    step_queue_finish(control, slot);
    futex_ring(&control->header->scheduler_bell);
}

void loop_run(const struct attachment *attachment, struct engine *engine,
              const struct attendant *attendant)
{
    _Atomic uint32_t *bell = &attachment->control.workers[attachment->worker].bell;
    while (!attendant->stop && !attendant->lost) {
        uint32_t seen = *bell;
        uint32_t slot = step_queue_next(&attachment->control, attachment->worker,
                                        attachment->generation);
        if (slot != STEP_SLOT_NONE)
            run_step(attachment, engine, slot);
        else if (!attendant->stop && !attendant->lost)
            futex_wait(bell, seen, UINT64_MAX);
    }
}
