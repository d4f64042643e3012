#include "frontend/job.h"

#include "common/base/invariant.h"
#include "common/os/clock.h"
#include "frontend/job_internal.h"
#include "frontend/server.h"
#include "frontend/text_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* A body this large is worth a thread: parsing and tokenising it take milliseconds. */
#define INLINE_BODY_BYTES_MAX 65536

#define ID_RANDOM_BYTES 12

#define CLIENT_BLOB_INIT_BYTES (4u * STOP_STRING_BYTES_MAX + 2048u)

/* --- life ------------------------------------------------------------------------ */

/* Every entry from outside counts itself in and out, so that a job that ends while its
 * own code is on the stack is freed only when that has returned. */
static void enter(struct job *job)
{
    job->calls_depth++;
}

static void leave(struct job *job)
{
    bool is_over = job->state == JOB_GONE && job->submits_pending == 0 && !job->working;
    if (--job->calls_depth > 0 || !is_over)
        return;
    job_table_remove(job->server->jobs, job);
    job_table_unreserve(job->server->jobs, job->choices_count);
    if (job->generation.choices)
        generation_fini(&job->generation);
    job_prepare_fini(job);
    free(job);
}

/* Ends what the scheduler still does for it. */
static void cancel_choices(struct job *job)
{
    char id[REQUEST_ID_BYTES];
    for (uint32_t index = 0; index < job->choices_count; index++) {
        if (job->choices[index].submit != SUBMIT_ACCEPTED ||
            job->generation.choices[index].finished)
            continue;
        uint32_t choice = job_wire_choice(job, index, id);
        uplink_cancel(job->server->uplink, id, choice, FINISH_CANCELLED);
    }
}

static void go(struct job *job)
{
    if (job->state == JOB_GONE)
        return;
    cancel_choices(job);
    job->state = JOB_GONE;
    job->sink = NULL;
}

static void on_client_left(void *data)
{
    struct job *job = data;
    enter(job);
    job->server->metrics.clients_left_total++;
    go(job);
    leave(job);
}

/* The answer is an error; nothing was sent before. */
static void fail(struct job *job)
{
    job->server->metrics.generations_refused_total++;
    job_answer_fault(job, &job->fault, job->retry_after_s);
    go(job);
}

/* --- running --------------------------------------------------------------------- */

static void finish_if_over(struct job *job)
{
    bool failed = job->generation.fault.status != STATUS_OK;
    if (job->state != JOB_RUNNING || (!failed && !generation_finished(&job->generation)))
        return;
    job_answer_end(job);
    go(job);
}

void job_take_event(struct job *job, uint32_t index, const struct poll_event *event)
{
    char id[REQUEST_ID_BYTES];
    uint32_t tokens_before = job->generation.choices[index].tokens_count;
    if (job->state == JOB_GONE)
        return;
    enter(job);
    enum take_result result = generation_take(&job->generation, index, event);
    if (result == TAKE_OUT_OF_STEP)
        uplink_resync(job->server->uplink);
    if (result == TAKE_STOPPED) {
        uint32_t choice = job_wire_choice(job, index, id);
        uplink_cancel(job->server->uplink, id, choice, FINISH_STOP);
    }
    if (result == TAKE_NEWS || result == TAKE_STOPPED) {
        job_measure(job, index, tokens_before, event);
        if (job->state == JOB_RUNNING)
            job_answer_news(job, index);
        finish_if_over(job);
    }
    leave(job);
}

void job_end(struct job *job, const struct fault *fault)
{
    enter(job);
    if (job->state == JOB_RUNNING) {
        job->generation.fault = *fault;
        finish_if_over(job);
    } else if (job->state != JOB_GONE) {
        job_answer_fault(job, fault, 0); /* a thread may be at work with its own fault */
        go(job);
    }
    leave(job);
}

/* --- submitting ------------------------------------------------------------------ */

/* All submits are answered. Events may have come before the last of them. */
static void begin(struct job *job)
{
    if (job->fault.status != STATUS_OK) {
        fail(job);
        return;
    }
    job->state = JOB_RUNNING;
    job_answer_begin(job);
    for (uint32_t index = 0; job->state == JOB_RUNNING && index < job->choices_count;
         index++)
        job_answer_news(job, index);
    finish_if_over(job);
}

