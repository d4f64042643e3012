/* Same bytes: whatever shares the batch, however the prefill is cut, whatever the blocks'
 * size and the number of threads. On a tiny model whose tensors have every format. */
#include "common/base/rng.h"
#include "tests/worker/step_driver.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROMPT_TOKENS                                                                    \
    70 /* over a group of 64 positions, and no multiple of any chunk                     \
        */
#define DECODES       8
#define TOKENS_MAX    96
#define ROWS_MAX      400
#define SEQUENCES_MAX 33
#define LOGPROBS      (1 + TOP_LOGPROBS_MAX)

/* How a run differs from the one it is compared with. */
struct variation {
    uint32_t threads_count;
    uint32_t block_size;
    uint32_t chunk;       /* most prompt tokens a step */
    uint32_t mates_count; /* other sequences in every step */
    uint32_t kv_element_bytes;
    bool overlaps; /* decodes name the step before instead of a committed token */
};

/* All that a sequence leaves behind. */
struct trace {
    uint32_t tokens[DECODES];
    struct logprob logprobs[DECODES][LOGPROBS];
    unsigned char *kv;
    size_t kv_bytes;
};

static const struct sampling watched_sampling = {.temperature = 0.8f,
                                                 .top_p = 0.95f,
                                                 .repetition_penalty = 1.1f,
                                                 .seed = 5,
                                                 .logprobs = 1,
                                                 .top_logprobs = TOP_LOGPROBS_MAX};
static const struct variation base = {.threads_count = 1,
                                      .block_size = 16,
                                      .chunk = PROMPT_TOKENS,
                                      .kv_element_bytes = sizeof(uint16_t)};

static struct engine *open_engine(uint32_t threads_count)
{
    struct engine_options options = {.model_path = TINY_MODEL,
                                     .threads_count = threads_count,
                                     .step_rows_max = ROWS_MAX,
                                     .step_sequences_max = SEQUENCES_MAX,
                                     .context_length = TOKENS_MAX};
    struct engine *engine = NULL;
    struct fault fault;
    cr_assert_eq(engine_open(&engine, &options, &fault), STATUS_OK, "%s", fault.sentence);
    return engine;
}

static void random_prompt(const struct engine *engine, uint32_t stream, uint32_t *tokens,
                          uint32_t count)
{
    uint32_t vocabulary = engine_shape(engine)->vocabulary_count;
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = (uint32_t)(rng_uniform(9, stream, i, 0) * (float)vocabulary);
}

static void keep_kv(const struct step_driver *driver, uint32_t record,
                    struct trace *trace)
{
    const struct geometry *geometry = &driver->control.header->geometry;
    uint32_t rows_count = driver->control.records[record].kv_rows_count;
    size_t row_bytes, used = 0;
    driver_kv_row(driver, record, 0, 0, 0, &row_bytes);
    trace->kv_bytes = 2 * row_bytes * geometry->layers_count * rows_count;
    trace->kv = malloc(trace->kv_bytes);
    for (uint32_t layer = 0; layer < geometry->layers_count; layer++)
        for (uint32_t row = 0; row < rows_count; row++)
            for (uint32_t is_v = 0; is_v < 2; is_v++, used += row_bytes)
                memcpy(trace->kv + used,
                       driver_kv_row(driver, record, layer, is_v, row, &row_bytes),
                       row_bytes);
}

/* Prompt lengths and paces differ from mate to mate: 1 to 5 rows a step, then decodes. */
static void add_mates(struct step_driver *driver, uint32_t first, uint32_t end)
{
    for (uint32_t mate = first; mate < end; mate++) {
        const struct request_record *record = &driver->control.records[mate];
        uint32_t left = record->tokens_count - record->kv_rows_count;
        uint32_t pace = 1 + mate % 5;
        if (record->tokens_count < TOKENS_MAX)
            driver_add_rows(driver, mate, left < pace ? left : pace);
    }
}

