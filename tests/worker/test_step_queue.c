#include "worker/step_queue.h"
#include <criterion/criterion.h>
#include <stdlib.h>

#define WORKER     1
#define GENERATION 7

static struct control control;
static void *memory;

static void set_up(void)
{
    const struct geometry geometry = {.block_bytes = 64,
                                      .block_size = 16,
                                      .blocks_count = 4,
                                      .layers_count = 1,
                                      .kv_heads_count = 1,
                                      .key_length = 1,
                                      .kv_element_bytes = 2,
                                      .vocabulary_count = 8,
                                      .context_length = 64,
                                      .records_count = 2,
                                      .heap_pages_count = 2,
                                      .steps_count = 4,
                                      .step_rows_max = 8,
                                      .step_sequences_max = 2,
                                      .workers_max = 2,
                                      .flight_events_count = 2};
    struct fault fault;
    uint64_t size_bytes;
    cr_assert_eq(layout_control_bytes(&geometry, &size_bytes, &fault), STATUS_OK, "%s",
                 fault.sentence);
    memory = aligned_alloc(LAYOUT_PAGE_BYTES, size_bytes);
    memset(memory, 0, size_bytes);
    layout_format(memory, &geometry);
    layout_publish(memory);
    cr_assert_eq(layout_view(memory, size_bytes, &control, &fault), STATUS_OK);
}

static void tear_down(void)
{
    free(memory);
}

static void post(uint32_t slot, uint64_t number, uint32_t worker, uint32_t generation)
{
    struct step *step = step_at(&control, slot).step;
    step->worker = worker;
    step->generation = generation;
    atomic_store(&step->posted, number);
}

static uint32_t next(void)
{
    return step_queue_next(&control, WORKER, GENERATION);
}

TestSuite(step_queue, .init = set_up, .fini = tear_down);

Test(step_queue, steps_run_by_number_and_each_once)
{
    cr_assert_eq(next(), STEP_SLOT_NONE);
    post(0, 12, WORKER, GENERATION);
    post(3, 11, WORKER, GENERATION);
    cr_assert_eq(next(), 3);
    step_queue_finish(&control, 3);
    cr_assert_eq(next(), 0);
    step_queue_finish(&control, 0);
    cr_assert_eq(next(), STEP_SLOT_NONE);
}

Test(step_queue, others_steps_and_a_former_schedulers_are_left_alone)
{
    post(0, 1, WORKER + 1, GENERATION);
    post(1, 2, WORKER, GENERATION - 1);
    cr_assert_eq(next(), STEP_SLOT_NONE);
}

Test(step_queue, another_attempt_of_a_done_step_runs_again)
{
    post(2, 5, WORKER, GENERATION);
    step_queue_finish(&control, 2);
    step_at(&control, 2).step->attempt = 1;
    cr_assert_eq(next(), 2);
}

Test(step_queue, a_committed_step_is_over_whatever_its_results_say)
{
    post(2, 5, WORKER, GENERATION);
    atomic_store(&step_at(&control, 2).step->committed, 5);
    cr_assert_eq(next(), STEP_SLOT_NONE);
}
