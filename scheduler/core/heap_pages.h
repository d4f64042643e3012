/* heap_pages.h - first-fit extents of whole pages over a bitmap.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Holds:   a page's bit is 1 exactly while one record's extent contains it.
 * Rebuild: the authority is the records' extents: clear, then claim each of them.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_HEAP_PAGES_H
#define ROPEWAY_SCHEDULER_CORE_HEAP_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define HEAP_PAGE_NONE UINT32_MAX

struct heap_pages;

/* All pages free; NULL when memory is out. */
struct heap_pages *heap_pages_create(uint32_t pages_count);
void heap_pages_destroy(struct heap_pages *heap);

uint32_t heap_pages_free_count(const struct heap_pages *heap);

/* The first page of the lowest run of count free pages, taken; HEAP_PAGE_NONE when no run
 * is that long. */
uint32_t heap_pages_take(struct heap_pages *heap, uint32_t count);
void heap_pages_release(struct heap_pages *heap, uint32_t page, uint32_t count);

void heap_pages_clear(struct heap_pages *heap);
/* False when the run leaves the heap or a page of it is taken already. */
bool heap_pages_claim(struct heap_pages *heap, uint32_t page, uint32_t count);

bool heap_pages_equal(const struct heap_pages *a, const struct heap_pages *b);

#endif
