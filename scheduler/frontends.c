#include "scheduler/frontends.h"

#include "common/base/invariant.h"
#include "scheduler/core/request.h"
#include <stdlib.h>

/* What an event takes in a reply beside its tokens and logprobs, generously: id,
 * sentence, numbers and their names. */
#define EVENT_BYTES 1024u

/* A request that a frontend asked about and nobody knows. */
struct lost_request {
    char id[REQUEST_ID_BYTES];
    uint32_t choice, tokens_count;
};

struct frontend {
    uint64_t id;     /* 0: the place is free */
    uint64_t number; /* of the poll that came last */
    uint64_t last_seen_ns;
    struct queue records; /* those with an end that is not acknowledged yet */
    bool has_news;
    uint32_t held_context; /* of the poll that waits, or HELD_NONE */
    uint64_t held_until_ns;
    struct lost_request *lost; /* told as failed, in order */
    uint32_t lost_count, lost_told, lost_acknowledged;
};

/* Where a frontend stands with a record. Counts are of generated tokens. */
struct standing {
    struct frontend *frontend; /* NULL: nobody is told of it */
    uint32_t told, acknowledged;
    uint32_t limit; /* tokens beyond it are not told: it was cancelled */
    bool end_told;
};

struct frontends {
    const struct control *control;
    struct scheduler *scheduler;
    struct frontend places[FRONTENDS_MAX];
    struct standing *standings; /* [records_count] */
    struct queue_node *nodes;   /* [records_count], of the frontends' queues */
    struct poll_event events[POLL_EVENTS_MAX];
};

struct frontends *frontends_create(const struct control *control,
                                   struct scheduler *scheduler)
{
    uint32_t records_count = control->header->geometry.records_count;
    struct frontends *frontends = calloc(1, sizeof *frontends);
    if (frontends == NULL)
        return NULL;
    frontends->control = control;
    frontends->scheduler = scheduler;
    frontends->standings = calloc(records_count, sizeof *frontends->standings);
    frontends->nodes = calloc(records_count, sizeof *frontends->nodes);
    if (frontends->standings == NULL || frontends->nodes == NULL) {
        frontends_destroy(frontends);
        return NULL;
    }
    return frontends;
}

void frontends_destroy(struct frontends *frontends)
{
    if (frontends == NULL)
        return;
    for (uint32_t i = 0; i < FRONTENDS_MAX; i++)
        free(frontends->places[i].lost);
    free(frontends->nodes);
    free(frontends->standings);
    free(frontends);
}

static struct frontend *find(struct frontends *frontends, uint64_t id)
{
    for (uint32_t i = 0; i < FRONTENDS_MAX; i++)
        if (frontends->places[i].id == id)
            return &frontends->places[i];
    return NULL;
}

enum status frontends_meet(struct frontends *frontends, uint64_t id, uint64_t now_ns,
                           struct fault *fault)
{
    if (id == 0)
        return fault_set(fault, STATUS_INVALID, "frontend",
                         "frontend must be another number than 0");
    struct frontend *frontend = find(frontends, id);
    if (frontend == NULL) {
        frontend = find(frontends, 0);
        if (frontend == NULL)
            return fault_set(fault, STATUS_OVERLOADED, "frontend",
                             "%u frontends are attached already", FRONTENDS_MAX);
        *frontend = (struct frontend){.id = id, .held_context = HELD_NONE};
        queue_init(&frontend->records, frontends->nodes);
    }
    frontend->last_seen_ns = now_ns;
    return STATUS_OK;
}

static void leave(struct frontends *frontends, uint32_t record)
{
    struct standing *standing = &frontends->standings[record];
    if (standing->frontend == NULL)
        return;
    queue_remove(&standing->frontend->records, record);
    standing->frontend = NULL;
}

