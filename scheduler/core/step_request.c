#include "scheduler/core/step_request.h"

#include "common/base/map.h"

/* The course's checks of a request, in its order. ids holds those before it. */
static enum status validate_as_stated(const struct step_request *request, uint32_t index,
                                      struct map *ids, struct fault *fault)
{
    if (map_put(ids, request->request_id, index) != index)
        return fault_set(fault, STATUS_INVALID, "request_id",
                         "duplicate request_id: %.*s", (int)request->request_id.size,
                         request->request_id.data);
    if (request->arrival_step < 0)
        return fault_set(fault, STATUS_INVALID, "arrival_step",
                         "arrival_step must be non-negative");
    if (request->max_new_tokens < 1)
        return fault_set(fault, STATUS_INVALID, "max_new_tokens",
                         "max_new_tokens must be at least 1");
    if (request->prompt.size == 0)
        return fault_set(fault, STATUS_INVALID, "prompt", "prompt must not be empty");
    return STATUS_OK;
}

/* *tokens_left is what the requests before it leave of STEP_TOKENS_MAX. */
static enum status validate_bounds(const struct step_request *request,
                                   int64_t *tokens_left, struct fault *fault)
{
    if (request->arrival_step > STEP_ARRIVAL_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "arrival_step",
                         "arrival_step must be at most %lld",
                         (long long)STEP_ARRIVAL_MAX);
    if (request->max_new_tokens > *tokens_left)
        return fault_set(fault, STATUS_TOO_LARGE, "max_new_tokens",
                         "max_new_tokens of all requests together must be at most %d",
                         STEP_TOKENS_MAX);
    *tokens_left -= request->max_new_tokens;
    return STATUS_OK;
}

static enum status validate_each(const struct step_request *requests,
                                 uint32_t requests_count, struct map *ids, uint32_t *at,
                                 struct fault *fault)
{
    int64_t tokens_left = STEP_TOKENS_MAX;
    for (uint32_t i = 0; i < requests_count; i++) {
        enum status status = validate_as_stated(&requests[i], i, ids, fault);
        if (status == STATUS_OK)
            status = validate_bounds(&requests[i], &tokens_left, fault);
        if (status != STATUS_OK) {
            *at = i;
            return status;
        }
    }
    return STATUS_OK;
}

enum status step_requests_validate(const struct step_request *requests,
                                   uint32_t requests_count, int64_t max_batch_size,
                                   uint32_t *at, struct fault *fault)
{
    struct map ids;
    *at = requests_count;
    if (max_batch_size < 1)
        return fault_set(fault, STATUS_INVALID, "max_batch_size",
                         "max_batch_size must be at least 1");
    if (requests_count > STEP_REQUESTS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "requests",
                         "requests must be at most %d", STEP_REQUESTS_MAX);
    if (!map_init(&ids, requests_count))
        return fault_set(fault, STATUS_NO_SPACE, "", "no memory for %u request ids",
                         requests_count);
    enum status status = validate_each(requests, requests_count, &ids, at, fault);
    map_fini(&ids);
    return status;
}
