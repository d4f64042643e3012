/* job_prepare.c - from a request's body to tokens. Touches nothing but its job and what
 * is read-only, so that it may run on a thread of the pool. */
#include "frontend/core/chat.h"
#include "frontend/core/json_body.h"
#include "frontend/job_internal.h"
#include "frontend/server.h"
#include "frontend/text_model.h"
#include <openssl/sha.h>
#include <stdlib.h>

static enum status read_request(struct job *job)
{
    json_t *root;
    struct request_limits limits = {.model_name = job->server->model_name,
                                    .vocabulary_count = tokenizer_tokens_count(
                                        text_model_tokenizer(job->server->model))};
    SHA256((const unsigned char *)job->body.data, job->body.size, job->body_digest);
    enum status status = json_body_parse(buffer_span(&job->body), &root, &job->fault);
    if (status != STATUS_OK)
        return status;
    status = generation_request_read(&job->request, job->request.kind, root, &limits,
                                     &job->fault);
    if (status == STATUS_OK && job->never_streams && job->request.stream)
        return fault_set(&job->fault, STATUS_UNSUPPORTED, "stream",
                         "Answers are not streamed here; ask over HTTP.");
    return status;
}

static enum status encode_prompts(struct job *job)
{
    const struct text_model *model = job->server->model;
    bool is_chat = job->request.kind == ANSWER_CHAT;
    uint32_t count = is_chat ? 1 : job->request.prompts_count;
    job->prompts = calloc(count, sizeof *job->prompts);
    if (!job->prompts)
        return fault_set(&job->fault, STATUS_NO_SPACE, NULL,
                         "There is no memory for the prompts.");
    for (; job->prompts_count < count; job->prompts_count++) {
        struct token_list *list = &job->prompts[job->prompts_count];
        enum status status =
            is_chat ? text_model_chat(model, &job->request, job->started_unix_s, list,
                                      &job->fault)
                    : text_model_prompt(model, &job->request.prompts[job->prompts_count],
                                        list, &job->fault);
        if (status != STATUS_OK) {
            token_list_fini(list);
            return status;
        }
    }
    return STATUS_OK;
}

static enum status fit(struct job *job, uint32_t prompt)
{
    const char *param = job->request.kind == ANSWER_CHAT ? "messages" : "prompt";
    size_t tokens = job->prompts[prompt].count;
    uint32_t context = job->context_length;
    uint32_t wanted = job->request.max_tokens;
    if (tokens == 0)
        return fault_set(&job->fault, STATUS_INVALID, param, "%s gives no tokens.",
                         param);
    if (tokens >= context)
        return fault_set(&job->fault, STATUS_CONTEXT_LENGTH, param,
                         "This model's context is %u tokens; the prompt has %zu, which "
                         "leaves no room to answer.",
                         context, tokens);
    uint32_t room = context - (uint32_t)tokens;
    if (wanted > room)
        return fault_set(&job->fault, STATUS_CONTEXT_LENGTH, "max_tokens",
                         "This model's context is %u tokens; the prompt has %zu and "
                         "max_tokens asks for %u more.",
                         context, tokens, wanted);
    if (wanted == 0)
        wanted =
            job->request.kind == ANSWER_CHAT ? JOB_CHAT_TOKENS : JOB_COMPLETION_TOKENS;
    job->max_tokens[prompt] = wanted < room ? wanted : room;
    return STATUS_OK;
}

static void fill_format(struct job *job)
{
    const struct generation_request *request = &job->request;
    struct answer_format *format = &job->format;
    *format = (struct answer_format){.kind = request->kind,
                                     .stream = request->stream,
                                     .include_usage = request->include_usage,
                                     .echo = request->echo,
                                     .logprobs = request->sampling.logprobs,
                                     .top_logprobs = request->sampling.top_logprobs,
                                     .choices_per_prompt = request->choices_per_prompt,
                                     .created_unix_s = job->started_unix_s,
                                     .id = span_of(job->id),
                                     .model = span_of(job->server->model_name),
                                     .stops_count = request->stops_count};
    memcpy(format->stops, request->stops, sizeof format->stops);
}

enum status job_prepare(struct job *job)
{
    enum status status = read_request(job);
    if (status == STATUS_OK)
        status = encode_prompts(job);
    for (uint32_t prompt = 0; status == STATUS_OK && prompt < job->prompts_count;
         prompt++)
        status = fit(job, prompt);
    if (status == STATUS_OK)
        fill_format(job);
    return status;
}

void job_prepare_fini(struct job *job)
{
    for (uint32_t prompt = 0; prompt < job->prompts_count; prompt++)
        token_list_fini(&job->prompts[prompt]);
    free(job->prompts);
    generation_request_fini(&job->request);
    buffer_fini(&job->body);
}