/* frontend has the first tokens_count of the record, and is told the rest. */
static void stand_at(struct frontends *frontends, struct frontend *frontend,
                     uint32_t record, uint32_t tokens_count)
{
    uint32_t generated = request_generated_count(&frontends->control->records[record]);
    uint32_t known = tokens_count < generated ? tokens_count : generated;
    leave(frontends, record);
    scheduler_set_frontend(frontends->scheduler, record, frontend->id);
    frontends->standings[record] = (struct standing){
        .frontend = frontend, .told = known, .acknowledged = known, .limit = UINT32_MAX};
    queue_push(&frontend->records, record);
    frontend->has_news = true;
}

void frontends_carry(struct frontends *frontends, uint32_t record, uint64_t id)
{
    struct frontend *frontend = find(frontends, id);
    INVARIANT(frontend != NULL);
    if (frontends->standings[record].frontend != frontend)
        stand_at(frontends, frontend, record, 0);
}

void frontends_freeze(struct frontends *frontends, uint32_t record)
{
    struct standing *standing = &frontends->standings[record];
    if (standing->frontend != NULL && !standing->end_told &&
        standing->told < standing->limit)
        standing->limit = standing->told;
}

void frontends_note(struct frontends *frontends, uint32_t record)
{
    struct frontend *frontend = frontends->standings[record].frontend;
    if (frontend != NULL)
        frontend->has_news = true;
}

/* The reply to the poll before this one has arrived. */
static void acknowledge(struct frontends *frontends, struct frontend *frontend)
{
    uint32_t record = frontend->records.head;
    while (record != QUEUE_END) {
        uint32_t next = queue_next(&frontend->records, record);
        struct standing *standing = &frontends->standings[record];
        standing->acknowledged = standing->told;
        if (standing->end_told) {
            leave(frontends, record);
            scheduler_set_end_told(frontends->scheduler, record, true);
        }
        record = next;
    }
    frontend->lost_acknowledged = frontend->lost_told;
}

/* The reply was lost: all since the last acknowledged one is news again. */
static void take_back(struct frontends *frontends, struct frontend *frontend)
{
    for (uint32_t record = frontend->records.head; record != QUEUE_END;
         record = queue_next(&frontend->records, record)) {
        struct standing *standing = &frontends->standings[record];
        standing->told = standing->acknowledged;
        standing->end_told = false;
    }
    frontend->lost_told = frontend->lost_acknowledged;
    frontend->has_news = true;
}

static void add_lost(struct frontend *frontend, const struct poll_cursor *cursor)
{
    struct lost_request *lost = &frontend->lost[frontend->lost_count++];
    memset(lost, 0, sizeof *lost);
    memcpy(lost->id, cursor->id.data, cursor->id.size);
    lost->choice = cursor->choice;
    lost->tokens_count = cursor->tokens_count;
    frontend->has_news = true;
}

/* A re-attach: the cursors say where the frontend stands. */
static void take_cursors(struct frontends *frontends, struct frontend *frontend,
                         const struct poll_request *poll)
{
    free(frontend->lost);
    frontend->lost = calloc(poll->cursors_count, sizeof *frontend->lost);
    frontend->lost_count = frontend->lost_told = frontend->lost_acknowledged = 0;
    for (uint32_t i = 0; i < poll->cursors_count; i++) {
        const struct poll_cursor *cursor = &poll->cursors[i];
        uint32_t record = scheduler_find(frontends->scheduler, frontend->id, cursor->id,
                                         cursor->choice);
        if (record != RECORD_NONE)
            stand_at(frontends, frontend, record, cursor->tokens_count);
        else if (frontend->lost != NULL && cursor->id.size < REQUEST_ID_BYTES)
            add_lost(frontend, cursor);
    }
}

enum status frontends_poll(struct frontends *frontends, const struct poll_request *poll,
                           uint32_t context, uint64_t now_ns, uint32_t *dropped,
                           struct fault *fault)
{
    struct frontend *frontend = find(frontends, poll->frontend);
    INVARIANT(frontend != NULL);
    *dropped = frontend->held_context;
    frontend->held_context = HELD_NONE;
    bool is_first = frontend->number == 0;
    if (is_first && poll->number != 1 && poll->cursors_count == 0)
        return fault_set(fault, STATUS_NOT_FOUND, "number",
                         "this scheduler does not know what the frontend was told: the "
                         "next poll must bring cursors");
    if (poll->number == frontend->number + 1)
        acknowledge(frontends, frontend);
    else
        take_back(frontends, frontend);
    frontend->number = poll->number;
    if (poll->cursors_count > 0)
        take_cursors(frontends, frontend, poll);
    uint64_t hold_ms =
        poll->hold_ms < POLL_HOLD_MS_MAX ? poll->hold_ms : POLL_HOLD_MS_MAX;
    frontend->held_context = context;
    frontend->held_until_ns = now_ns + hold_ms * NS_PER_MS;
    return STATUS_OK;
}

