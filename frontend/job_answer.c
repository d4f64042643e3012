/* job_answer.c - a job's words to its sink: whole or as a stream, and what is measured.
 */
#include "common/base/time_units.h"
#include "frontend/core/answer.h"
#include "frontend/job_internal.h"
#include "frontend/server.h"

void job_answer_begin(struct job *job)
{
    struct buffer out;
    if (!job->format.stream)
        return;
    buffer_init(&out, SERVER_ANSWER_BYTES_MAX);
    answer_stream_begin(&out, &job->generation);
    job->sink->calls->begin(job->sink, job->request_id);
    if (out.size > 0 && job->sink)
        job->sink->calls->piece(job->sink, buffer_span(&out));
    buffer_fini(&out);
}

void job_answer_news(struct job *job, uint32_t index)
{
    struct buffer out;
    if (!job->format.stream)
        return;
    buffer_init(&out, SERVER_ANSWER_BYTES_MAX);
    answer_stream_choice(&out, &job->generation, index);
    if (out.failed) /* the stream ends with this error */
        fault_set(&job->generation.fault, STATUS_NO_SPACE, NULL,
                  "There is no memory for the answer.");
    else if (out.size > 0)
        job->sink->calls->piece(job->sink, buffer_span(&out));
    buffer_fini(&out);
}

static void end_stream(struct job *job)
{
    struct buffer out;
    buffer_init(&out, SERVER_ANSWER_BYTES_MAX);
    answer_stream_end(&out, &job->generation);
    job->sink->calls->piece(job->sink, buffer_span(&out));
    buffer_fini(&out);
    if (job->sink) /* it may have left just now */
        job->sink->calls->end(job->sink);
}

static void answer_all(struct job *job)
{
    struct buffer json;
    struct fault fault;
    buffer_init(&json, SERVER_ANSWER_BYTES_MAX);
    answer_whole(&json, &job->generation);
    struct answer answer = {.code = 200,
                            .content_type = "application/json",
                            .request_id = job->request_id,
                            .body = buffer_span(&json)};
    if (json.failed) {
        fault_set(&fault, STATUS_NO_SPACE, NULL, "There is no memory for the answer.");
        sink_fault(job->sink, &fault, 0);
    } else {
        job->sink->calls->answer(job->sink, &answer);
    }
    buffer_fini(&json);
}

void job_answer_end(struct job *job)
{
    struct histogram *whole = &job->server->metrics.whole_request_s;
    histogram_add(whole, (double)(uv_hrtime() - job->started_ns) / NS_PER_S, 1);
    if (job->format.stream)
        end_stream(job);
    else if (job->generation.fault.status != STATUS_OK)
        job_answer_fault(job, &job->generation.fault, 0);
    else
        answer_all(job);
}

void job_answer_fault(struct job *job, const struct fault *fault, uint32_t retry_after_s)
{
    if (job->sink)
        sink_fault(job->sink, fault, retry_after_s);
}

static void measure_end(struct frontend_metrics *metrics, const struct choice *choice,
                        const struct poll_event *event)
{
    histogram_add(&metrics->queue_s, (double)event->queue_ns / NS_PER_S, 1);
    histogram_add(&metrics->prefill_s, (double)event->prefill_ns / NS_PER_S, 1);
    histogram_add(&metrics->decode_s, (double)event->decode_ns / NS_PER_S, 1);
    histogram_add(&metrics->prompt_tokens, choice->prompt_tokens_count, 1);
    histogram_add(&metrics->generation_tokens, choice->tokens_count, 1);
}

/* Tokens that come in one event share the time since the one before it. */
void job_measure(struct job *job, uint32_t index, uint32_t tokens_before,
                 const struct poll_event *event)
{
    struct frontend_metrics *metrics = &job->server->metrics;
    const struct choice *choice = &job->generation.choices[index];
    uint64_t *last_ns = &job->choices[index].last_token_ns;
    uint32_t count = choice->tokens_count - tokens_before;
    uint64_t now_ns = uv_hrtime();
    if (count > 0 && *last_ns == 0)
        histogram_add(&metrics->first_token_s,
                      (double)(now_ns - job->started_ns) / NS_PER_S, 1);
    else if (count > 0)
        histogram_add(&metrics->between_tokens_s,
                      (double)(now_ns - *last_ns) / NS_PER_S / count, count);
    if (count > 0)
        *last_ns = now_ns;
    if (choice->finished)
        measure_end(metrics, choice, event);
}
