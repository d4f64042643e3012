#include "worker/math/team.h"
#include "common/base/invariant.h"
#include "common/os/futex.h"
#include "worker/math/float_environment.h"
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE_BYTES 64

/* About 50 microseconds: longer than the serial parts between two jobs of a step, shorter
 * than a time slice that somebody else could use. */
#define SPINS 1500

struct member {
    struct team *team;
    pthread_t thread;
    uint32_t index;
};

struct team {
    uint32_t threads_count;
    uint32_t spins;
    struct member *members; /* [threads_count - 1]: all but the caller */

    /* The job: written before generation grows, read after. */
    team_work *work;
    void *context;
    uint32_t chunks_count;
    bool stopping;

    alignas(CACHE_LINE_BYTES) _Atomic uint32_t generation; /* jobs ever begun */
    _Atomic uint32_t sleepers;
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t next_chunk;
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t busy; /* members not done with the job */
    _Atomic uint32_t caller_sleeps;
};

static void spin_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_chunks(struct team *team, uint32_t thread)
{
    for (;;) {
        uint32_t chunk =
            atomic_fetch_add_explicit(&team->next_chunk, 1, memory_order_relaxed);
        if (chunk >= team->chunks_count)
            return;
        team->work(team->context, chunk, thread);
    }
}

/* Returns once generation differs from seen. A sleeper counts itself before it looks at
 * the word for the last time (in the kernel), and the caller looks at the count after it
 * has changed the word: one of the two sees the other. */
static uint32_t wait_for_job(struct team *team, uint32_t seen)
{
    uint32_t now = atomic_load_explicit(&team->generation, memory_order_acquire);
    for (uint32_t spin = 0; now == seen && spin < team->spins; spin++) {
        spin_once();
        now = atomic_load_explicit(&team->generation, memory_order_acquire);
    }
    if (now != seen)
        return now;
    atomic_fetch_add(&team->sleepers, 1);
    while ((now = atomic_load(&team->generation)) == seen)
        futex_wait(&team->generation, seen, UINT64_MAX);
    atomic_fetch_sub(&team->sleepers, 1);
    return now;
}

static void leave_job(struct team *team)
{
    if (atomic_fetch_sub(&team->busy, 1) == 1 && atomic_load(&team->caller_sleeps) != 0)
        futex_wake(&team->busy);
}

static void *member_main(void *data)
{
    struct member *member = data;
    struct team *team = member->team;
    float_environment_set();
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_job(team, seen);
        if (team->stopping)
            return NULL;
        take_chunks(team, member->index);
        leave_job(team);
    }
}

static void wait_for_members(struct team *team)
{
    for (uint32_t spin = 0; spin < team->spins; spin++) {
        if (atomic_load_explicit(&team->busy, memory_order_acquire) == 0)
            return;
        spin_once();
    }
    atomic_store(&team->caller_sleeps, 1);
    uint32_t left;
    while ((left = atomic_load(&team->busy)) != 0)
        futex_wait(&team->busy, left, UINT64_MAX);
    atomic_store(&team->caller_sleeps, 0);
}

static void begin_job(struct team *team)
{
    atomic_fetch_add(&team->generation, 1);
    if (atomic_load(&team->sleepers) != 0)
        futex_wake(&team->generation);
}

void team_run(struct team *team, uint32_t chunks_count, team_work *work, void *context)
{
    if (team->threads_count == 1 || chunks_count <= 1) {
        for (uint32_t chunk = 0; chunk < chunks_count; chunk++)
            work(context, chunk, 0);
        return;
    }
    team->work = work;
    team->context = context;
    team->chunks_count = chunks_count;
    atomic_store_explicit(&team->next_chunk, 0, memory_order_relaxed);
    atomic_store_explicit(&team->busy, team->threads_count - 1, memory_order_relaxed);
    begin_job(team);
    take_chunks(team, 0);
    wait_for_members(team);
}

uint32_t team_threads_count(const struct team *team)
{
    return team->threads_count;
}

static uint32_t processors_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

uint32_t team_threads_default(void)
{
    uint32_t count = processors_count();
    return count < TEAM_THREADS_MAX ? count : TEAM_THREADS_MAX;
}

static void stop_members(struct team *team, uint32_t started_count)
{
    team->stopping = true;
    begin_job(team);
    for (uint32_t i = 0; i < started_count; i++)
        pthread_join(team->members[i].thread, NULL);
}

static enum status start_members(struct team *team, struct fault *fault)
{
    for (uint32_t i = 0; i + 1 < team->threads_count; i++) {
        struct member *member = &team->members[i];
        *member = (struct member){.team = team, .index = i + 1};
        int error = pthread_create(&member->thread, NULL, member_main, member);
        if (error != 0) {
            stop_members(team, i);
            return fault_set(fault, STATUS_NO_SPACE, "threads",
                             "thread %u of %u could not be started: %s", i + 1,
                             team->threads_count, strerror(error));
        }
    }
    return STATUS_OK;
}

enum status team_create(struct team **out, uint32_t threads_count, struct fault *fault)
{
    INVARIANT(threads_count >= 1 && threads_count <= TEAM_THREADS_MAX);
    struct team *team = aligned_alloc(CACHE_LINE_BYTES, sizeof *team);
    struct member *members = calloc(threads_count, sizeof *members);
    if (team == NULL || members == NULL) {
        free(members);
        free(team);
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for a team of threads");
    }
    memset(team, 0, sizeof *team);
    team->threads_count = threads_count;
    team->members = members;
    team->spins = threads_count > processors_count() ? 0 : SPINS;
    enum status status = start_members(team, fault);
    if (status != STATUS_OK) {
        free(members);
        free(team);
        return status;
    }
    *out = team;
    return STATUS_OK;
}

void team_destroy(struct team *team)
{
    if (team == NULL)
        return;
    stop_members(team, team->threads_count - 1);
    free(team->members);
    free(team);
}
