/* link_inbox.h - contexts whose message has come, in order, from nng's threads to the
 * owner.
 *
 * Bound: each context is in it once at most, so it never holds more than contexts_count.
 * Not for others than link_server.c and link_client.c.
 */
#ifndef ROPEWAY_COMMON_OS_LINK_INBOX_H
#define ROPEWAY_COMMON_OS_LINK_INBOX_H

#include "common/os/link.h"
#include <pthread.h>

struct link_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    uint32_t *contexts; /* ring */
    uint32_t capacity;
    uint32_t first, count;
    link_wake *wake; /* may be NULL */
    void *wake_data;
};

/* False when memory is out. */
bool link_inbox_init(struct link_inbox *inbox, uint32_t capacity, link_wake *wake,
                     void *wake_data);
void link_inbox_fini(struct link_inbox *inbox);

/* From any thread; wakes the owner. */
void link_inbox_push(struct link_inbox *inbox, uint32_t context);
bool link_inbox_pop(struct link_inbox *inbox, uint32_t *context);
/* Sleeps until there is one. */
uint32_t link_inbox_wait(struct link_inbox *inbox);

#endif
