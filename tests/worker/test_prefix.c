/* With the real scheduler and engine: a prompt whose beginning is cached is answered by
 * the same tokens and logprobs, bit for bit, as one computed from its first row on. */
#include "common/base/rng.h"
#include "scheduler/core/request.h"
#include "scheduler/core/scheduler.h"
#include "worker/model/engine.h"
#include <assert.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE   16
#define PREFIX_MAX   80
#define SUFFIX_MAX   20
#define PROMPT_MAX   (PREFIX_MAX + SUFFIX_MAX)
#define OUTPUTS      3
#define TOP_LOGPROBS 3
#define LOGPROBS     (OUTPUTS * (1 + TOP_LOGPROBS))
#define CHUNK        24
#define RECORDS      4
#define BLOCKS       64

struct instance {
    struct engine *engine;
    void *memory;
    void *kv;
    struct control control;
    struct scheduler *scheduler;
    uint64_t now_ns;
    uint32_t asked_count;
};

struct answer {
    uint32_t tokens[OUTPUTS];
    uint32_t logprobs[LOGPROBS][2]; /* the bits of a struct logprob each */
    uint32_t cached_count;
};

static void open_engine(struct instance *instance)
{
    const struct engine_options options = {.model_path = TINY_MODEL,
                                           .threads_count = 1,
                                           .step_rows_max = CHUNK + RECORDS,
                                           .step_sequences_max = RECORDS,
                                           .context_length = PROMPT_MAX + OUTPUTS};
    struct fault fault;
    cr_assert_eq(engine_open(&instance->engine, &options, &fault), STATUS_OK, "%s",
                 fault.sentence);
}

static struct geometry geometry_of(const struct model_shape *shape)
{
    return (struct geometry){
        .block_bytes = model_shape_block_bytes(shape, BLOCK_SIZE, sizeof(uint16_t)),
        .block_size = BLOCK_SIZE,
        .blocks_count = BLOCKS,
        .layers_count = shape->layers_count,
        .kv_heads_count = shape->kv_heads_count,
        .key_length = shape->key_length,
        .kv_element_bytes = sizeof(uint16_t),
        .vocabulary_count = shape->vocabulary_count,
        .context_length = PROMPT_MAX + OUTPUTS,
        .records_count = RECORDS,
        .heap_pages_count = 2 * RECORDS,
        .steps_count = 2,
        .step_rows_max = CHUNK + RECORDS,
        .step_sequences_max = RECORDS,
        .workers_max = 1,
        .flight_events_count = 2};
}

static void open_instance(struct instance *instance)
{
    const struct scheduler_options options = {.policy = "fcfs",
                                              .prefill_chunk = CHUNK,
                                              .waiting_max = RECORDS,
                                              .queue_wait_ns = UINT64_MAX / 2,
                                              .done_kept_ns = UINT64_MAX / 2,
                                              .secret = 1,
                                              .prefix_caching = true};
    struct fault fault;
    uint64_t size_bytes;
    memset(instance, 0, sizeof *instance);
    open_engine(instance);
    struct geometry geometry = geometry_of(engine_shape(instance->engine));
    cr_assert_eq(layout_control_bytes(&geometry, &size_bytes, &fault), STATUS_OK);
    instance->memory = aligned_alloc(LAYOUT_PAGE_BYTES, size_bytes);
    memset(instance->memory, 0, size_bytes);
    instance->kv = malloc(layout_kv_bytes(&geometry));
    layout_format(instance->memory, &geometry);
    layout_publish(instance->memory);
    cr_assert_eq(layout_view(instance->memory, size_bytes, &instance->control, &fault),
                 STATUS_OK);
    cr_assert_eq(
        scheduler_create(&instance->scheduler, &instance->control, &options, &fault),
        STATUS_OK, "%s", fault.sentence);
}

static void close_instance(struct instance *instance)
{
    scheduler_destroy(instance->scheduler);
    engine_close(instance->engine);
    free(instance->kv);
    free(instance->memory);
}

static uint32_t submit(struct instance *instance, const uint32_t *prompt,
                       uint32_t prompt_count, struct span salt)
{
    static const char digest[32];
    char id[16];
    snprintf(id, sizeof id, "%u", instance->asked_count++);
    struct submit_request request = {
        .frontend = 1,
        .id = span_of(id),
        .body_digest = {digest, sizeof digest},
        .sampling = {.temperature = 0.8f,
                     .top_p = 1,
                     .repetition_penalty = 1.2f,
                     .seed = 5,
                     .ignore_end = 1,
                     .logprobs = 1,
                     .top_logprobs = TOP_LOGPROBS},
        .has_seed = true,
        .max_tokens = OUTPUTS,
        .prompt_tokens = {(const char *)prompt, prompt_count * sizeof *prompt},
        .cache_salt = salt};
    uint32_t record, retry_after_s;
    struct fault fault;
    cr_assert_eq(scheduler_submit(instance->scheduler, &request, 0, ++instance->now_ns,
                                  &record, &retry_after_s, &fault),
                 STATUS_OK, "%s", fault.sentence);
    return record;
}