/* Tokens of the record that may be told. */
static uint32_t tellable_count(const struct frontends *frontends, uint32_t record)
{
    uint32_t generated = request_generated_count(&frontends->control->records[record]);
    uint32_t limit = frontends->standings[record].limit;
    return generated < limit ? generated : limit;
}

static bool is_news(const struct frontends *frontends, uint32_t record)
{
    const struct standing *standing = &frontends->standings[record];
    bool is_done = request_state(&frontends->control->records[record]) == REQUEST_DONE;
    return (is_done && !standing->end_told) ||
           standing->told < tellable_count(frontends, record);
}

static void describe_times(const struct request_record *record, uint64_t now_ns,
                           struct poll_event *event)
{
    uint64_t end_ns = record->finished_ns != 0 ? record->finished_ns : now_ns;
    uint64_t first_ns = record->first_token_ns != 0 ? record->first_token_ns : end_ns;
    uint64_t admitted_ns = record->admitted_ns != 0 ? record->admitted_ns : end_ns;
    event->queue_ns = admitted_ns - record->arrived_ns;
    event->prefill_ns = first_ns > admitted_ns ? first_ns - admitted_ns : 0;
    event->decode_ns = end_ns > first_ns ? end_ns - first_ns : 0;
}

/* The end is told only together with the last token. */
static void describe_end(const struct request_record *record, struct poll_event *event)
{
    event->state = REQUEST_DONE;
    event->finish_reason = record->finish_reason;
    event->failure = (enum status)record->failure_status;
    event->sentence = span_of(record->failure);
}

/* Tells of one record within room bytes; returns the bytes used, 0 when not even one
 * token had room. */
static uint64_t tell_record(struct frontends *frontends, uint32_t index, uint64_t now_ns,
                            uint64_t room, struct poll_event *event)
{
    const struct request_record *record = &frontends->control->records[index];
    struct standing *standing = &frontends->standings[index];
    uint64_t token_bytes =
        sizeof(uint32_t) + record->logprobs_per_token * sizeof(struct logprob);
    uint32_t tellable = tellable_count(frontends, index);
    uint32_t count = tellable - standing->told;
    if (room < EVENT_BYTES + token_bytes)
        return 0;
    if (count > (room - EVENT_BYTES) / token_bytes)
        count = (uint32_t)((room - EVENT_BYTES) / token_bytes);
    struct extent extent = extent_view(frontends->control, record);
    const uint32_t *tokens = extent.tokens + record->prompt_tokens_count + standing->told;
    const struct logprob *logprobs =
        extent.logprobs + (size_t)standing->told * record->logprobs_per_token;
    *event = (struct poll_event){
        .id = span_of(record->id),
        .choice = record->choice,
        .from = standing->told,
        .tokens = {(const char *)tokens, count * sizeof *tokens},
        .logprobs = {(const char *)logprobs,
                     (size_t)count * record->logprobs_per_token * sizeof *logprobs},
        .logprobs_per_token = record->logprobs_per_token,
        .state = request_is_running(record) ? request_state(record) : REQUEST_DECODE,
        .prompt_tokens_count = record->prompt_tokens_count,
        .cached_tokens_count = record->cached_tokens_count};
    describe_times(record, now_ns, event);
    standing->told += count;
    if (request_state(record) == REQUEST_DONE && standing->told == tellable) {
        describe_end(record, event);
        standing->end_told = true;
    }
    return EVENT_BYTES + count * token_bytes;
}

