#include "worker/loop.h"

#include "common/base/time_units.h"
#include "common/os/futex.h"
#include "common/os/log.h"
#include "worker/step_queue.h"

static void log_step(const struct step *step)
{
    log_debug("step=%llu attempt=%u rows=%u sequences=%u run_us=%llu matmul_us=%llu "
              "attention_us=%llu sample_us=%llu other_us=%llu",
              (unsigned long long)step->posted, step->attempt, step->rows_count,
              step->sequences_count,
              (unsigned long long)(step->finished_ns - step->started_ns) / NS_PER_US,
              (unsigned long long)step->matmul_ns / NS_PER_US,
              (unsigned long long)step->attention_ns / NS_PER_US,
              (unsigned long long)step->sample_ns / NS_PER_US,
              (unsigned long long)step->other_ns / NS_PER_US);
}

static void run_step(const struct attachment *attachment, struct engine *engine,
                     uint32_t slot)
{
    const struct control *control = &attachment->control;
    const struct step_view view = step_at(control, slot);
    /* One step of a worker is in flight at a time, so none of its rows names a result of
     * the step before. */
    engine_run(engine, control, attachment->kv_region.base, &view, NULL);
    log_step(view.step);
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
