#include "common/text/merger.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

/* A join of two symbols that were neighbours, size bytes together, when it was found. */
struct candidate {
    uint64_t rank; /* order, then the left symbol's number */
    uint32_t right;
    uint32_t size;
    uint32_t id;
};

void merger_init(struct merger *merger)
{
    *merger = (struct merger){0};
}

void merger_fini(struct merger *merger)
{
    free(merger->symbols);
    free(merger->heap);
    *merger = (struct merger){0};
}

void merger_clear(struct merger *merger)
{
    merger->symbols_count = 0;
    merger->heap_count = 0;
}

/* Makes room for one more of count elements of size bytes; NULL when memory is out. */
static void *grown(void *elements, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return elements;
    uint32_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void *memory = wanted > *capacity ? realloc(elements, wanted * size) : NULL;
    if (memory)
        *capacity = wanted;
    return memory;
}

bool merger_add(struct merger *merger, uint32_t start, uint32_t size, uint32_t id)
{
    uint32_t at = merger->symbols_count;
    struct symbol *symbols =
        grown(merger->symbols, at, &merger->symbols_capacity, sizeof *merger->symbols);
    if (!symbols)
        return false;
    merger->symbols = symbols;
    symbols[at] =
        (struct symbol){start, size, at ? at - 1 : SYMBOL_NONE, SYMBOL_NONE, id};
    if (at > 0)
        symbols[at - 1].next = at;
    merger->symbols_count++;
    return true;
}

static bool heap_push(struct merger *merger, struct candidate candidate)
{
    struct candidate *heap =
        grown(merger->heap, merger->heap_count, &merger->heap_capacity, sizeof *heap);
    if (!heap)
        return false;
    merger->heap = heap;
    uint32_t at = merger->heap_count++;
    while (at > 0 && heap[(at - 1) / 2].rank > candidate.rank) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = candidate;
    return true;
}

static struct candidate heap_pop(struct merger *merger)
{
    struct candidate *heap = merger->heap;
    struct candidate top = heap[0], last = heap[--merger->heap_count];
    uint32_t at = 0, count = merger->heap_count;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].rank < heap[child].rank)
            child++;
        if (last.rank <= heap[child].rank)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* What one run works with. */
struct run {
    struct merger *merger;
    const char *text;
    merger_pair *pair;
    const void *rules;
};

/* Notes that left and right might be joined. False when memory is out. */
static bool consider(const struct run *run, uint32_t left, uint32_t right)
{
    if (left == SYMBOL_NONE || right == SYMBOL_NONE)
        return true;
    const struct symbol *symbols = run->merger->symbols;
    struct join join;
    if (!run->pair(run->rules, run->text, &symbols[left], &symbols[right], &join))
        return true;
    return heap_push(run->merger, (struct candidate){
                                      (uint64_t)join.order << 32 | left, right,
                                      symbols[left].size + symbols[right].size, join.id});
}

/* Joins right into left, and looks at the neighbours that it has now. A symbol only ever
 * grows by taking in the one to its right, so two sizes that still add up, with neither
 * symbol gone, are the symbols that were looked at. */
static bool apply(const struct run *run, const struct candidate *candidate)
{
    struct symbol *symbols = run->merger->symbols;
    uint32_t at = (uint32_t)candidate->rank;
    struct symbol *left = &symbols[at], *right = &symbols[candidate->right];
    if (left->size == 0 || right->size == 0 ||
        left->size + right->size != candidate->size)
        return true;
    left->size = candidate->size;
    left->id = candidate->id;
    left->next = right->next;
    right->size = 0;
    if (left->next != SYMBOL_NONE)
        symbols[left->next].previous = at;
    return consider(run, left->previous, at) && consider(run, at, left->next);
}

bool merger_run(struct merger *merger, const char *text, merger_pair *pair,
                const void *rules)
{
    const struct run run = {merger, text, pair, rules};
    for (uint32_t at = 1; at < merger->symbols_count; at++)
        if (!consider(&run, at - 1, at))
            return false;
    while (merger->heap_count > 0) {
        struct candidate best = heap_pop(merger);
        if (!apply(&run, &best))
            return false;
    }
    return true;
}
