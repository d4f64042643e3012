#include "scheduler/core/heap_pages.h"

#include "common/base/invariant.h"
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u

struct heap_pages {
    uint32_t pages_count;
    uint32_t free_count;
    uint32_t words_count;
    uint64_t *taken; /* bit p % 64 of word p / 64 */
};

struct heap_pages *heap_pages_create(uint32_t pages_count)
{
    struct heap_pages *heap = calloc(1, sizeof *heap);
    if (heap == NULL)
        return NULL;
    heap->pages_count = pages_count;
    heap->words_count = pages_count / WORD_BITS + 1;
    heap->taken = calloc(heap->words_count, sizeof *heap->taken);
    if (heap->taken == NULL) {
        free(heap);
        return NULL;
    }
    heap->free_count = pages_count;
    return heap;
}

void heap_pages_destroy(struct heap_pages *heap)
{
    if (heap == NULL)
        return;
    free(heap->taken);
    free(heap);
}

uint32_t heap_pages_free_count(const struct heap_pages *heap)
{
    return heap->free_count;
}

static bool is_taken(const struct heap_pages *heap, uint32_t page)
{
    return heap->taken[page / WORD_BITS] >> (page % WORD_BITS) & 1u;
}

static void flip(struct heap_pages *heap, uint32_t page, uint32_t count)
{
    for (uint32_t i = page; i < page + count; i++)
        heap->taken[i / WORD_BITS] ^= UINT64_C(1) << (i % WORD_BITS);
}

uint32_t heap_pages_take(struct heap_pages *heap, uint32_t count)
{
    INVARIANT(count > 0);
    uint32_t run = 0;
    for (uint32_t page = 0; page < heap->pages_count; page++) {
        /* A full word holds no run: step over it whole. */
        if (page % WORD_BITS == 0 && heap->taken[page / WORD_BITS] == UINT64_MAX) {
            run = 0;
            page += WORD_BITS - 1;
            continue;
        }
        run = is_taken(heap, page) ? 0 : run + 1;
        if (run == count) {
            uint32_t first = page + 1 - count;
            flip(heap, first, count);
            heap->free_count -= count;
            return first;
        }
    }
    return HEAP_PAGE_NONE;
}

void heap_pages_release(struct heap_pages *heap, uint32_t page, uint32_t count)
{
    INVARIANT(page < heap->pages_count && count <= heap->pages_count - page);
    for (uint32_t i = page; i < page + count; i++)
        INVARIANT(is_taken(heap, i));
    flip(heap, page, count);
    heap->free_count += count;
}

void heap_pages_clear(struct heap_pages *heap)
{
    memset(heap->taken, 0, heap->words_count * sizeof *heap->taken);
    heap->free_count = heap->pages_count;
}

bool heap_pages_claim(struct heap_pages *heap, uint32_t page, uint32_t count)
{
    if (page >= heap->pages_count || count > heap->pages_count - page)
        return false;
    for (uint32_t i = page; i < page + count; i++)
        if (is_taken(heap, i))
            return false;
    flip(heap, page, count);
    heap->free_count -= count;
    return true;
}

bool heap_pages_equal(const struct heap_pages *a, const struct heap_pages *b)
{
    return a->pages_count == b->pages_count && a->free_count == b->free_count &&
           memcmp(a->taken, b->taken, a->words_count * sizeof *a->taken) == 0;
}
