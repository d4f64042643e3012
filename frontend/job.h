/* job.h - one generation request of a client, from its body to its answer.
 *
 * Thread:  the loop's; the making of a large body's prompt runs on a thread of libuv's
 *          pool.
 * Life:    preparing (JSON, checks, template, tokens) -> submitting (one submit a choice)
 *          -> running (events) -> answered. A client that leaves turns it to gone at any
 *          point: what the scheduler has of it is cancelled at once, and what it answers
 *          to submits still under way is cancelled as it comes.
 * Ids:     "cmpl-" or "chatcmpl-" and random digits name the answer. At the scheduler the
 *          choices of a prompt carry that id; of several prompts each has "-0", "-1", …
 *          to it, so that a prompt's text does not depend on its neighbours in the array.
 * Lengths: prompt and max_tokens must fit the context, on both endpoints; an absent
 *          max_tokens is 16 for a completion (OpenAI's) and JOB_CHAT_TOKENS for a chat,
 *          or what is left of the context.
 */
#ifndef ROPEWAY_FRONTEND_JOB_H
#define ROPEWAY_FRONTEND_JOB_H

#include "frontend/core/generation_request.h"
#include "frontend/sink.h"
#include "frontend/uplink.h"

#define JOB_COMPLETION_TOKENS 16   /* OpenAI's default */
#define JOB_CHAT_TOKENS       2048 /* a long answer; who wants more says so */

struct server;
struct job_table;

/* What a request comes with. */
struct job_input {
    enum answer_kind kind;
    struct buffer *body;    /* its memory is taken, and it is left empty */
    struct span request_id; /* of the client, for the answer's header; may be empty */
    bool never_streams;     /* the door's callers get whole answers */
};

/* NULL when memory is out. */
struct job_table *job_table_create(struct server *server);
/* No job may be left. */
void job_table_destroy(struct job_table *table);
uint32_t job_table_count(const struct job_table *table);
void job_table_events(struct job_table *table, struct uplink_events *events);
/* The server ends: every request that is not answered yet is answered with fault. */
void job_table_end(struct job_table *table, const struct fault *fault);

/* Takes the request in; sink gets the answer, perhaps before the return. */
void job_start(struct server *server, const struct job_input *input, struct sink *sink);

#endif
