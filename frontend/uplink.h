/* uplink.h - the frontend's line to the scheduler: submits, cancels, status, and the one
 * poll through which all events come.
 *
 * Thread:  the loop's; nng completes elsewhere and wakes the loop.
 * Bounds:  UPLINK_CALLS_MAX calls wait or are on their way; a submit beyond is refused.
 * Lost replies: submits and cancels are idempotent and are sent again a few times. A poll
 *          is sent again with its number until its reply comes, so every event is taken
 *          exactly once (see message.h).
 * Another scheduler: when the generation changes, or the scheduler says that it does not
 *          know what we were told, the next poll brings the cursor of every choice; those
 *          that it does not know come back as failed.
 */
#ifndef ROPEWAY_FRONTEND_UPLINK_H
#define ROPEWAY_FRONTEND_UPLINK_H

#include "proto/message.h"
#include <uv.h>

#define UPLINK_CALLS_MAX 16384 /* four of each choice that a poll may tell of */

struct uplink;

/* What the owner of the generations does for the uplink. */
struct uplink_events {
    void (*event)(void *data, const struct poll_event *event);
    /* Fills up to most cursors, one for each accepted choice that has not finished. */
    uint32_t (*cursors)(void *data, struct poll_cursor *cursors, uint32_t most);
    void *data;
};

enum status uplink_open(struct uplink **uplink, uv_loop_t *loop, const char *url,
                        uint32_t context_length, const struct uplink_events *events,
                        struct fault *fault);
/* Ends all calls without an answer. Its memory goes when the loop has closed its handles.
 */
void uplink_close(struct uplink *uplink);

/* False when the scheduler has not answered for a few seconds. */
bool uplink_is_up(const struct uplink *uplink);

/* No submit and no cancel is under way. */
bool uplink_is_idle(const struct uplink *uplink);

/* The scheduler's --max-model-len as last told; before that, what was given to open. */
uint32_t uplink_context_length(const struct uplink *uplink);

/* reply's spans live until the return. */
typedef void uplink_submitted(void *data, uint32_t number,
                              const struct submit_reply *reply);

/* Fills the frontend's identity in and sends. False when too many calls are under way or
 * the message is too large: then submitted is not called; else it is, once, with the
 * caller's number, after the return. */
bool uplink_submit(struct uplink *uplink, struct submit_request *submit,
                   uplink_submitted *submitted, void *data, uint32_t number);

void uplink_cancel(struct uplink *uplink, const char *id, uint32_t choice,
                   enum finish_reason reason);

/* status is NULL while the scheduler is away. */
typedef void uplink_told(void *data, const struct status_reply *status);

/* Asks for the status; told is called once, perhaps before the return. */
void uplink_status(struct uplink *uplink, uplink_told *told, void *data);

/* No call's answer goes to data any more. */
void uplink_forget(struct uplink *uplink, const void *data);

/* Tokens are missing: the next poll brings the cursors. */
void uplink_resync(struct uplink *uplink);

#endif
