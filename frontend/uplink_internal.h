/* uplink_internal.h - shared by uplink.c (calls) and uplink_poll.c (the poll). */
#ifndef ROPEWAY_FRONTEND_UPLINK_INTERNAL_H
#define ROPEWAY_FRONTEND_UPLINK_INTERNAL_H

#include "common/os/link.h"
#include "frontend/uplink.h"

struct uplink_call;

struct uplink {
    uint64_t frontend; /* our identity, random */
    struct uplink_events events;
    struct buffer out, arena;
    uint32_t handles_open;

    /* calls */
    struct link_client *calls_link;
    uv_async_t calls_wake;
    uv_timer_t beat;           /* asks for the status once a second */
    struct uplink_call *calls; /* all, in a list */
    struct uplink_call *waiting_first, *waiting_last; /* for a context */
    uint32_t calls_count;
    uint64_t heard_ns; /* when the scheduler last answered; 0: never */
    uint32_t context_length;

    /* the poll */
    struct link_client *poll_link;
    uv_async_t poll_wake;
    uv_timer_t poll_pause; /* after an error, so that it does not spin */
    uint64_t poll_number;
    uint32_t generation; /* 0: not known yet */
    bool poll_cursors;   /* the next poll brings cursors */
};

enum status uplink_poll_open(struct uplink *uplink, uv_loop_t *loop, const char *url,
                             struct fault *fault);
void uplink_poll_close(struct uplink *uplink);

/* Counts a closed handle, and frees the uplink with the last. */
void uplink_on_closed(uv_handle_t *handle);

#endif