/* The watched sequence stands among its mates, not before them. */
static uint32_t add_watched(struct step_driver *driver, uint32_t mates_count,
                            uint32_t watched, uint32_t rows_count, uint32_t overlap_from)
{
    add_mates(driver, 0, mates_count / 2);
    uint32_t sequence = driver->step.step->sequences_count;
    if (overlap_from != UINT32_MAX)
        driver_add_uncommitted(driver, watched, overlap_from);
    else
        driver_add_rows(driver, watched, rows_count);
    add_mates(driver, mates_count / 2, mates_count);
    return sequence;
}

static void add_records(struct step_driver *driver, uint32_t mates_count)
{
    uint32_t tokens[TOKENS_MAX];
    for (uint32_t mate = 0; mate < mates_count; mate++) {
        struct sampling sampling = watched_sampling;
        sampling.temperature = mate % 3 == 0 ? 0.0f : 1.0f;
        random_prompt(driver->engine, 100 + mate, tokens, 1 + mate);
        driver_add_record(driver, tokens, 1 + mate, &sampling);
    }
    random_prompt(driver->engine, 1, tokens, PROMPT_TOKENS);
    driver_add_record(driver, tokens, PROMPT_TOKENS, &watched_sampling);
}

/* One step; returns the watched sequence's place in it. */
static uint32_t run_step(struct step_driver *driver, const struct variation *variation,
                         uint32_t overlap_from)
{
    uint32_t watched = variation->mates_count;
    const struct request_record *record = &driver->control.records[watched];
    uint32_t left = record->tokens_count - record->kv_rows_count;
    driver_begin(driver);
    uint32_t sequence =
        add_watched(driver, variation->mates_count, watched,
                    left < variation->chunk ? left : variation->chunk, overlap_from);
    driver_run(driver);
    return sequence;
}

static void keep_result(const struct step_driver *driver, uint32_t sequence,
                        uint32_t decode, struct trace *trace)
{
    cr_assert_eq(driver->step.result_status[sequence], STATUS_OK);
    trace->tokens[decode] = driver->step.result_token[sequence];
    memcpy(trace->logprobs[decode], driver->step.result_logprobs + sequence * LOGPROBS,
           sizeof trace->logprobs[decode]);
}

static void run_trace(const struct variation *variation, struct trace *trace)
{
    const struct driver_options options = {.block_size = variation->block_size,
                                           .kv_element_bytes =
                                               variation->kv_element_bytes,
                                           .tokens_max = TOKENS_MAX,
                                           .rows_max = ROWS_MAX,
                                           .sequences_max = SEQUENCES_MAX};
    struct engine *engine = open_engine(variation->threads_count);
    struct step_driver driver;
    driver_init(&driver, engine, &options);
    add_records(&driver, variation->mates_count);
    const struct request_record *record = &driver.control.records[variation->mates_count];
    uint32_t sequence = 0, overlap_from = UINT32_MAX;
    while (record->kv_rows_count < PROMPT_TOKENS) {
        sequence = run_step(&driver, variation, UINT32_MAX);
        driver_commit(&driver);
    }
    keep_result(&driver, sequence, 0, trace);
    for (uint32_t decode = 1; decode < DECODES; decode++) {
        if (variation->overlaps) {
            struct request_record *watched =
                &driver.control.records[variation->mates_count];
            /* As if the last commit had not happened yet. */
            watched->tokens_count--;
            driver_extent(&driver, variation->mates_count).tokens[watched->tokens_count] =
                0;
            overlap_from = sequence;
        }
        sequence = run_step(&driver, variation, overlap_from);
        if (variation->overlaps) {
            struct request_record *watched =
                &driver.control.records[variation->mates_count];
            driver_extent(&driver, variation->mates_count)
                .tokens[watched->tokens_count++] = trace->tokens[decode - 1];
        }
        driver_commit(&driver);
        keep_result(&driver, sequence, decode, trace);
    }
    keep_kv(&driver, variation->mates_count, trace);
    driver_fini(&driver);
    engine_close(engine);
}

