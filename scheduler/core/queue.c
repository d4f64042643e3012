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
