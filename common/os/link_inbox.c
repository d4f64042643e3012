#include "common/os/link_inbox.h"

#include "common/base/invariant.h"
#include <stdlib.h>

bool link_inbox_init(struct link_inbox *inbox, uint32_t capacity, link_wake *wake,
                     void *wake_data)
{
    *inbox =
        (struct link_inbox){.capacity = capacity, .wake = wake, .wake_data = wake_data};
    inbox->contexts = calloc(capacity, sizeof *inbox->contexts);
    pthread_mutex_init(&inbox->mutex, NULL);
    pthread_cond_init(&inbox->arrived, NULL);
    return inbox->contexts != NULL;
}

void link_inbox_fini(struct link_inbox *inbox)
{
    free(inbox->contexts);
    pthread_cond_destroy(&inbox->arrived);
    pthread_mutex_destroy(&inbox->mutex);
}

void link_inbox_push(struct link_inbox *inbox, uint32_t context)
{
    pthread_mutex_lock(&inbox->mutex);
    INVARIANT(inbox->count < inbox->capacity);
    inbox->contexts[(inbox->first + inbox->count++) % inbox->capacity] = context;
    pthread_cond_signal(&inbox->arrived);
    pthread_mutex_unlock(&inbox->mutex);
    if (inbox->wake)
        inbox->wake(inbox->wake_data);
}

/* The mutex is held and the inbox is not empty. */
static uint32_t take_first(struct link_inbox *inbox)
{
    uint32_t context = inbox->contexts[inbox->first];
    inbox->first = (inbox->first + 1) % inbox->capacity;
    inbox->count--;
    return context;
}

bool link_inbox_pop(struct link_inbox *inbox, uint32_t *context)
{
    pthread_mutex_lock(&inbox->mutex);
    bool any = inbox->count > 0;
    if (any)
        *context = take_first(inbox);
    pthread_mutex_unlock(&inbox->mutex);
    return any;
}

uint32_t link_inbox_wait(struct link_inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    while (inbox->count == 0)
        pthread_cond_wait(&inbox->arrived, &inbox->mutex);
    uint32_t context = take_first(inbox);
    pthread_mutex_unlock(&inbox->mutex);
    return context;
}
