#include "scheduler/core/queue.h"

#include "common/base/invariant.h"
#include <stddef.h>

void queue_init(struct queue *queue, struct queue_node *nodes)
{
    *queue = (struct queue){.nodes = nodes, .head = QUEUE_END, .tail = QUEUE_END};
}

/* Links index in behind previous, or first when previous is QUEUE_END. */
static void link_behind(struct queue *queue, uint32_t index, uint32_t previous)
{
    struct queue_node *node = &queue->nodes[index];
    INVARIANT(node->owner == NULL);
    node->owner = queue;
    node->previous = previous;
    node->next = previous == QUEUE_END ? queue->head : queue->nodes[previous].next;
    if (previous == QUEUE_END)
        queue->head = index;
    else
        queue->nodes[previous].next = index;
    if (node->next == QUEUE_END)
        queue->tail = index;
    else
        queue->nodes[node->next].previous = index;
    queue->count++;
}

void queue_push(struct queue *queue, uint32_t index)
{
    link_behind(queue, index, queue->tail);
}

void queue_insert(struct queue *queue, uint32_t index, queue_order *goes_before,
                  const void *context)
{
    uint32_t previous = queue->tail;
    while (previous != QUEUE_END && goes_before(context, index, previous))
        previous = queue->nodes[previous].previous;
    link_behind(queue, index, previous);
}

/* What a sort needs on its way down. */
struct sorting {
    struct queue_node *nodes;
    queue_order *goes_before;
    const void *context;
};

/* Two sorted lists as one, by their next alone; the first one's come first among equals.
 */
static uint32_t merge(const struct sorting *sorting, uint32_t first, uint32_t second)
{
    uint32_t head = QUEUE_END, *end = &head;
    while (first != QUEUE_END && second != QUEUE_END) {
        uint32_t *least =
            sorting->goes_before(sorting->context, second, first) ? &second : &first;
        *end = *least;
        end = &sorting->nodes[*least].next;
        *least = *end;
    }
    *end = first != QUEUE_END ? first : second;
    return head;
}

/* Sorts the count nodes from *rest on, which must be there, and moves *rest behind them.
 */
static uint32_t sort_run(const struct sorting *sorting, uint32_t count, uint32_t *rest)
{
    if (count == 1) {
        uint32_t head = *rest;
        *rest = sorting->nodes[head].next;
        sorting->nodes[head].next = QUEUE_END;
        return head;
    }
    uint32_t first = sort_run(sorting, count / 2, rest);
    uint32_t second = sort_run(sorting, count - count / 2, rest);
    return merge(sorting, first, second);
}

void queue_sort(struct queue *queue, queue_order *goes_before, const void *context)
{
    struct sorting sorting = {queue->nodes, goes_before, context};
    uint32_t rest = queue->head;
    if (queue->count == 0)
        return;
    queue->head = sort_run(&sorting, queue->count, &rest);
    queue->tail = QUEUE_END;
    for (uint32_t i = queue->head; i != QUEUE_END; i = queue->nodes[i].next) {
        queue->nodes[i].previous = queue->tail;
        queue->tail = i;
    }
}

void queue_remove(struct queue *queue, uint32_t index)
{
    struct queue_node *node = &queue->nodes[index];
    INVARIANT(node->owner == queue);
    if (node->previous == QUEUE_END)
        queue->head = node->next;
    else
        queue->nodes[node->previous].next = node->next;
    if (node->next == QUEUE_END)
        queue->tail = node->previous;
    else
        queue->nodes[node->next].previous = node->previous;
    *node = (struct queue_node){.next = QUEUE_END, .previous = QUEUE_END};
    queue->count--;
}

uint32_t queue_pop(struct queue *queue)
{
    uint32_t index = queue->head;
    if (index != QUEUE_END)
        queue_remove(queue, index);
    return index;
}
