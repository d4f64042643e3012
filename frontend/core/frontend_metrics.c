#include "frontend/core/frontend_metrics.h"

#include "frontend/core/json_text.h"
#include <inttypes.h>
#include <stddef.h>

static const double first_token_bounds[] = {.001, .005, .01, .02, .04, .06, .08, .1,
                                            .25,  .5,   .75, 1,   2.5, 5,   7.5, 10,
                                            20,   40,   80,  160, 640, 2560};
static const double between_bounds[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                        .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
static const double request_bounds[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                        30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
static const double tokens_bounds[] = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

/* One row a histogram: where it is, its name, its help, its bounds. */
#define HISTOGRAMS(X)                                                                    \
    X(first_token_s, "vllm:time_to_first_token_seconds", "Time to the first token.",     \
      first_token_bounds)                                                                \
    X(between_tokens_s, "vllm:inter_token_latency_seconds",                              \
      "Time from one token to the next.", between_bounds)                                \
    X(between_tokens_s, "vllm:time_per_output_token_seconds",                            \
      "Time from one token to the next (older name).", between_bounds)                   \
    X(whole_request_s, "vllm:e2e_request_latency_seconds", "Time of whole requests.",    \
      request_bounds)                                                                    \
    X(queue_s, "vllm:request_queue_time_seconds", "Time in the waiting queue.",          \
      request_bounds)                                                                    \
    X(prefill_s, "vllm:request_prefill_time_seconds", "Time in prefill.",                \
      request_bounds)                                                                    \
    X(decode_s, "vllm:request_decode_time_seconds", "Time in decode.", request_bounds)   \
    X(prompt_tokens, "vllm:request_prompt_tokens",                                       \
      "Prompt tokens of finished requests.", tokens_bounds)                              \
    X(generation_tokens, "vllm:request_generation_tokens",                               \
      "Generated tokens of finished requests.", tokens_bounds)

void frontend_metrics_init(struct frontend_metrics *metrics)
{
    *metrics = (struct frontend_metrics){0};
#define INIT(member, name, help, bounds)                                                 \
    histogram_init(&metrics->member, bounds, COUNT(bounds));
    HISTOGRAMS(INIT)
#undef INIT
}

#define LABELS_BYTES 1024

enum width { WIDTH_32, WIDTH_64, WIDTH_NS };

/* One row a number of the scheduler. */
struct scheduler_metric {
    const char *name, *help, *type;
    const char *label; /* one more, or "" */
    size_t offset;
    enum width width;
};

#define ROW(name, help, type, label, member, width)                                      \
    {                                                                                    \
        name, help, type, label, offsetof(struct status_reply, member), width            \
    }

static const struct scheduler_metric scheduler_metrics[] = {
    ROW("vllm:num_requests_running", "Requests in the batch.", "gauge", "", running_count,
        WIDTH_32),
    ROW("vllm:num_requests_waiting", "Requests in the queue.", "gauge", "", waiting_count,
        WIDTH_32),
    ROW("vllm:prompt_tokens_total", "Prompt tokens computed.", "counter", "",
        prompt_tokens_total, WIDTH_64),
    ROW("vllm:generation_tokens_total", "Tokens generated.", "counter", "",
        generation_tokens_total, WIDTH_64),
    ROW("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.",
        "counter", "", prefix_queries_total, WIDTH_64),
    ROW("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", "counter",
        "", prefix_hits_total, WIDTH_64),
    ROW("vllm:num_preemptions_total", "Requests sent back to the queue.", "counter", "",
        preemptions_total, WIDTH_64),
    ROW("vllm:request_success_total", "Requests that ended, by reason.", "counter",
        ",finished_reason=\"stop\"", finished_stop_total, WIDTH_64),
    ROW("vllm:request_success_total", NULL, NULL, ",finished_reason=\"length\"",
        finished_length_total, WIDTH_64),
    ROW("vllm:request_success_total", NULL, NULL, ",finished_reason=\"abort\"",
        aborted_total, WIDTH_64),
    ROW("ropeway_requests_received_total", "Requests that were taken in or refused.",
        "counter", "", received_total, WIDTH_64),
    ROW("ropeway_requests_rejected_total", "Requests that were refused.", "counter", "",
        rejected_total, WIDTH_64),
    ROW("ropeway_requests_failed_total", "Requests that failed.", "counter", "",
        failed_total, WIDTH_64),
    ROW("ropeway_requests_timed_out_total", "Requests whose time was over.", "counter",
        "", timed_out_total, WIDTH_64),
    ROW("ropeway_iterations_total", "Steps committed.", "counter", "", iterations_total,
        WIDTH_64),
    ROW("ropeway_workers", "Workers attached.", "gauge", "", workers_count, WIDTH_32),
    ROW("ropeway_worker_restarts_total", "Workers that died or left and came back.",
        "counter", "", worker_restarts_total, WIDTH_64),
    ROW("ropeway_replayed_steps_total", "Steps run again after a worker's death.",
        "counter", "", replayed_steps_total, WIDTH_64),
    ROW("ropeway_blocks", "KV blocks of the pool.", "gauge", "", blocks_count, WIDTH_32),
    ROW("ropeway_blocks_free", "KV blocks that nobody holds.", "gauge", "",
        blocks_free_count, WIDTH_32),
    ROW("ropeway_slots", "Most requests in the batch.", "gauge", "", slots_count,
        WIDTH_32),
    ROW("ropeway_heartbeat_age_seconds", "Age of the last step while any is in flight.",
        "gauge", "", heartbeat_age_ns, WIDTH_NS),
    ROW("ropeway_wait_seconds_total", "Time waited, by the gate that refused.", "counter",
        ",reason=\"slot\"", waits_slot_ns_total, WIDTH_NS),
    ROW("ropeway_wait_seconds_total", NULL, NULL, ",reason=\"kv_blocks\"",
        waits_kv_blocks_ns_total, WIDTH_NS),
    ROW("ropeway_wait_seconds_total", NULL, NULL, ",reason=\"token_budget\"",
        waits_token_budget_ns_total, WIDTH_NS),
};

static void write_type(struct buffer *out, const char *name, const char *help,
                       const char *type)
{
    buffer_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_row(struct buffer *out, const struct scheduler_metric *row,
                      const struct status_reply *status, const char *labels)
{
    const char *at = (const char *)status + row->offset;
    uint64_t value = 0;
    uint32_t narrow = 0;
    if (row->width == WIDTH_32) {
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    } else {
        memcpy(&value, at, sizeof value);
    }
    if (row->help)
        write_type(out, row->name, row->help, row->type);
    buffer_append_format(out, "%s{%s%s} ", row->name, labels, row->label);
    if (row->width == WIDTH_NS)
        buffer_append_format(out, "%.9f\n", (double)value * 1e-9);
    else
        buffer_append_format(out, "%" PRIu64 "\n", value);
}

static void write_scheduler(struct buffer *out, const struct status_reply *status,
                            const char *labels)
{
    for (uint32_t row = 0; row < COUNT(scheduler_metrics); row++)
        write_row(out, &scheduler_metrics[row], status, labels);
    uint32_t used = status->blocks_count - status->blocks_free_count;
    write_type(out, "vllm:kv_cache_usage_perc", "Used share of the KV blocks, 0 to 1.",
               "gauge");
    buffer_append_format(out, "vllm:kv_cache_usage_perc{%s} %.6g\n", labels,
                         status->blocks_count ? (double)used / status->blocks_count : 0);
    write_type(out, "vllm:cache_config_info", "How the KV cache is cut.", "gauge");
    buffer_append_format(out,
                         "vllm:cache_config_info{%s,block_size=\"%u\",num_gpu_blocks="
                         "\"%u\"} 1\n",
                         labels, status->block_size, status->blocks_count);
}

static void write_own(struct buffer *out, const struct frontend_metrics *metrics,
                      const char *labels)
{
    write_type(out, "ropeway_http_requests_total", "HTTP requests read.", "counter");
    buffer_append_format(out, "ropeway_http_requests_total{%s} %" PRIu64 "\n", labels,
                         metrics->http_requests_total);
    write_type(out, "ropeway_generations_refused_total",
               "Generations answered with an error before they began.", "counter");
    buffer_append_format(out, "ropeway_generations_refused_total{%s} %" PRIu64 "\n",
                         labels, metrics->generations_refused_total);
    write_type(out, "ropeway_clients_left_total",
               "Clients that left before their answer was whole.", "counter");
    buffer_append_format(out, "ropeway_clients_left_total{%s} %" PRIu64 "\n", labels,
                         metrics->clients_left_total);
}

void frontend_metrics_write(struct buffer *out, const struct frontend_metrics *metrics,
                            const struct status_reply *status, const char *model_name)
{
    struct buffer labels;
    buffer_init(&labels, LABELS_BYTES);
    buffer_append_text(&labels, "model_name=");
    json_text_string(&labels, span_of(model_name)); /* Prometheus escapes alike */
    buffer_append_text(&labels, ",engine=\"0\"");
    buffer_append_byte(&labels, '\0');
    if (status)
        write_scheduler(out, status, labels.data);
#define WRITE(member, name, help, bounds)                                                \
    histogram_write(out, &metrics->member, name, help, labels.data);
    HISTOGRAMS(WRITE)
#undef WRITE
    write_own(out, metrics, labels.data);
    buffer_fini(&labels);
}
