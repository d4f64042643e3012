/* The steady state allocates nothing: counted by standing in malloc's place. */
#include "tests/worker/step_driver.h"
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer has its own malloc, which must not be hidden. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Atomic unsigned long allocations;

void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}

Test(no_allocation, steps_allocate_nothing)
{
    struct engine_options options = {.model_path = TINY_MODEL,
                                     .threads_count = 3,
                                     .step_rows_max = 64,
                                     .step_sequences_max = 4,
                                     .context_length = 64};
    const struct driver_options segments = {.block_size = 16,
                                            .kv_element_bytes = sizeof(uint16_t),
                                            .tokens_max = 64,
                                            .rows_max = 64,
                                            .sequences_max = 4};
    const struct sampling sampling = {.temperature = 1.0f,
                                      .top_p = 0.9f,
                                      .repetition_penalty = 1.2f,
                                      .logprobs = 1,
                                      .top_logprobs = 5};
    const uint32_t prompt[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct engine *engine = NULL;
    struct step_driver driver;
    struct fault fault;
    cr_assert_eq(engine_open(&engine, &options, &fault), STATUS_OK, "%s", fault.sentence);
    driver_init(&driver, engine, &segments);
    for (uint32_t i = 0; i < 4; i++)
        driver_add_record(&driver, prompt, 3 * (i + 1), &sampling);
    unsigned long before = atomic_load(&allocations);
    cr_assert_gt(before, 0);
    for (uint32_t step = 0; step < 20; step++) {
        driver_begin(&driver);
        for (uint32_t i = 0; i < 4; i++)
            driver_add_rows(&driver, i,
                            driver.control.records[i].tokens_count -
                                driver.control.records[i].kv_rows_count);
        driver_run(&driver);
        driver_commit(&driver);
    }
    cr_assert_eq(atomic_load(&allocations), before);
    cr_assert_eq(driver.control.records[0].tokens_count, 3 + 20);
    driver_fini(&driver);
    engine_close(engine);
}

#endif
