/* frontends.h - what each frontend has been told, so that every token arrives once.
 *
 * Rules:   a poll's number acknowledges the reply before it. A number sent again tells
 *          the events of its lost reply once more, and whatever came since. A cursor sets
 *          where its frontend stands with a request, and makes it that frontend's. A
 *          cursor of a request that nobody knows is told as failed: its record is gone.
 * Memory:  cursors live in the scheduler's own memory: after a restart, frontends bring
 *          theirs. A frontend that is silent for long is forgotten, and its ended
 *          requests may be, too; its running ones go on, and another may claim them.
 * Layer:   no I/O and no clock, but it allocates: once at create, and for the list of
 *          lost requests of a re-attach.
 */
#ifndef ROPEWAY_SCHEDULER_FRONTENDS_H
#define ROPEWAY_SCHEDULER_FRONTENDS_H

#include "common/base/time_units.h"
#include "scheduler/core/scheduler.h"

#define FRONTENDS_MAX           64 /* one is usual, a few while they are replaced */
#define FRONTEND_SILENCE_NS_MAX (60 * NS_PER_S) /* many polls, and a slow restart */
#define POLL_HOLD_MS_MAX        30000 /* below the silence that ends a frontend */
#define HELD_NONE               UINT32_MAX

struct frontends;

/* NULL when memory is out. Both are borrowed. */
struct frontends *frontends_create(const struct control *control,
                                   struct scheduler *scheduler);
void frontends_destroy(struct frontends *frontends);

/* Makes the frontend known, or hears from it again. STATUS_OVERLOADED: there are too
 * many. */
enum status frontends_meet(struct frontends *frontends, uint64_t frontend,
                           uint64_t now_ns, struct fault *fault);

/* A submit of a known frontend was accepted: its polls tell of the record from the first
 * token on, unless they do so already. */
void frontends_carry(struct frontends *frontends, uint32_t record, uint64_t frontend);

/* A cancel was accepted: tokens that were not told yet will not be. */
void frontends_freeze(struct frontends *frontends, uint32_t record);

/* The record has news. */
void frontends_note(struct frontends *frontends, uint32_t record);

/* Takes a met frontend's poll in; *dropped is the context of an older poll of it that was
 * still held, or HELD_NONE. The poll is held in context until it is ready.
 * STATUS_NOT_FOUND: this is not its first poll, but what it was told is not known here;
 * nothing is held, and its next poll must bring cursors. */
enum status frontends_poll(struct frontends *frontends, const struct poll_request *poll,
                           uint32_t context, uint64_t now_ns, uint32_t *dropped,
                           struct fault *fault);

/* The next held poll that has news or whose time is up: fills its reply and returns its
 * context, which is held no more; HELD_NONE. Events stand until the next call. */
uint32_t frontends_next_ready(struct frontends *frontends, uint64_t now_ns,
                              struct poll_reply *reply);

/* When the first held poll's time is up; UINT64_MAX when none is held. */
uint64_t frontends_next_deadline_ns(const struct frontends *frontends);

/* Forgets frontends that were silent for too long. */
void frontends_tidy(struct frontends *frontends, uint64_t now_ns);

#endif