static void check_same(const struct variation *first, const struct variation *second)
{
    struct trace a, b;
    run_trace(first, &a);
    run_trace(second, &b);
    cr_assert_arr_eq(a.tokens, b.tokens, sizeof a.tokens);
    cr_assert_arr_eq(a.logprobs, b.logprobs, sizeof a.logprobs);
    cr_assert_eq(a.kv_bytes, b.kv_bytes);
    cr_assert_arr_eq(a.kv, b.kv, a.kv_bytes);
    free(a.kv);
    free(b.kv);
}

Test(engine, a_sequence_alone_is_what_it_is_in_a_batch_of_33)
{
    struct variation batch = base;
    batch.mates_count = SEQUENCES_MAX - 1;
    check_same(&base, &batch);
}

Test(engine, chunks_of_a_prefill_leave_no_trace)
{
    const uint32_t chunks[] = {1, 7, 16};
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        struct variation chunked = base;
        chunked.chunk = chunks[i];
        check_same(&base, &chunked);
    }
}

Test(engine, the_size_of_blocks_leaves_no_trace)
{
    const uint32_t sizes[] = {8, 32};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct variation sized = base;
        sized.block_size = sizes[i];
        check_same(&base, &sized);
    }
}

Test(engine, the_number_of_threads_leaves_no_trace)
{
    for (uint32_t threads = 2; threads <= 3; threads++) {
        struct variation threaded = base;
        threaded.threads_count = threads;
        check_same(&base, &threaded);
    }
}

Test(engine, all_at_once_leave_no_trace_with_fp32_rows)
{
    struct variation plain = base, other = base;
    plain.kv_element_bytes = other.kv_element_bytes = sizeof(float);
    other.mates_count = 20;
    other.chunk = 9;
    other.block_size = 8;
    other.threads_count = 3;
    check_same(&plain, &other);
}

Test(engine, a_token_taken_from_the_step_before_is_as_good_as_a_committed_one)
{
    struct variation overlapping = base;
    overlapping.overlaps = true;
    check_same(&base, &overlapping);
}

/* --- engine_logits ------------------------------------------------------------------ */

struct kept_logits {
    float *rows;
    size_t vocabulary;
};

static void keep_row(void *context, uint32_t row, const float *logits)
{
    struct kept_logits *kept = context;
    memcpy(kept->rows + row * kept->vocabulary, logits,
           kept->vocabulary * sizeof *logits);
}

static void keep_logits(struct engine *engine, const uint32_t *tokens, uint32_t count,
                        float *rows)
{
    struct fault fault;
    struct kept_logits kept = {rows, engine_shape(engine)->vocabulary_count};
    cr_assert_eq(engine_logits(engine, tokens, count, keep_row, &kept, &fault),
                 STATUS_OK);
}

Test(engine, logits_of_a_prefix_are_those_within_the_whole)
{
    struct engine *engine = open_engine(2);
    size_t vocabulary = engine_shape(engine)->vocabulary_count;
    uint32_t tokens[PROMPT_TOKENS];
    float *whole = malloc(PROMPT_TOKENS * vocabulary * sizeof *whole);
    float *part = malloc(PROMPT_TOKENS * vocabulary * sizeof *part);
    random_prompt(engine, 1, tokens, PROMPT_TOKENS);
    keep_logits(engine, tokens, PROMPT_TOKENS, whole);
    for (uint32_t count = 1; count < PROMPT_TOKENS; count += 3) {
        keep_logits(engine, tokens, count, part);
        cr_assert_arr_eq(part, whole, count * vocabulary * sizeof *part);
    }
    free(whole);
    free(part);
    engine_close(engine);
}