static void note_refusal(struct job *job, const struct submit_reply *reply)
{
    char param[FAULT_PARAM_BYTES];
    if (job->fault.status != STATUS_OK)
        return;
    snprintf(param, sizeof param, "%.*s", (int)reply->param.size,
             reply->param.size ? reply->param.data : "");
    fault_set(&job->fault, reply->status, param, "%.*s", (int)reply->sentence.size,
              reply->sentence.size ? reply->sentence.data : "");
    job->retry_after_s = reply->retry_after_s;
}

static void on_submitted(void *data, uint32_t index, const struct submit_reply *reply)
{
    struct job *job = data;
    char id[REQUEST_ID_BYTES];
    enter(job);
    job->submits_pending--;
    if (reply->status == STATUS_OK)
        job->choices[index].submit = SUBMIT_ACCEPTED;
    /* Gone meanwhile; or it got no answer, and may have been accepted all the same. */
    if ((job->state == JOB_GONE && reply->status == STATUS_OK) ||
        reply->status == STATUS_UNAVAILABLE) {
        uint32_t choice = job_wire_choice(job, index, id);
        uplink_cancel(job->server->uplink, id, choice, FINISH_CANCELLED);
    }
    if (reply->status != STATUS_OK)
        note_refusal(job, reply);
    if (job->submits_pending == 0 && job->state == JOB_SUBMITTING)
        begin(job);
    leave(job);
}

/* What ends a generation: the client's tokens and, unless they are to be ignored, the
 * vocabulary's own. */
static struct span stop_tokens(const struct job *job, uint32_t tokens[STOP_TOKENS_MAX])
{
    const struct generation_request *request = &job->request;
    size_t ends_count = 0;
    size_t count = request->stop_tokens_count;
    memcpy(tokens, request->stop_tokens, count * sizeof *tokens);
    const uint32_t *ends =
        tokenizer_end_tokens(text_model_tokenizer(job->server->model), &ends_count);
    if (!request->sampling.ignore_end)
        for (size_t end = 0; end < ends_count && count < STOP_TOKENS_MAX; end++)
            tokens[count++] = ends[end];
    return (struct span){(const char *)tokens, count * sizeof *tokens};
}

static bool submit_choice(struct job *job, uint32_t index, struct span client_blob)
{
    char id[REQUEST_ID_BYTES];
    uint32_t stops[STOP_TOKENS_MAX];
    const struct generation_request *request = &job->request;
    const struct server *server = job->server;
    uint32_t prompt = index / request->choices_per_prompt;
    const struct token_list *tokens = &job->prompts[prompt];
    uint32_t choice = job_wire_choice(job, index, id);
    struct submit_request submit = {
        .choice = choice,
        .id = span_of(id),
        .body_digest = {(const char *)job->body_digest, sizeof job->body_digest},
        .priority = request->priority,
        .sampling = request->sampling,
        .has_seed = request->has_seed,
        .max_tokens = job->max_tokens[prompt],
        .timeout_ms = request->timeout_ms,
        .prompt_tokens = {(const char *)tokens->ids, tokens->count * sizeof *tokens->ids},
        .stop_tokens = stop_tokens(job, stops),
        .logit_bias = {(const char *)request->biases,
                       request->biases_count * sizeof request->biases[0]},
        .client_blob = client_blob,
        .cache_salt = request->cache_salt};
    if (server->config->api_key[0])
        submit.owner_key = (struct span){(const char *)server->api_key_digest,
                                         sizeof server->api_key_digest};
    submit.sampling.ignore_end = 0; /* its stop tokens are without the ends then */
    job->choices[index].submit = SUBMIT_ASKED;
    return uplink_submit(server->uplink, &submit, on_submitted, job, index);
}

static void submit_all(struct job *job)
{
    struct buffer blob;
    buffer_init(&blob, CLIENT_BLOB_INIT_BYTES);
    client_blob_encode(&job->format, &blob);
    INVARIANT(!blob.failed);
    job->state = JOB_SUBMITTING;
    for (uint32_t index = 0; index < job->choices_count; index++) {
        if (submit_choice(job, index, buffer_span(&blob))) {
            job->submits_pending++;
            continue;
        }
        fault_set(&job->fault, STATUS_UNAVAILABLE, NULL,
                  "The server has too many requests under way.");
        job->retry_after_s = 1;
        break;
    }
    buffer_fini(&blob);
    if (job->submits_pending == 0)
        fail(job);
}

