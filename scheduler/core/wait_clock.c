#include "scheduler/core/scheduler_state.h"

void wait_clock_read(const struct wait_clock *clock, uint64_t now_ns,
                     uint64_t total_ns[BLOCK_REASONS])
{
    memcpy(total_ns, clock->total_ns, sizeof clock->total_ns);
    total_ns[clock->reason] += now_ns - clock->since_ns;
}

void wait_clock_set(struct wait_clock *clock, enum block_reason reason, uint64_t now_ns)
{
    uint64_t total_ns[BLOCK_REASONS];
    wait_clock_read(clock, now_ns, total_ns);
    memcpy(clock->total_ns, total_ns, sizeof total_ns);
    clock->reason = reason;
    clock->since_ns = now_ns;
}
