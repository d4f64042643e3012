/* toy.h - a whole instance in ordinary memory, with a worker that computes a toy model.
 *
 * The toy's KV row of a position is a hash chained over the tokens so far, read from and
 * written into "KV blocks" through the record's block table; its next token follows from
 * the newest row. So a block given to two requests, a row computed twice at another place
 * or a step applied twice changes the output, and toy_expect tells it.
 */
#ifndef ROPEWAY_TESTS_SCHEDULER_TOY_H
#define ROPEWAY_TESTS_SCHEDULER_TOY_H

#include "scheduler/core/request.h"
#include "scheduler/core/scheduler.h"

#define TOY_VOCABULARY 97u
#define TOY_STOP_TOKEN 0u
#define TOY_TOKENS_MAX 512u
#define TOY_FRONTEND   7u

struct toy {
    struct control control;
    void *memory;
    uint64_t *kv; /* [blocks_count][block_size] */
    struct scheduler *scheduler;
    struct scheduler_options options;
    uint64_t now_ns;
};

/* A small instance: blocks of 4 tokens, a context of 64, 2 workers. */
struct geometry toy_geometry(uint32_t blocks_count, uint32_t slots_count,
                             uint32_t step_rows_max, uint32_t records_count);
struct scheduler_options toy_options(uint32_t prefill_chunk);

void toy_open(struct toy *toy, struct geometry geometry,
              struct scheduler_options options);
/* The scheduler dies, and a new one of the next generation adopts what it left. */
void toy_replace_scheduler(struct toy *toy);
void toy_close(struct toy *toy);

struct toy_request {
    const char *id;
    uint32_t prompt_count;
    uint32_t max_tokens;
    uint64_t seed;
    bool stops; /* at TOY_STOP_TOKEN */

    /* The prompt is tokens; or else its first shared_count tokens are those of every
     * prompt with that shared_id, and the rest its own. */
    const uint32_t *tokens;
    const char *shared_id;
    uint32_t shared_count;
    const char *owner; /* NULL: none */
    struct span salt;
};

/* Fills submit for the request. Its spans point into static storage until the next call.
 */
struct submit_request toy_submit_request(const struct toy_request *request);
enum status toy_submit_status(struct toy *toy, const struct submit_request *submit,
                              uint32_t *record, struct fault *fault);
/* Must be accepted; returns its record. */
uint32_t toy_submit(struct toy *toy, const struct toy_request *request);

/* What the request generates when it is alone; returns the count. */
uint32_t toy_expect(const struct toy_request *request, uint32_t tokens[TOY_TOKENS_MAX]);

/* The rows and results of a step's first sequences, without its done word. */
void toy_compute(struct toy *toy, uint32_t slot, uint32_t sequences_count);
/* The worker's part of a step: rows, results, done. */
void toy_run(struct toy *toy, uint32_t slot);
/* One whole turn of worker 0: plan, run, commit, check. False when nothing could run. */
bool toy_turn(struct toy *toy);
/* Turns until nothing runs any more; returns their number. */
uint32_t toy_finish_all(struct toy *toy);

/* scheduler_check, as a Criterion assertion. */
void toy_check(struct toy *toy);

static inline struct request_record *toy_record(struct toy *toy, uint32_t record)
{
    return &toy->control.records[record];
}

/* The record holds exactly what the request generates alone. */
bool toy_output_is_right(struct toy *toy, uint32_t record,
                         const struct toy_request *request);

#endif
