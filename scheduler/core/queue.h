/* queue.h - ordered lists of record numbers, linked through nodes that their owner keeps.
 *
 * Layer:   scheduler/core (pure; allocates nothing).
 * Holds:   a node is in at most one queue at a time, and knows which: taking it out of
 *          another, or putting it in twice, is an INVARIANT. Every change is O(1), but
 *          queue_insert, which walks from the tail to the place, and queue_sort.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_QUEUE_H
#define ROPEWAY_SCHEDULER_CORE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_END UINT32_MAX

struct queue;

struct queue_node {
    uint32_t next, previous;
    const struct queue *owner; /* NULL: in none */
};

struct queue {
    struct queue_node *nodes; /* borrowed; node i is record i's */
    uint32_t head, tail;
    uint32_t count;
};

/* True when a goes before b. */
typedef bool queue_order(const void *context, uint32_t a, uint32_t b);

void queue_init(struct queue *queue, struct queue_node *nodes);
void queue_push(struct queue *queue, uint32_t index);
/* Behind every one that index does not go before: equals keep their order. */
void queue_insert(struct queue *queue, uint32_t index, queue_order *goes_before,
                  const void *context);
/* Equals keep their order. Takes time n log n, and log n of stack. */
void queue_sort(struct queue *queue, queue_order *goes_before, const void *context);
void queue_remove(struct queue *queue, uint32_t index);
/* The head, removed; QUEUE_END when empty. */
uint32_t queue_pop(struct queue *queue);

static inline bool queue_holds(const struct queue *queue, uint32_t index)
{
    return queue->nodes[index].owner == queue;
}

static inline uint32_t queue_next(const struct queue *queue, uint32_t index)
{
    return queue->nodes[index].next;
}

#endif
