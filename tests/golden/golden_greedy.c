/* golden_greedy MODEL_VARIABLE MODEL_FILE RUNS - greedy tokens and logprobs of real
 * weights against reference.py, which computes in fp32 throughout.
 *
 * Every run of the file is a sequence; all share steps, with prefill in chunks and fp32
 * KV rows. A run is compared up to its first step whose two best tokens are nearer to
 * each other than MARGIN_LEAST: there, rounding may decide.
 */
#include "common/base/invariant.h"
#include "tests/golden/golden_model.h"
#include "tests/worker/step_driver.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MARGIN_LEAST      0.005
#define LOGPROB_TOLERANCE 0.02
#define ROWS_MAX          256
#define CHUNK             64
#define TOKENS_MAX        768
#define PATH_BYTES        1024

struct run {
    json_t *expected;
    uint32_t record;
    uint32_t steps_count; /* compared so far */
    bool ended;
};

struct golden {
    struct engine *engine;
    struct step_driver driver;
    struct run runs[DRIVER_RECORDS_MAX];
    uint32_t runs_count;
    uint32_t tokens_compared, failures;
    double worst_logprob;
};

static const struct sampling greedy = {.top_p = 1.0f,
                                       .repetition_penalty = 1.0f,
                                       .logprobs = 1,
                                       .top_logprobs = TOP_LOGPROBS_MAX};

static json_t *member(const struct run *run, const char *key)
{
    json_t *value = json_object_get(run->expected, key);
    INVARIANT(json_is_array(value));
    return value;
}

static void read_runs(struct golden *golden, const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(path, "r");
    INVARIANT(file != NULL);
    while (getline(&line, &capacity, file) > 0) {
        INVARIANT(golden->runs_count < DRIVER_RECORDS_MAX);
        struct run *run = &golden->runs[golden->runs_count++];
        run->expected = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        INVARIANT(run->expected != NULL);
    }
    free(line);
    fclose(file);
}

static void open_engine(struct golden *golden, const char *model_path)
{
    struct fault fault;
    const struct engine_options options = {.model_path = model_path,
                                           .threads_count = 2,
                                           .step_rows_max = ROWS_MAX,
                                           .step_sequences_max = DRIVER_RECORDS_MAX,
                                           .context_length = TOKENS_MAX};
    const struct driver_options segments = {.block_size = 16,
                                            .kv_element_bytes = sizeof(float),
                                            .tokens_max = TOKENS_MAX,
                                            .rows_max = ROWS_MAX,
                                            .sequences_max = DRIVER_RECORDS_MAX};
    if (engine_open(&golden->engine, &options, &fault) != STATUS_OK) {
        printf("%s\n", fault.sentence);
        exit(1);
    }
    driver_init(&golden->driver, golden->engine, &segments);
}

static void add_records(struct golden *golden)
{
    for (uint32_t i = 0; i < golden->runs_count; i++) {
        uint32_t tokens[TOKENS_MAX];
        json_t *ids = member(&golden->runs[i], "prompt_ids");
        size_t count = json_array_size(ids);
        INVARIANT(count > 0 && count < TOKENS_MAX);
        for (size_t j = 0; j < count; j++)
            tokens[j] = (uint32_t)json_integer_value(json_array_get(ids, j));
        golden->runs[i].record =
            driver_add_record(&golden->driver, tokens, (uint32_t)count, &greedy);
    }
}

static void fail(struct golden *golden, const struct run *run, const char *what)
{
    golden->failures++;
    printf("run %u, step %u: %s\n", run->record, run->steps_count, what);
}

/* A token of the reference's top that is not in ours must be as good as our last. */
static void compare_top(struct golden *golden, const struct run *run,
                        const struct logprob *got)
{
    json_t *top = json_array_get(member(run, "top"), run->steps_count);
    for (size_t i = 0; i < json_array_size(top); i++) {
        json_t *pair = json_array_get(top, i);
        uint32_t token = (uint32_t)json_integer_value(json_array_get(pair, 0));
        double expected = json_real_value(json_array_get(pair, 1));
        uint32_t place = 1;
        while (place < TOP_LOGPROBS_MAX && got[place].token != token)
            place++;
        double difference = fabs(got[place].value - expected);
        golden->worst_logprob = fmax(golden->worst_logprob, difference);
        if (difference > LOGPROB_TOLERANCE)
            fail(golden, run, "a logprob is too far from the reference's");
    }
}

/* The step's result for run, at its place in the step. */
static void compare(struct golden *golden, struct run *run, uint32_t sequence)
{
    const struct step_view *step = &golden->driver.step;
    json_t *tokens = member(run, "tokens");
    double margin =
        json_real_value(json_array_get(member(run, "margins"), run->steps_count));
    if (step->result_status[sequence] != STATUS_OK) {
        fail(golden, run, "failed");
        run->ended = true;
        return;
    }
    if (run->steps_count < json_array_size(member(run, "top")))
        compare_top(golden, run,
                    step->result_logprobs + sequence * (1 + TOP_LOGPROBS_MAX));
    if (margin < MARGIN_LEAST) {
        run->ended = true;
        return;
    }
    if (step->result_token[sequence] !=
        (uint32_t)json_integer_value(json_array_get(tokens, run->steps_count))) {
        fail(golden, run, "another token than the reference's");
        run->ended = true;
    }
    golden->tokens_compared++;
    run->steps_count++;
    run->ended = run->ended || run->steps_count == json_array_size(tokens);
}

/* One step of all that have not ended: decodes whole, prefills in chunks while there is
 * room. False when none is left. */
static bool run_step(struct golden *golden)
{
    struct step_driver *driver = &golden->driver;
    struct run *sampled[DRIVER_RECORDS_MAX] = {NULL};
    driver_begin(driver);
    for (uint32_t i = 0; i < golden->runs_count; i++) {
        struct run *run = &golden->runs[i];
        const struct request_record *record = &driver->control.records[run->record];
        uint32_t left = record->tokens_count - record->kv_rows_count;
        uint32_t rows = left < CHUNK ? left : CHUNK;
        if (run->ended || driver->step.step->rows_count + rows > ROWS_MAX)
            continue;
        sampled[driver->step.step->sequences_count] = rows == left ? run : NULL;
        driver_add_rows(driver, run->record, rows);
    }
    if (driver->step.step->sequences_count == 0)
        return false;
    driver_run(driver);
    for (uint32_t i = 0; i < driver->step.step->sequences_count; i++)
        if (sampled[i] != NULL)
            compare(golden, sampled[i], i);
    driver_commit(driver);
    return true;
}

int main(int argc, char **argv)
{
    static struct golden golden;
    char model_path[PATH_BYTES];
    if (argc != 4) {
        fprintf(stderr, "usage: golden_greedy MODEL_VARIABLE MODEL_FILE RUNS\n");
        return 2;
    }
    golden_model_path(argv[1], argv[2], model_path, sizeof model_path);
    read_runs(&golden, argv[3]);
    open_engine(&golden, model_path);
    add_records(&golden);
    while (run_step(&golden))
        continue;
    printf("%u runs, %u tokens compared, %u failures, worst logprob difference %.5f\n",
           golden.runs_count, golden.tokens_compared, golden.failures,
           golden.worst_logprob);
    for (uint32_t i = 0; i < golden.runs_count; i++)
        json_decref(golden.runs[i].expected);
    driver_fini(&golden.driver);
    engine_close(golden.engine);
    return golden.failures == 0 && golden.tokens_compared > 0 ? 0 : 1;
}
