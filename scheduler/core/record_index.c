#include "scheduler/core/record_index.h"

#include "common/base/invariant.h"
#include <stdlib.h>

struct record_index {
    const struct request_record *records;
    uint64_t secret;
    uint32_t buckets_mask; /* buckets are a power of two */
    uint32_t count;
    uint32_t *buckets; /* record number, or RECORD_NONE */
};

/* FNV-1a, begun from the secret and finished with a multiply-shift mix. */
static uint32_t hash(const struct record_index *index, struct span id, uint32_t choice)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325) ^ index->secret;
    for (size_t i = 0; i < id.size; i++)
        value = (value ^ (unsigned char)id.data[i]) * UINT64_C(0x100000001b3);
    value = (value ^ choice) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(value >> 32);
}

static uint32_t home(const struct record_index *index, uint32_t record)
{
    const struct request_record *request = &index->records[record];
    return hash(index, span_of(request->id), request->choice) & index->buckets_mask;
}

struct record_index *record_index_create(const struct request_record *records,
                                         uint32_t records_count, uint64_t secret)
{
    uint32_t buckets_count = 2;
    while (buckets_count / 2 < records_count)
        buckets_count *= 2;
    struct record_index *index = calloc(1, sizeof *index);
    uint32_t *buckets = calloc(buckets_count, sizeof *buckets);
    if (index == NULL || buckets == NULL) {
        free(index);
        free(buckets);
        return NULL;
    }
    *index = (struct record_index){.records = records,
                                   .secret = secret,
                                   .buckets_mask = buckets_count - 1,
                                   .buckets = buckets};
    record_index_clear(index);
    return index;
}

void record_index_destroy(struct record_index *index)
{
    if (index == NULL)
        return;
    free(index->buckets);
    free(index);
}

void record_index_clear(struct record_index *index)
{
    for (uint32_t i = 0; i <= index->buckets_mask; i++)
        index->buckets[i] = RECORD_NONE;
    index->count = 0;
}

void record_index_add(struct record_index *index, uint32_t record)
{
    INVARIANT(index->count <= index->buckets_mask / 2);
    uint32_t bucket = home(index, record);
    while (index->buckets[bucket] != RECORD_NONE) {
        INVARIANT(index->buckets[bucket] != record);
        bucket = (bucket + 1) & index->buckets_mask;
    }
    index->buckets[bucket] = record;
    index->count++;
}

void record_index_remove(struct record_index *index, uint32_t record)
{
    uint32_t mask = index->buckets_mask;
    uint32_t hole = home(index, record);
    while (index->buckets[hole] != record) {
        INVARIANT(index->buckets[hole] != RECORD_NONE);
        hole = (hole + 1) & mask;
    }
    /* Whoever probed past the hole moves back into it, so that no probe stops early. */
    for (uint32_t at = (hole + 1) & mask; index->buckets[at] != RECORD_NONE;
         at = (at + 1) & mask) {
        uint32_t wanted = home(index, index->buckets[at]);
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            index->buckets[hole] = index->buckets[at];
            hole = at;
        }
    }
    index->buckets[hole] = RECORD_NONE;
    index->count--;
}

uint32_t record_index_find(const struct record_index *index, struct span id,
                           uint32_t choice, uint32_t *cursor)
{
    uint32_t first = hash(index, id, choice);
    for (;;) {
        uint32_t record = index->buckets[(first + *cursor) & index->buckets_mask];
        if (record == RECORD_NONE)
            return RECORD_NONE;
        (*cursor)++;
        const struct request_record *request = &index->records[record];
        if (request->choice == choice && span_equal(span_of(request->id), id))
            return record;
    }
}

uint32_t record_index_count(const struct record_index *index)
{
    return index->count;
}