static void run_all(struct instance *instance)
{
    uint32_t slot;
    while ((slot = scheduler_plan(instance->scheduler, 0, ++instance->now_ns)) !=
           STEP_NONE) {
        struct step_view view = step_at(&instance->control, slot);
        engine_run(instance->engine, &instance->control, instance->kv, &view, NULL);
        view.step->done_generation = view.step->generation;
        view.step->done_attempt = view.step->attempt;
        atomic_store_explicit(&view.step->done, view.step->posted, memory_order_release);
        cr_assert(scheduler_commit(instance->scheduler, slot, instance->now_ns));
    }
    while (scheduler_next_news(instance->scheduler) != RECORD_NONE)
        continue;
}

static struct answer ask(struct instance *instance, const uint32_t *prompt,
                         uint32_t prompt_count, struct span salt)
{
    struct answer answer = {.cached_count = 0};
    uint32_t record = submit(instance, prompt, prompt_count, salt);
    run_all(instance);
    const struct request_record *held = &instance->control.records[record];
    struct extent extent = extent_view(&instance->control, held);
    cr_assert_eq(held->finish_reason, FINISH_LENGTH);
    memcpy(answer.tokens, extent.tokens + prompt_count, sizeof answer.tokens);
    static_assert(sizeof answer.logprobs == LOGPROBS * sizeof(struct logprob),
                  "a logprob is two words");
    memcpy(answer.logprobs, extent.logprobs, sizeof answer.logprobs);
    answer.cached_count = held->cached_tokens_count;
    scheduler_set_end_told(instance->scheduler, record, true);
    return answer;
}

static void draw_tokens(const struct instance *instance, uint32_t stream,
                        uint32_t *tokens, uint32_t count)
{
    float vocabulary = (float)engine_shape(instance->engine)->vocabulary_count;
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = (uint32_t)(rng_uniform(7, stream, i, 0) * vocabulary);
}

/* Those near a block's border with every suffix, of the others one in four. */
static bool is_sampled(uint32_t prefix, uint32_t suffix)
{
    return (prefix + 1) % BLOCK_SIZE <= 2 || (prefix + suffix) % 4 == 0;
}

static void compare(struct instance *instance, uint32_t *prompt, uint32_t prefix,
                    uint32_t suffix)
{
    char nobody[16];
    uint32_t number = prefix * PROMPT_MAX + suffix, count = prefix + suffix;
    uint32_t next = prompt[prefix];
    draw_tokens(instance, number, prompt + prefix, suffix);
    /* The prefix ends where it is said to: each suffix begins in a way of its own. */
    prompt[prefix] = (next + suffix) % engine_shape(instance->engine)->vocabulary_count;
    snprintf(nobody, sizeof nobody, "nobody %u", number);
    struct answer cold = ask(instance, prompt, count, span_of(nobody));
    struct answer warm = ask(instance, prompt, count, (struct span){0});
    struct answer whole = ask(instance, prompt, count, (struct span){0});
    cr_assert_eq(cold.cached_count, 0);
    cr_assert_eq(warm.cached_count, prefix / BLOCK_SIZE * BLOCK_SIZE, "%u + %u", prefix,
                 suffix);
    cr_assert_eq(whole.cached_count, (count - 1) / BLOCK_SIZE * BLOCK_SIZE);
    warm.cached_count = whole.cached_count = 0;
    cr_assert_eq(memcmp(&cold, &warm, sizeof cold), 0, "prefix %u, suffix %u", prefix,
                 suffix);
    cr_assert_eq(memcmp(&cold, &whole, sizeof cold), 0, "prefix %u, suffix %u", prefix,
                 suffix);
}

Test(prefix, what_is_cached_gives_the_same_bits, .timeout = 100)
{
    static struct instance instance;
    uint32_t shared[PROMPT_MAX], prompt[PROMPT_MAX];
    open_instance(&instance);
    draw_tokens(&instance, 0, shared, PROMPT_MAX);
    for (uint32_t prefix = 1; prefix <= PREFIX_MAX; prefix++) {
        /* Anew, since the pool is small and others have used it. */
        ask(&instance, shared, PREFIX_MAX + 1, (struct span){0});
        for (uint32_t suffix = 1; suffix <= SUFFIX_MAX; suffix++) {
            if (!is_sampled(prefix, suffix))
                continue;
            memcpy(prompt, shared, sizeof prompt);
            compare(&instance, prompt, prefix, suffix);
        }
    }
    close_instance(&instance);
}
