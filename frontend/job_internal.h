/* job_internal.h - shared by job.c (life), job_prepare.c (from body to tokens),
 * job_table.c (finding) and job_answer.c (from events to answer). */
#ifndef ROPEWAY_FRONTEND_JOB_INTERNAL_H
#define ROPEWAY_FRONTEND_JOB_INTERNAL_H

#include "common/text/tokenizer.h"
#include "frontend/core/generation.h"
#include "frontend/job.h"
#include <uv.h>

enum job_state { JOB_PREPARING, JOB_SUBMITTING, JOB_RUNNING, JOB_GONE };

/* Where a choice stands with the scheduler. */
enum submit_state { SUBMIT_NONE, SUBMIT_ASKED, SUBMIT_ACCEPTED };

struct job_choice {
    enum submit_state submit;
    uint64_t last_token_ns; /* 0: none yet */
};

struct job {
    struct job *next; /* of its bucket */
    struct server *server;
    struct sink *sink; /* NULL once answered or left */
    enum job_state state;
    uint32_t calls_depth;     /* of job.c on the stack: it is freed at 0 */
    uint32_t submits_pending; /* without an answer */
    bool working;             /* on a thread of the pool */
    bool never_streams;
    uv_work_t work;

    char id[REQUEST_ID_BYTES];
    char request_id[REQUEST_ID_BYTES]; /* of the answer's header */
    struct buffer body;
    unsigned char body_digest[32];
    uint64_t started_ns;
    int64_t started_unix_s;
    uint32_t context_length;

    struct generation_request request;
    struct token_list *prompts; /* request.prompts_count, or 1 for a chat */
    uint32_t prompts_count;
    uint32_t max_tokens[CHOICES_MAX]; /* of each prompt */
    struct answer_format format;
    struct generation generation;
    struct job_choice choices[CHOICES_MAX];
    uint32_t choices_count;

    struct fault fault; /* of preparing or submitting; STATUS_OK: none */
    uint32_t retry_after_s;
};

/* job_prepare.c: fills request, prompts and format from body; on any thread. */
enum status job_prepare(struct job *job);
void job_prepare_fini(struct job *job);

/* job.c: answers it with fault, unless it is answered, and ends what runs of it. */
void job_end(struct job *job, const struct fault *fault);

/* job_table.c */
void job_table_add(struct job_table *table, struct job *job);
void job_table_remove(struct job_table *table, struct job *job);
/* The most choices that the scheduler may hold for us at once. */
bool job_table_reserve(struct job_table *table, uint32_t choices_count);
void job_table_unreserve(struct job_table *table, uint32_t choices_count);

/* The id of a choice at the scheduler, and its number there. */
uint32_t job_wire_choice(const struct job *job, uint32_t index,
                         char id[REQUEST_ID_BYTES]);

/* job.c: an event of one of its choices. */
void job_take_event(struct job *job, uint32_t index, const struct poll_event *event);

/* job_answer.c */
void job_answer_begin(struct job *job);
void job_answer_news(struct job *job, uint32_t index);
/* The generation is over: gives the rest, or all. */
void job_answer_end(struct job *job);
void job_answer_fault(struct job *job, const struct fault *fault, uint32_t retry_after_s);
void job_measure(struct job *job, uint32_t index, uint32_t tokens_before,
                 const struct poll_event *event);

#endif
