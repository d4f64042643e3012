/* policy.h - the order in which waiting requests are admitted: a table row each.
 *
 * Layer:   scheduler/core (pure).
 */
#ifndef ROPEWAY_SCHEDULER_CORE_POLICY_H
#define ROPEWAY_SCHEDULER_CORE_POLICY_H

#include "proto/kv_layout.h"

struct policy {
    const char *name; /* --scheduling-policy */
    /* True when a is admitted before b. A strict order over facts of the records, so that
     * an adopting scheduler finds the same order again. */
    bool (*goes_before)(const struct request_record *a, const struct request_record *b);
};

/* NULL when there is none of that name. */
const struct policy *policy_find(const char *name);

/* For names_join. */
const char *policy_name_at(size_t index);

#endif