static void tell_lost(struct frontend *frontend, struct poll_event *event)
{
    const struct lost_request *lost = &frontend->lost[frontend->lost_told++];
    *event = (struct poll_event){
        .id = span_of(lost->id),
        .choice = lost->choice,
        .from = lost->tokens_count,
        .state = REQUEST_DONE,
        .finish_reason = FINISH_FAILED,
        .failure = STATUS_UNAVAILABLE,
        .sentence = SPAN_LITERAL("the scheduler was restarted and has no record of this "
                                 "request any more; send it again")};
}

/* Fills events with all that fits in one reply. Who was told goes behind the others, so
 * that a reply that is full does not leave the same ones out each time. */
static uint32_t tell(struct frontends *frontends, struct frontend *frontend,
                     uint64_t now_ns)
{
    uint64_t room = MESSAGE_BYTES_MAX - EVENT_BYTES;
    uint32_t count = 0;
    while (count < POLL_EVENTS_MAX && frontend->lost_told < frontend->lost_count) {
        tell_lost(frontend, &frontends->events[count++]);
        room -= EVENT_BYTES;
    }
    uint32_t record = frontend->records.head;
    uint32_t left = frontend->records.count;
    frontend->has_news = frontend->lost_told < frontend->lost_count;
    for (; left > 0 && record != QUEUE_END; left--) {
        uint32_t next = queue_next(&frontend->records, record);
        if (is_news(frontends, record)) {
            uint64_t bytes = count < POLL_EVENTS_MAX
                                 ? tell_record(frontends, record, now_ns, room,
                                               &frontends->events[count])
                                 : 0;
            if (bytes == 0 || is_news(frontends, record))
                frontend->has_news = true;
            if (bytes == 0)
                break;
            room -= bytes;
            count++;
            queue_remove(&frontend->records, record);
            queue_push(&frontend->records, record);
        }
        record = next;
    }
    return count;
}

uint32_t frontends_next_ready(struct frontends *frontends, uint64_t now_ns,
                              struct poll_reply *reply)
{
    for (uint32_t i = 0; i < FRONTENDS_MAX; i++) {
        struct frontend *frontend = &frontends->places[i];
        if (frontend->id == 0 || frontend->held_context == HELD_NONE)
            continue;
        bool is_due = now_ns >= frontend->held_until_ns;
        uint32_t count = frontend->has_news ? tell(frontends, frontend, now_ns) : 0;
        if (count == 0 && !is_due)
            continue;
        *reply = (struct poll_reply){.status = STATUS_OK,
                                     .generation = frontends->control->header->generation,
                                     .number = frontend->number,
                                     .events = frontends->events,
                                     .events_count = count};
        uint32_t context = frontend->held_context;
        frontend->held_context = HELD_NONE;
        frontend->last_seen_ns = now_ns;
        return context;
    }
    return HELD_NONE;
}

uint64_t frontends_next_deadline_ns(const struct frontends *frontends)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (uint32_t i = 0; i < FRONTENDS_MAX; i++) {
        const struct frontend *frontend = &frontends->places[i];
        if (frontend->id != 0 && frontend->held_context != HELD_NONE &&
            frontend->held_until_ns < deadline_ns)
            deadline_ns = frontend->held_until_ns;
    }
    return deadline_ns;
}

static void forget(struct frontends *frontends, struct frontend *frontend)
{
    while (frontend->records.head != QUEUE_END) {
        uint32_t record = frontend->records.head;
        leave(frontends, record);
        scheduler_set_end_told(frontends->scheduler, record, true);
    }
    free(frontend->lost);
    *frontend = (struct frontend){.id = 0};
}

void frontends_tidy(struct frontends *frontends, uint64_t now_ns)
{
    for (uint32_t i = 0; i < FRONTENDS_MAX; i++) {
        struct frontend *frontend = &frontends->places[i];
        if (frontend->id != 0 && frontend->held_context == HELD_NONE &&
            now_ns - frontend->last_seen_ns >= FRONTEND_SILENCE_NS_MAX)
            forget(frontends, frontend);
    }
}
