#include "worker/step_queue.h"

static bool is_mine(const struct step *step, uint32_t worker, uint32_t generation)
{
    return step->worker == worker && step->generation == generation;
}

static bool is_done(const struct step *step, uint64_t number)
{
    return atomic_load_explicit(&step->done, memory_order_relaxed) == number &&
           step->done_generation == step->generation &&
           step->done_attempt == step->attempt;
}

uint32_t step_queue_next(const struct control *control, uint32_t worker,
                         uint32_t generation)
{
    uint32_t next = STEP_SLOT_NONE;
    uint64_t next_number = UINT64_MAX;
    for (uint32_t slot = 0; slot < control->header->geometry.steps_count; slot++) {
        const struct step *step = step_at(control, slot).step;
        uint64_t number = atomic_load_explicit(&step->posted, memory_order_acquire);
        bool wanted = number < next_number && is_mine(step, worker, generation) &&
                      !is_done(step, number);
        /* Another worker's slot may be filled anew meanwhile, for us: what was read above
         * is of step number only if that is not committed afterwards either. */
        atomic_thread_fence(memory_order_acquire);
        if (wanted &&
            atomic_load_explicit(&step->committed, memory_order_relaxed) != number) {
            next = slot;
            next_number = number;
        }
    }
    return next;
}

void step_queue_finish(const struct control *control, uint32_t slot)
{
    struct step *step = step_at(control, slot).step;
    step->done_generation = step->generation;
    step->done_attempt = step->attempt;
    atomic_store_explicit(&step->done,
                          atomic_load_explicit(&step->posted, memory_order_relaxed),
                          memory_order_release);
}
