/* service.h - answers the messages of frontends, workers and tools.
 *
 * Every message gets exactly one reply: a malformed one says what is wrong with it; a
 * poll is held until there is news, a drain until nothing is left or its time is up.
 */
#ifndef ROPEWAY_SCHEDULER_SERVICE_H
#define ROPEWAY_SCHEDULER_SERVICE_H

#include "common/os/link.h"
#include "scheduler/frontends.h"
#include "scheduler/workers.h"

struct service {
    const struct control *control;
    struct scheduler *scheduler;
    struct frontends *frontends;
    struct workers *workers;
    struct link_server *server;
    uint32_t prefill_chunk;
    struct buffer out;      /* the reply being written */
    struct buffer arena;    /* arrays of the message being read */
    uint32_t drain_context; /* of the drain that waits, or HELD_NONE */
    uint64_t drain_until_ns;
};

/* All pointers are borrowed. */
void service_init(struct service *service, const struct control *control,
                  struct scheduler *scheduler, struct frontends *frontends,
                  struct workers *workers, uint32_t prefill_chunk);
void service_fini(struct service *service);

/* Takes in messages that have come, so many that steps need not wait long for them. True
 * when more may be there. */
bool service_receive(struct service *service, uint64_t now_ns);

/* Answers held polls and drains whose time has come. */
void service_answer_held(struct service *service, uint64_t now_ns);

/* When service_answer_held will have something to do even without news. */
uint64_t service_next_deadline_ns(const struct service *service);

#endif
