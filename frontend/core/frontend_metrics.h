/* frontend_metrics.h - what the frontend measures itself, and the page that shows it
 * together with the scheduler's counters.
 *
 * Layer:   frontend/core (pure).
 * Names:   vLLM's, with its meanings and buckets, so that boards and gateways made for it
 *          work; our own begin with ropeway_.
 */
#ifndef ROPEWAY_FRONTEND_CORE_FRONTEND_METRICS_H
#define ROPEWAY_FRONTEND_CORE_FRONTEND_METRICS_H

#include "frontend/core/histogram.h"
#include "proto/message.h"

struct frontend_metrics {
    struct histogram first_token_s; /* from the request's last byte to its first token */
    struct histogram between_tokens_s;
    struct histogram whole_request_s;
    struct histogram queue_s, prefill_s, decode_s;
    struct histogram prompt_tokens, generation_tokens;
    uint64_t http_requests_total;
    uint64_t generations_refused_total; /* answered with an error, nothing else */
    uint64_t clients_left_total;        /* before their answer was whole */
};

void frontend_metrics_init(struct frontend_metrics *metrics);

/* The whole page. status is NULL while the scheduler is away: its counters are then
 * absent, which says so, rather than 0. */
void frontend_metrics_write(struct buffer *out, const struct frontend_metrics *metrics,
                            const struct status_reply *status, const char *model_name);

#endif
