/* Every chunk once, for every number of threads, also more than there are processors. */
#include "worker/math/float_environment.h"
#include "worker/math/team.h"
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdbool.h>

#define CHUNKS_MAX 100
#define JOBS       2000

struct tally {
    _Atomic uint32_t runs[CHUNKS_MAX];
    _Atomic uint32_t bad_environments;
    uint32_t threads_count;
};

static void count_chunk(void *context, uint32_t chunk, uint32_t thread)
{
    struct tally *tally = context;
    atomic_fetch_add(&tally->runs[chunk], 1);
    if (thread >= tally->threads_count || (thread > 0 && !float_environment_right()))
        atomic_fetch_add(&tally->bad_environments, 1);
}

static void run_jobs(uint32_t threads_count)
{
    static struct tally tally;
    struct team *team = NULL;
    struct fault fault;
    tally = (struct tally){.threads_count = threads_count};
    cr_assert_eq(team_create(&team, threads_count, &fault), STATUS_OK);
    cr_assert_eq(team_threads_count(team), threads_count);
    uint32_t expected[CHUNKS_MAX] = {0};
    for (uint32_t job = 0; job < JOBS; job++) {
        uint32_t chunks_count = job % (CHUNKS_MAX + 1);
        team_run(team, chunks_count, count_chunk, &tally);
        for (uint32_t i = 0; i < chunks_count; i++)
            expected[i]++;
    }
    for (uint32_t i = 0; i < CHUNKS_MAX; i++)
        cr_assert_eq(tally.runs[i], expected[i], "chunk %u", i);
    cr_assert_eq(tally.bad_environments, 0);
    team_destroy(team);
}

Test(team, one_thread_runs_every_chunk_once)
{
    run_jobs(1);
}

Test(team, two_threads_run_every_chunk_once)
{
    run_jobs(2);
}

Test(team, more_threads_than_processors_run_every_chunk_once)
{
    run_jobs(7);
}

static void write_number(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    ((uint32_t *)context)[chunk]++;
}

/* Plain memory: the thread sanitizer sees whether a job is ordered after the one before.
 */
Test(team, a_job_sees_what_the_job_before_wrote)
{
    struct team *team = NULL;
    struct fault fault;
    cr_assert_eq(team_create(&team, 3, &fault), STATUS_OK);
    uint32_t numbers[CHUNKS_MAX] = {0};
    for (uint32_t job = 0; job < JOBS; job++)
        team_run(team, CHUNKS_MAX, write_number, numbers);
    for (uint32_t i = 0; i < CHUNKS_MAX; i++)
        cr_assert_eq(numbers[i], JOBS);
    team_destroy(team);
}
