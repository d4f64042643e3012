/* endpoint_status.c - what is told of the scheduler: GET /health, GET /metrics, and the
 * status that the door's callers ask for. Each asks the scheduler anew. */
#include "frontend/endpoints.h"

#include "common/base/time_units.h"
#include "frontend/core/json_text.h"
#include "frontend/server.h"
#include "frontend/uplink.h"
#include <stdlib.h>

#define PAGE_BYTES_MAX 262144

/* One question, until it is answered or its asker has left. */
struct question {
    struct server *server;
    struct sink *sink;
    void (*answer)(struct question *question, const struct status_reply *status);
};

static void on_left(void *data)
{
    struct question *question = data;
    uplink_forget(question->server->uplink, question);
    free(question);
}

static void on_told(void *data, const struct status_reply *status)
{
    struct question *question = data;
    question->answer(question, status);
    free(question);
}

static void refuse(struct sink *sink, const char *sentence)
{
    struct fault fault;
    fault_set(&fault, STATUS_UNAVAILABLE, NULL, "%s", sentence);
    sink_fault(sink, &fault, 1);
}

static void ask(struct server *server, struct sink *sink,
                void (*answer)(struct question *question,
                               const struct status_reply *status))
{
    struct question *question = malloc(sizeof *question);
    if (!question) {
        refuse(sink, "There is no memory to ask.");
        return;
    }
    *question = (struct question){.server = server, .sink = sink, .answer = answer};
    sink->on_leave = on_left;
    sink->leave_data = question;
    sink->answers_after_eof = true;
    uplink_status(server->uplink, on_told, question);
}

/* --- /health --------------------------------------------------------------------- */

static void answer_health(struct question *question, const struct status_reply *status)
{
    uint64_t stalled_ns = question->server->config->stall_timeout_s * NS_PER_S;
    if (!status)
        refuse(question->sink, "The scheduler does not answer.");
    else if (status->workers_count == 0)
        refuse(question->sink, "No worker is attached.");
    else if (status->heartbeat_age_ns > stalled_ns)
        refuse(question->sink, "A step hangs.");
    else
        sink_json(question->sink, SPAN_LITERAL("{\"status\":\"ok\"}"));
}

void endpoint_health(struct server *server, struct http_request *request,
                     struct sink *sink)
{
    (void)request;
    if (server->draining)
        refuse(sink, "The server is stopping.");
    else
        ask(server, sink, answer_health);
}

/* --- /metrics -------------------------------------------------------------------- */

static void answer_metrics(struct question *question, const struct status_reply *status)
{
    struct buffer page;
    buffer_init(&page, PAGE_BYTES_MAX);
    frontend_metrics_write(&page, &question->server->metrics, status,
                           question->server->model_name);
    struct answer answer = {.code = 200,
                            .content_type = "text/plain; version=0.0.4; charset=utf-8",
                            .body = buffer_span(&page)};
    question->sink->calls->answer(question->sink, &answer);
    buffer_fini(&page);
}

void endpoint_metrics(struct server *server, struct http_request *request,
                      struct sink *sink)
{
    (void)request;
    ask(server, sink, answer_metrics);
}

/* --- status, for the door -------------------------------------------------------- */

static void answer_status(struct question *question, const struct status_reply *status)
{
    struct buffer json;
    if (!status) {
        refuse(question->sink, "The scheduler does not answer.");
        return;
    }
    buffer_init(&json, PAGE_BYTES_MAX);
    buffer_append_text(&json, "{\"version\":");
    json_text_string(&json, span_of(ROPEWAY_VERSION));
    buffer_append_text(&json, ",\"model\":");
    json_text_string(&json, span_of(question->server->model_name));
    buffer_append_format(&json,
                         ",\"workers\":%u,\"running\":%u,\"waiting\":%u,\"slots\":%u,"
                         "\"blocks\":%u,\"blocks_free\":%u,\"block_size\":%u,"
                         "\"max_model_len\":%u}",
                         status->workers_count, status->running_count,
                         status->waiting_count, status->slots_count, status->blocks_count,
                         status->blocks_free_count, status->block_size,
                         status->context_length);
    sink_json(question->sink, buffer_span(&json));
    buffer_fini(&json);
}

void endpoint_status(struct server *server, struct sink *sink)
{
    ask(server, sink, answer_status);
}
