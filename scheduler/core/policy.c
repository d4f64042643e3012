#include "scheduler/core/policy.h"

#include <string.h>

static bool came_before(const struct request_record *a, const struct request_record *b)
{
    return a->submit_number < b->submit_number;
}

static const struct policy policies[] = {
    {"fcfs", came_before},
};

#define POLICIES_COUNT (sizeof policies / sizeof policies[0])

const struct policy *policy_find(const char *name)
{
    for (size_t i = 0; i < POLICIES_COUNT; i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    return NULL;
}

const char *policy_name_at(size_t index)
{
    return index < POLICIES_COUNT ? policies[index].name : NULL;
}
