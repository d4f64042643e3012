/* The parts that the scheduler is built from, each alone. */
#include "scheduler/core/block_pool.h"
#include "scheduler/core/heap_pages.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/record_index.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(block_pool, gives_every_block_once_and_then_none)
{
    struct block_pool *pool = block_pool_create(3);
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++) {
        uint32_t block = block_pool_take(pool);
        cr_assert_lt(block, 3);
        cr_assert_not(seen[block]);
        seen[block] = true;
    }
    cr_assert_eq(block_pool_take(pool), BLOCK_NONE);
    cr_assert_eq(block_pool_free_count(pool), 0);
    cr_assert(block_pool_check(pool));
    block_pool_destroy(pool);
}

Test(block_pool, a_shared_block_outlives_its_first_holder)
{
    struct block_pool *pool = block_pool_create(1);
    uint32_t block = block_pool_take(pool);
    block_pool_hold(pool, block);
    block_pool_release(pool, block);
    cr_assert_eq(block_pool_take(pool), BLOCK_NONE);
    block_pool_release(pool, block);
    cr_assert_eq(block_pool_take(pool), block);
    block_pool_destroy(pool);
}

Test(block_pool, a_recount_frees_what_nobody_holds)
{
    struct block_pool *pool = block_pool_create(4);
    block_pool_take(pool);
    block_pool_take(pool);
    block_pool_recount_begin(pool);
    block_pool_hold(pool, 2);
    block_pool_hold(pool, 2);
    block_pool_recount_end(pool);
    cr_assert_eq(block_pool_free_count(pool), 3);
    cr_assert_eq(block_pool_holders(pool, 2), 2);
    cr_assert(block_pool_check(pool));
    block_pool_destroy(pool);
}

Test(block_pool, a_kept_block_is_idle_until_it_is_held_or_discarded)
{
    struct block_pool *pool = block_pool_create(2);
    uint32_t block = block_pool_take(pool);
    block_pool_keep(pool, block);
    block_pool_release(pool, block);
    cr_assert_eq(block_pool_free_count(pool), 1);
    cr_assert_eq(block_pool_unheld_count(pool), 2);
    cr_assert_eq(block_pool_idle(pool)->head, block);
    cr_assert_neq(block_pool_take(pool), block);
    cr_assert_eq(block_pool_take(pool), BLOCK_NONE);
    block_pool_hold(pool, block);
    cr_assert_eq(block_pool_unheld_count(pool), 0);
    block_pool_release(pool, block);
    cr_assert(block_pool_check(pool));
    block_pool_discard(pool, block);
    cr_assert_eq(block_pool_take(pool), block);
    cr_assert(block_pool_check(pool));
    block_pool_destroy(pool);
}

Test(heap_pages, takes_the_lowest_run_that_is_long_enough)
{
    struct heap_pages *heap = heap_pages_create(200);
    cr_assert_eq(heap_pages_take(heap, 3), 0);
    cr_assert_eq(heap_pages_take(heap, 130), 3);
    cr_assert_eq(heap_pages_take(heap, 2), 133);
    heap_pages_release(heap, 0, 3);
    cr_assert_eq(heap_pages_take(heap, 4), 135);
    cr_assert_eq(heap_pages_take(heap, 2), 0);
    cr_assert_eq(heap_pages_take(heap, 1), 2);
    cr_assert_eq(heap_pages_free_count(heap), 200 - 3 - 130 - 2 - 4);
    heap_pages_destroy(heap);
}

Test(heap_pages, a_run_may_end_at_the_last_page_and_not_behind_it)
{
    struct heap_pages *heap = heap_pages_create(65);
    cr_assert_eq(heap_pages_take(heap, 66), HEAP_PAGE_NONE);
    cr_assert_eq(heap_pages_take(heap, 64), 0);
    cr_assert_eq(heap_pages_take(heap, 2), HEAP_PAGE_NONE);
    cr_assert_eq(heap_pages_take(heap, 1), 64);
    cr_assert_eq(heap_pages_take(heap, 1), HEAP_PAGE_NONE);
    heap_pages_destroy(heap);
}

