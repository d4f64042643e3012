/* record_index.h - finds a request's record by its id and choice.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Form:    open addressing with linear probing and backward-shift deletion, at most half
 *          full. Ids are the clients' choice, so the hash is keyed with a secret.
 * Ids are scoped by owner, so several records may share an id: find walks them all.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_RECORD_INDEX_H
#define ROPEWAY_SCHEDULER_CORE_RECORD_INDEX_H

#include "common/base/span.h"
#include "proto/kv_layout.h"

struct record_index;

/* records are borrowed: the index reads their id and choice, which stand still while they
 * are in it. NULL when memory is out. */
struct record_index *record_index_create(const struct request_record *records,
                                         uint32_t records_count, uint64_t secret);
void record_index_destroy(struct record_index *index);

void record_index_clear(struct record_index *index);
void record_index_add(struct record_index *index, uint32_t record);
void record_index_remove(struct record_index *index, uint32_t record);

/* Walks the records of that id and choice: *cursor is 0 at first; RECORD_NONE at the end.
 * Nothing may be added or removed on the way. */
uint32_t record_index_find(const struct record_index *index, struct span id,
                           uint32_t choice, uint32_t *cursor);

uint32_t record_index_count(const struct record_index *index);

#endif
