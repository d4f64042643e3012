/* After create the core calls no allocator: the linker sends its calls through here, and
 * OpenSSL those of the hashes. */
#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>
#include <openssl/crypto.h>
#include <stdio.h>

static uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    allocations++;
    return __real_realloc(memory, size);
}

static void *openssl_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return __wrap_malloc(size);
}

static void *openssl_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return __wrap_realloc(memory, size);
}

static void openssl_free(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

static bool openssl_is_counted;

static void count_openssl(void)
{
    openssl_is_counted =
        CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free) == 1;
}

/* Before any library's constructor: OpenSSL takes other functions only until its first
 * allocation. */
__attribute__((section(".preinit_array"),
               used)) static void (*const before_all)(void) = count_openssl;

Test(allocation, the_counter_counts)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(64, 4, 12, 16), toy_options(8));
    cr_assert_gt(allocations, 0);
    cr_assert(openssl_is_counted);
    toy_close(&toy);
}

Test(allocation, submit_plan_commit_cancel_and_check_allocate_nothing)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(64, 4, 12, 16), toy_options(8));
    uint64_t before = allocations;
    for (int i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        struct toy_request request = {id, .prompt_count = 9, .max_tokens = 5,
                                      .shared_id = i % 10 == 0 ? id : "shared",
                                      .shared_count = 7};
        uint32_t record = toy_submit(&toy, &request);
        toy_turn(&toy);
        if (i % 7 == 0)
            scheduler_cancel(toy.scheduler, record, FINISH_CANCELLED, toy.now_ns);
        toy_finish_all(&toy);
        scheduler_set_end_told(toy.scheduler, record, true);
        while (scheduler_next_news(toy.scheduler) != RECORD_NONE)
            continue;
    }
    cr_assert_eq(allocations, before);
    cr_assert_eq(scheduler_counters(toy.scheduler)->received, 100);
    cr_assert_gt(scheduler_counters(toy.scheduler)->prefix_hits, 0);
    toy_close(&toy);
}