Test(heap_pages, an_overlapping_or_leaving_extent_cannot_be_claimed)
{
    struct heap_pages *heap = heap_pages_create(10);
    cr_assert(heap_pages_claim(heap, 2, 3));
    cr_assert_not(heap_pages_claim(heap, 4, 2));
    cr_assert_not(heap_pages_claim(heap, 9, 2));
    cr_assert_not(heap_pages_claim(heap, UINT32_MAX, 2));
    cr_assert(heap_pages_claim(heap, 5, 5));
    cr_assert_eq(heap_pages_free_count(heap), 2);
    heap_pages_destroy(heap);
}

static bool is_smaller(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *values = context;
    return values[a] < values[b];
}

Test(queue, inserts_in_order_and_leaves_equals_as_they_came)
{
    const uint32_t values[5] = {30, 10, 20, 10, 40};
    struct queue_node nodes[5] = {{.owner = NULL}};
    struct queue queue;
    queue_init(&queue, nodes);
    for (uint32_t i = 0; i < 5; i++)
        queue_insert(&queue, i, is_smaller, values);
    const uint32_t expected[5] = {1, 3, 2, 0, 4};
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_eq(queue_pop(&queue), expected[i]);
    cr_assert_eq(queue_pop(&queue), QUEUE_END);
}

Test(queue, sorts_any_number_and_leaves_equals_as_they_came)
{
    const uint32_t values[9] = {30, 10, 20, 10, 40, 5, 20, 50, 0};
    const uint32_t expected[9] = {8, 5, 1, 3, 2, 6, 0, 4, 7};
    for (uint32_t count = 0; count <= 9; count++) {
        struct queue_node nodes[9] = {{.owner = NULL}};
        struct queue queue;
        queue_init(&queue, nodes);
        for (uint32_t i = 0; i < count; i++)
            queue_push(&queue, i);
        queue_sort(&queue, is_smaller, values);
        cr_assert_eq(queue.count, count);
        for (uint32_t i = 0; i < 9; i++)
            if (expected[i] < count)
                cr_assert_eq(queue_pop(&queue), expected[i]);
        cr_assert_eq(queue_pop(&queue), QUEUE_END);
    }
}

Test(queue, removes_head_middle_and_tail)
{
    struct queue_node nodes[4] = {{.owner = NULL}};
    struct queue queue;
    queue_init(&queue, nodes);
    for (uint32_t i = 0; i < 4; i++)
        queue_push(&queue, i);
    queue_remove(&queue, 1);
    queue_remove(&queue, 0);
    queue_remove(&queue, 3);
    cr_assert_eq(queue.count, 1);
    cr_assert_eq(queue.head, 2);
    cr_assert_eq(queue.tail, 2);
    cr_assert_not(queue_holds(&queue, 3));
    queue_push(&queue, 3);
    cr_assert_eq(queue_next(&queue, 2), 3);
}

/* Adds and removes at random, and compares with a plain list after each change. */
Test(record_index, finds_exactly_what_is_in_it)
{
    enum { RECORDS = 40 };
    struct request_record *records = calloc(RECORDS, sizeof *records);
    bool is_in[RECORDS] = {false};
    struct record_index *index = record_index_create(records, RECORDS, 99);
    uint32_t random = 1;
    for (uint32_t i = 0; i < RECORDS; i++) {
        snprintf(records[i].id, sizeof records[i].id, "id-%u", i / 2);
        records[i].choice = i % 3;
    }
    for (int step = 0; step < 4000; step++) {
        random = random * 1664525u + 1013904223u;
        uint32_t record = (random >> 16) % RECORDS;
        if (is_in[record])
            record_index_remove(index, record);
        else
            record_index_add(index, record);
        is_in[record] = !is_in[record];
        for (uint32_t i = 0; i < RECORDS; i++) {
            uint32_t cursor = 0, found;
            do
                found = record_index_find(index, span_of(records[i].id),
                                          records[i].choice, &cursor);
            while (found != RECORD_NONE && found != i);
            cr_assert_eq(found == i, is_in[i]);
        }
    }
    record_index_destroy(index);
    free(records);
}
