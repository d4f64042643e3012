#include "scheduler/loop.h"

#include "common/base/time_units.h"
#include "common/os/clock.h"
#include "common/os/futex.h"

/* How soon a death is noticed, and how late a time-out may be. */
#define TIDY_INTERVAL_NS (100 * NS_PER_MS)

static void tidy(struct service *service, uint64_t now_ns)
{
    workers_reap(service->workers, now_ns);
    scheduler_tidy(service->scheduler, now_ns);
    frontends_tidy(service->frontends, now_ns);
}

static uint64_t sleep_ns(const struct service *service, uint64_t tidy_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t until_ns = service_next_deadline_ns(service);
    if (tidy_ns < until_ns)
        until_ns = tidy_ns;
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

void loop_run(struct service *service, const volatile sig_atomic_t *stop)
{
    struct control_header *header = service->control->header;
    uint64_t tidy_ns = 0;
    for (;;) {
        uint32_t seen =
            atomic_load_explicit(&header->scheduler_bell, memory_order_acquire);
        if (*stop)
            return;
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= tidy_ns) {
            tidy(service, now_ns);
            tidy_ns = now_ns + TIDY_INTERVAL_NS;
        }
        bool more = service_receive(service, now_ns);
        workers_drive(service->workers, now_ns);
        service_answer_held(service, now_ns);
        atomic_store_explicit(&header->heartbeat_ns, now_ns, memory_order_relaxed);
        uint64_t timeout_ns = sleep_ns(service, tidy_ns);
        if (!more && timeout_ns > 0)
            futex_wait(&header->scheduler_bell, seen, timeout_ns);
    }
}
