/* threads_main - the worker's threads under the thread sanitizer, with which Criterion
 * cannot run: a team's jobs in plain memory, and steps of more threads than processors.
 * It ends with 0 when all is right; the sanitizer ends it otherwise.
 */
#include "common/base/invariant.h"
#include "tests/worker/step_driver.h"
#include "worker/math/team.h"
#include <stdio.h>

#define THREADS    4
#define CHUNKS     50
#define JOBS       500
#define STEPS      12
#define SEQUENCES  6
#define TOKENS_MAX 64

static void count(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    ((uint32_t *)context)[chunk]++;
}

static void run_team(void)
{
    struct team *team;
    struct fault fault;
    uint32_t counts[CHUNKS] = {0};
    INVARIANT(team_create(&team, THREADS, &fault) == STATUS_OK);
    for (uint32_t job = 0; job < JOBS; job++)
        team_run(team, CHUNKS, count, counts);
    for (uint32_t i = 0; i < CHUNKS; i++)
        INVARIANT(counts[i] == JOBS);
    team_destroy(team);
}

static void run_steps(struct step_driver *driver)
{
    for (uint32_t step = 0; step < STEPS; step++) {
        driver_begin(driver);
        for (uint32_t i = 0; i < SEQUENCES; i++) {
            const struct request_record *record = &driver->control.records[i];
            driver_add_rows(driver, i, record->tokens_count - record->kv_rows_count);
        }
        driver_run(driver);
        driver_commit(driver);
    }
}

static void run_engine(const char *model_path)
{
    const struct engine_options options = {.model_path = model_path,
                                           .threads_count = THREADS,
                                           .step_rows_max = TOKENS_MAX,
                                           .step_sequences_max = SEQUENCES,
                                           .context_length = TOKENS_MAX};
    const struct driver_options segments = {.block_size = 16,
                                            .kv_element_bytes = sizeof(uint16_t),
                                            .tokens_max = TOKENS_MAX,
                                            .rows_max = TOKENS_MAX,
                                            .sequences_max = SEQUENCES};
    const struct sampling sampling = {
        .temperature = 1.0f, .top_p = 0.9f, .repetition_penalty = 1.1f, .logprobs = 1};
    const uint32_t prompt[SEQUENCES] = {3, 1, 4, 1, 5, 9};
    struct engine *engine;
    struct step_driver driver;
    struct fault fault;
    INVARIANT(engine_open(&engine, &options, &fault) == STATUS_OK);
    driver_init(&driver, engine, &segments);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        driver_add_record(&driver, prompt, i + 1, &sampling);
    run_steps(&driver);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        INVARIANT(driver.control.records[i].tokens_count == i + 1 + STEPS);
    driver_fini(&driver);
    engine_close(engine);
}

int main(int argc, char **argv)
{
    INVARIANT(argc == 2);
    run_team();
    run_engine(argv[1]);
    puts("threads agree");
    return 0;
}
