/* job_table.c - finds the job of an event by its id. */
#include "common/base/invariant.h"
#include "common/os/log.h"
#include "frontend/job_internal.h"
#include "frontend/server.h"
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS_COUNT 1024 /* a power of two, about the most connections */

struct job_table {
    struct server *server;
    struct job *buckets[BUCKETS_COUNT];
    uint32_t jobs_count;
    uint32_t choices_count; /* reserved */
};

struct job_table *job_table_create(struct server *server)
{
    struct job_table *table = calloc(1, sizeof *table);
    if (table)
        table->server = server;
    return table;
}

void job_table_destroy(struct job_table *table)
{
    INVARIANT(table->jobs_count == 0);
    free(table);
}

uint32_t job_table_count(const struct job_table *table)
{
    return table->jobs_count;
}

/* FNV-1a. */
static struct job **bucket_of(struct job_table *table, struct span id)
{
    uint32_t hash = 2166136261u;
    for (size_t at = 0; at < id.size; at++)
        hash = (hash ^ (unsigned char)id.data[at]) * 16777619u;
    return &table->buckets[hash & (BUCKETS_COUNT - 1)];
}

void job_table_add(struct job_table *table, struct job *job)
{
    struct job **bucket = bucket_of(table, span_of(job->id));
    job->next = *bucket;
    *bucket = job;
    table->jobs_count++;
}

void job_table_remove(struct job_table *table, struct job *job)
{
    struct job **place = bucket_of(table, span_of(job->id));
    while (*place != job)
        place = &(*place)->next;
    *place = job->next;
    table->jobs_count--;
}

bool job_table_reserve(struct job_table *table, uint32_t choices_count)
{
    if (choices_count > POLL_CURSORS_MAX - table->choices_count)
        return false;
    table->choices_count += choices_count;
    return true;
}

void job_table_unreserve(struct job_table *table, uint32_t choices_count)
{
    INVARIANT(choices_count <= table->choices_count);
    table->choices_count -= choices_count;
}

static struct job *find(struct job_table *table, struct span id)
{
    struct job *job = *bucket_of(table, id);
    while (job && !span_equal(id, span_of(job->id)))
        job = job->next;
    return job;
}

/* Takes "-12" off the id's end, where one of several prompts is meant. */
static uint32_t split_prompt(struct span *id)
{
    uint32_t prompt = 0, scale = 1;
    size_t end = id->size;
    while (end > 0 && id->data[end - 1] >= '0' && id->data[end - 1] <= '9' &&
           scale <= CHOICES_MAX) {
        prompt += scale * (uint32_t)(id->data[end - 1] - '0');
        scale *= 10;
        end--;
    }
    if (end == 0 || end == id->size || id->data[end - 1] != '-')
        return 0;
    id->size = end - 1;
    return prompt;
}

uint32_t job_wire_choice(const struct job *job, uint32_t index, char id[REQUEST_ID_BYTES])
{
    uint32_t per_prompt = job->format.choices_per_prompt;
    if (job->prompts_count == 1)
        snprintf(id, REQUEST_ID_BYTES, "%s", job->id);
    else
        snprintf(id, REQUEST_ID_BYTES, "%.40s-%u", job->id, index / per_prompt);
    return index % per_prompt;
}

static void on_event(void *data, const struct poll_event *event)
{
    struct job_table *table = data;
    struct span id = event->id;
    uint32_t prompt = 0;
    struct job *job = find(table, id);
    if (!job) {
        prompt = split_prompt(&id);
        job = find(table, id);
    }
    if (!job)
        return; /* answered or left meanwhile */
    uint64_t index = (uint64_t)prompt * job->format.choices_per_prompt + event->choice;
    if (prompt >= job->prompts_count || index >= job->choices_count)
        log_warn("an event of a choice that was never asked for id=%s", job->id);
    else
        job_take_event(job, (uint32_t)index, event);
}

/* The wire's spans borrow; ids of several prompts are made here and live until the next
 * call. */
static uint32_t cursors_of(const struct job *job, struct poll_cursor *cursors,
                           char (*ids)[REQUEST_ID_BYTES])
{
    uint32_t count = 0;
    for (uint32_t index = 0; job->state != JOB_GONE && index < job->choices_count;
         index++) {
        const struct choice *choice = &job->generation.choices[index];
        if (job->choices[index].submit != SUBMIT_ACCEPTED || choice->finished)
            continue;
        uint32_t number = job_wire_choice(job, index, ids[count]);
        cursors[count] = (struct poll_cursor){.id = span_of(ids[count]),
                                              .choice = number,
                                              .tokens_count = choice->tokens_count};
        count++;
    }
    return count;
}

/* Reservation keeps the choices of all jobs within POLL_CURSORS_MAX. */
static uint32_t on_cursors(void *data, struct poll_cursor *cursors, uint32_t most)
{
    static char ids[POLL_CURSORS_MAX][REQUEST_ID_BYTES];
    struct job_table *table = data;
    uint32_t count = 0;
    for (uint32_t bucket = 0; bucket < BUCKETS_COUNT; bucket++)
        for (struct job *job = table->buckets[bucket]; job; job = job->next)
            count += cursors_of(job, cursors + count, ids + count);
    INVARIANT(count <= most);
    return count;
}

void job_table_events(struct job_table *table, struct uplink_events *events)
{
    *events =
        (struct uplink_events){.event = on_event, .cursors = on_cursors, .data = table};
}

void job_table_end(struct job_table *table, const struct fault *fault)
{
    for (uint32_t bucket = 0; bucket < BUCKETS_COUNT; bucket++)
        for (struct job *job = table->buckets[bucket], *next; job; job = next) {
            next = job->next; /* the job may be freed */
            job_end(job, fault);
        }
}
