/* 32 prompts, greedy and at temperature 0.6, with logprobs; one by one, all
 * at once, in chunks of 1, 16 and 512, with 1 and 2 threads: the same tokens and
 * logprobs.
 */
#include "common/base/rng.h"
#include "tests/worker/step_driver.h"
#include <criterion/criterion.h>
#include <string.h>

#define PROMPTS      32
#define OUTPUTS      8
#define TOKENS_MAX   64
#define ROWS_MAX     1024
#define TOP_LOGPROBS 5
#define LOGPROBS     (1 + TOP_LOGPROBS_MAX)

struct answer {
    uint32_t tokens[OUTPUTS];
    struct logprob logprobs[OUTPUTS][1 + TOP_LOGPROBS];
    uint32_t count;
};

static uint32_t prompt_of(const struct engine *engine, uint32_t prompt, uint32_t *tokens)
{
    uint32_t count = 1 + prompt * 5 % 49;
    float vocabulary = (float)engine_shape(engine)->vocabulary_count;
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = (uint32_t)(rng_uniform(21, prompt, i, 0) * vocabulary);
    return count;
}

static void add_prompt(struct step_driver *driver, uint32_t prompt)
{
    uint32_t tokens[TOKENS_MAX];
    const struct sampling sampling = {.temperature = prompt % 2 == 0 ? 0.0f : 0.6f,
                                      .top_p = 1.0f,
                                      .repetition_penalty = 1.0f,
                                      .seed = 42,
                                      .logprobs = 1,
                                      .top_logprobs = TOP_LOGPROBS};
    uint32_t count = prompt_of(driver->engine, prompt, tokens);
    driver_add_record(driver, tokens, count, &sampling);
}

static void keep(const struct step_driver *driver, uint32_t sequence,
                 struct answer *answer)
{
    const struct step_view *step = &driver->step;
    if ((step->sequence_flags[sequence] & SEQUENCE_SAMPLE) == 0)
        return;
    cr_assert_eq(step->result_status[sequence], STATUS_OK);
    answer->tokens[answer->count] = step->result_token[sequence];
    memcpy(answer->logprobs[answer->count],
           step->result_logprobs + (size_t)sequence * LOGPROBS,
           sizeof answer->logprobs[0]);
    answer->count++;
}

/* One step of every record that has not all its outputs; false when none is left. */
static bool run_step(struct step_driver *driver, uint32_t chunk, struct answer *answers)
{
    driver_begin(driver);
    for (uint32_t i = 0; i < driver->records_count; i++) {
        const struct request_record *record = &driver->control.records[i];
        uint32_t left = record->tokens_count - record->kv_rows_count;
        if (answers[i].count < OUTPUTS)
            driver_add_rows(driver, i, left < chunk ? left : chunk);
    }
    uint32_t sequences_count = driver->step.step->sequences_count;
    if (sequences_count == 0)
        return false;
    driver_run(driver);
    for (uint32_t i = 0; i < sequences_count; i++)
        keep(driver, i, &answers[driver->step.sequence_record[i]]);
    driver_commit(driver);
    return true;
}

static void answer_prompts(struct engine *engine, uint32_t first, uint32_t count,
                           uint32_t chunk, struct answer *answers)
{
    const struct driver_options segments = {.block_size = 16,
                                            .kv_element_bytes = sizeof(uint16_t),
                                            .tokens_max = TOKENS_MAX,
                                            .rows_max = ROWS_MAX,
                                            .sequences_max = PROMPTS};
    struct step_driver driver;
    driver_init(&driver, engine, &segments);
    memset(answers, 0, count * sizeof *answers);
    for (uint32_t i = 0; i < count; i++)
        add_prompt(&driver, first + i);
    while (run_step(&driver, chunk, answers))
        continue;
    driver_fini(&driver);
}

static struct engine *open_engine(uint32_t threads_count)
{
    const struct engine_options options = {.model_path = TINY_MODEL,
                                           .threads_count = threads_count,
                                           .step_rows_max = ROWS_MAX,
                                           .step_sequences_max = PROMPTS,
                                           .context_length = TOKENS_MAX};
    struct engine *engine = NULL;
    struct fault fault;
    cr_assert_eq(engine_open(&engine, &options, &fault), STATUS_OK, "%s", fault.sentence);
    return engine;
}

Test(batch, prompts_are_answered_alike_alone_together_in_chunks_and_by_threads)
{
    static struct answer alone[PROMPTS], together[PROMPTS];
    const uint32_t chunks[] = {1, 16, 512};
    uint32_t different = 0;
    struct engine *engine = open_engine(1);
    for (uint32_t i = 0; i < PROMPTS; i++)
        answer_prompts(engine, i, 1, 512, &alone[i]);
    engine_close(engine);
    for (uint32_t i = 1; i < PROMPTS; i++)
        different +=
            memcmp(alone[i].tokens, alone[0].tokens, sizeof alone[0].tokens) != 0;
    cr_assert_gt(different, PROMPTS / 2); /* or equality would say little */
    for (uint32_t threads = 1; threads <= 2; threads++) {
        engine = open_engine(threads);
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
            answer_prompts(engine, 0, PROMPTS, chunks[i], together);
            cr_assert_arr_eq(alone, together, sizeof alone, "chunk %u, %u threads",
                             chunks[i], threads);
        }
        engine_close(engine);
    }
}