/* --- preparing ------------------------------------------------------------------- */

static enum status begin_generation(struct job *job)
{
    uint32_t count = job->prompts_count * job->request.choices_per_prompt;
    if (!uplink_is_up(job->server->uplink)) {
        job->retry_after_s = 1;
        return fault_set(&job->fault, STATUS_UNAVAILABLE, NULL,
                         "The scheduler is away; try again in a moment.");
    }
    if (!job_table_reserve(job->server->jobs, count)) {
        job->retry_after_s = 1;
        return fault_set(&job->fault, STATUS_UNAVAILABLE, NULL,
                         "The server has too many requests under way.");
    }
    job->choices_count = count;
    if (!generation_init(&job->generation, text_model_tokenizer(job->server->model),
                         &job->format, count))
        return fault_set(&job->fault, STATUS_NO_SPACE, NULL,
                         "There is no memory for the answer.");
    return STATUS_OK;
}

static void echo_prompts(struct job *job)
{
    struct buffer text;
    for (uint32_t index = 0; job->request.echo && index < job->choices_count; index++) {
        uint32_t prompt = index / job->request.choices_per_prompt;
        buffer_init(&text, CHOICE_TEXT_BYTES_MAX);
        text_model_echo(job->server->model, &job->request.prompts[prompt], &text);
        generation_echo(&job->generation, index, buffer_span(&text));
        buffer_fini(&text);
    }
}

static void after_prepare(struct job *job)
{
    if (job->state == JOB_GONE)
        return;
    if (job->fault.status == STATUS_OK && begin_generation(job) == STATUS_OK) {
        echo_prompts(job);
        submit_all(job);
    } else {
        fail(job);
    }
}

static void on_work(uv_work_t *work)
{
    job_prepare(work->data);
}

static void on_work_done(uv_work_t *work, int error)
{
    struct job *job = work->data;
    INVARIANT(error == 0);
    enter(job);
    job->working = false;
    after_prepare(job);
    leave(job);
}

/* --- start ----------------------------------------------------------------------- */

static void draw_id(struct job *job)
{
    unsigned char random[ID_RANDOM_BYTES];
    INVARIANT(getrandom(random, sizeof random, 0) == sizeof random);
    int size = snprintf(job->id, sizeof job->id, "%s",
                        job->request.kind == ANSWER_CHAT ? "chatcmpl-" : "cmpl-");
    for (size_t at = 0; at < sizeof random; at++)
        size +=
            snprintf(job->id + size, sizeof job->id - (size_t)size, "%02x", random[at]);
}

/* A client's own id comes back in the answer's header, if it is of harmless bytes. */
static void choose_request_id(struct job *job, struct span wanted)
{
    bool is_good = wanted.size > 0 && wanted.size < sizeof job->request_id;
    for (size_t at = 0; is_good && at < wanted.size; at++)
        is_good = wanted.data[at] > ' ' && wanted.data[at] < 0x7F;
    if (is_good)
        memcpy(job->request_id, wanted.data, wanted.size);
    else
        memcpy(job->request_id, job->id, sizeof job->request_id);
}

static struct job *make_job(struct server *server, const struct job_input *input,
                            struct sink *sink)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->server = server;
    job->sink = sink;
    job->work.data = job;
    job->request.kind = input->kind;
    job->never_streams = input->never_streams;
    job->body = *input->body;
    buffer_init(input->body, job->body.bound);
    job->started_ns = uv_hrtime();
    job->started_unix_s = clock_unix_s();
    job->context_length = uplink_context_length(server->uplink);
    draw_id(job);
    choose_request_id(job, input->request_id);
    sink->on_leave = on_client_left;
    sink->leave_data = job;
    job_table_add(server->jobs, job);
    return job;
}

void job_start(struct server *server, const struct job_input *input, struct sink *sink)
{
    struct job *job = make_job(server, input, sink);
    if (!job) {
        struct fault fault;
        fault_set(&fault, STATUS_NO_SPACE, NULL, "There is no memory for the request.");
        sink_fault(sink, &fault, 0);
        return;
    }
    enter(job);
    if (job->body.size > INLINE_BODY_BYTES_MAX &&
        uv_queue_work(server->loop, &job->work, on_work, on_work_done) == 0) {
        job->working = true;
    } else {
        job_prepare(job);
        after_prepare(job);
    }
    leave(job);
}