/* The step's logprobs are the log-softmax of engine_logits, with fp32 rows. */
Test(engine, steps_and_logits_agree)
{
    struct variation fp32 = base;
    struct trace trace;
    fp32.kv_element_bytes = sizeof(float);
    run_trace(&fp32, &trace);
    struct engine *engine = open_engine(1);
    size_t vocabulary = engine_shape(engine)->vocabulary_count;
    uint32_t tokens[PROMPT_TOKENS];
    float *logits = malloc(PROMPT_TOKENS * vocabulary * sizeof *logits);
    random_prompt(engine, 1, tokens, PROMPT_TOKENS);
    keep_logits(engine, tokens, PROMPT_TOKENS, logits);
    const float *last = logits + (PROMPT_TOKENS - 1) * vocabulary;
    double sum = 0;
    for (size_t i = 0; i < vocabulary; i++)
        sum += exp((double)last[i]);
    for (uint32_t i = 0; i < LOGPROBS; i++) {
        struct logprob got = trace.logprobs[0][i];
        cr_assert_float_eq(got.value, last[got.token] - log(sum), 1e-5);
    }
    free(logits);
    free(trace.kv);
    engine_close(engine);
}

/* --- failures stay with their sequence ---------------------------------------------- */

Test(engine, numbers_that_are_not_finite_fail_their_sequence_alone)
{
    const struct driver_options options = {.block_size = 16,
                                           .kv_element_bytes = sizeof(float),
                                           .tokens_max = TOKENS_MAX,
                                           .rows_max = ROWS_MAX,
                                           .sequences_max = SEQUENCES_MAX};
    struct engine *engine = open_engine(2);
    struct step_driver driver;
    uint32_t tokens[6], right = 0;
    size_t row_bytes;
    random_prompt(engine, 3, tokens, 6);
    for (int poisoned = 0; poisoned < 2; poisoned++) {
        driver_init(&driver, engine, &options);
        uint32_t sick = driver_add_record(&driver, tokens, 5, &watched_sampling);
        uint32_t sound = driver_add_record(&driver, tokens, 6, &watched_sampling);
        driver_begin(&driver);
        driver_add_rows(&driver, sick, 5);
        driver_add_rows(&driver, sound, 6);
        driver_run(&driver);
        driver_commit(&driver);
        unsigned char *key_row = driver_kv_row(&driver, sick, 1, 0, 2, &row_bytes);
        if (poisoned)
            memset(key_row, 0xFF, row_bytes); /* NaN */
        driver_begin(&driver);
        driver_add_rows(&driver, sick, 1);
        driver_add_rows(&driver, sound, 1);
        driver_run(&driver);
        cr_assert_eq(driver.step.result_status[0],
                     poisoned ? STATUS_INTERNAL : STATUS_OK);
        cr_assert_eq(driver.step.result_status[1], STATUS_OK);
        if (poisoned)
            cr_assert_eq(driver.step.result_token[1], right);
        right = driver.step.result_token[1];
        /* A step that names the failed result fails too, and only there. */
        driver_begin(&driver);
        driver_add_uncommitted(&driver, sick, 0);
        driver_add_uncommitted(&driver, sound, 1);
        driver_run(&driver);
        cr_assert_eq(driver.step.result_status[0],
                     poisoned ? STATUS_INTERNAL : STATUS_OK);
        cr_assert_eq(driver.step.result_status[1], STATUS_OK);
        driver_fini(&driver);
    }
    engine_close(engine);
}

Test(engine, a_file_that_is_no_model_is_refused_with_a_sentence)
{
    struct engine_options options = {.model_path = "/dev/null",
                                     .threads_count = 1,
                                     .step_rows_max = 1,
                                     .step_sequences_max = 1,
                                     .context_length = 1};
    struct engine *engine = NULL;
    struct fault fault = {.status = STATUS_OK};
    cr_assert_neq(engine_open(&engine, &options, &fault), STATUS_OK);
    cr_assert_null(engine);
    cr_assert_gt(strlen(fault.sentence), 0);
}
