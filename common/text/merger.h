/* merger.h - joins neighbouring symbols, best pair first, until no pair may be joined.
 *
 * Layer:   common/text (pure).
 * Method:  symbols are a linked list over the text; possible joins wait in a heap, lowest
 *          order first and of equal ones the leftmost; joins whose symbols have changed
 *          since are skipped when they come up. n symbols take O(n log n).
 * Thread:  one merger a call; it keeps its memory from one run to the next.
 */
#ifndef ROPEWAY_COMMON_TEXT_MERGER_H
#define ROPEWAY_COMMON_TEXT_MERGER_H

#include "common/base/span.h"
#include <stdint.h>

#define SYMBOL_NONE UINT32_MAX

struct symbol {
    uint32_t start, size; /* in the text; size 0: joined into the symbol before it */
    uint32_t previous, next;
    uint32_t id; /* the token, or TOKEN_NONE */
};

/* A join and what it gives. */
struct join {
    uint32_t order;
    uint32_t id;
};

/* Whether left and right, neighbours in text, may be joined. */
typedef bool merger_pair(const void *rules, const char *text, const struct symbol *left,
                         const struct symbol *right, struct join *join);

struct candidate;

struct merger {
    struct symbol *symbols;
    uint32_t symbols_count, symbols_capacity;
    struct candidate *heap;
    uint32_t heap_count, heap_capacity;
};

void merger_init(struct merger *merger);
void merger_fini(struct merger *merger);

/* Begins a text anew. */
void merger_clear(struct merger *merger);

/* Appends a symbol; they are added in the text's order. False when memory is out. */
bool merger_add(struct merger *merger, uint32_t start, uint32_t size, uint32_t id);

/* Joins what can be. Afterwards symbols[0] and those after it along next are the result.
 * False when memory is out. */
bool merger_run(struct merger *merger, const char *text, merger_pair *pair,
                const void *rules);

#endif
