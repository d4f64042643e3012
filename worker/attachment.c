#include "worker/attachment.h"

#include "common/os/process.h"
#include "proto/message.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Enough for the messages of attach and beat. */
#define REQUEST_BYTES_MAX 1024
#define INSTANCE_BYTES    64

static enum status call(struct link_client *link, struct buffer *request, char **bytes,
                        struct span *reply, struct fault *fault)
{
    size_t size = 0;
    enum status status =
        link_client_call(link, buffer_span(request), bytes, &size, fault);
    *reply = (struct span){*bytes, size};
    return status;
}

static enum status ask(struct link_client *link, const struct engine *engine,
                       const struct engine_options *options, char **bytes,
                       struct attach_reply *reply, struct fault *fault)
{
    struct buffer request, arena;
    struct span answer;
    const struct attach_request attach = {
        .pid = getpid(),
        .start_ticks = process_start_ticks(getpid()),
        .model_identity = {(const char *)engine_shape(engine)->identity,
                           sizeof engine_shape(engine)->identity},
        .kernels = span_of(engine_kernels(engine)),
        .threads_count = options->threads_count,
    };
    buffer_init(&request, REQUEST_BYTES_MAX);
    buffer_init(&arena, REQUEST_BYTES_MAX);
    attach_request_encode(&attach, &request);
    enum status status = call(link, &request, bytes, &answer, fault);
    if (!status)
        status = attach_reply_decode(answer, reply, &arena, fault);
    if (!status && reply->status)
        status = fault_set(fault, reply->status, NULL, "the scheduler refused: %.*s",
                           (int)reply->sentence.size, reply->sentence.data);
    buffer_fini(&request);
    buffer_fini(&arena);
    return status;
}

/* A scheduler with another configuration would post what the engine has no room for. */
static enum status check_fit(const struct attachment *attachment,
                             const struct engine *engine,
                             const struct engine_options *options, struct fault *fault)
{
    const struct geometry *geometry = &attachment->control.header->geometry;
    const struct model_shape *shape = engine_shape(engine);
    if (memcmp(geometry->model_identity, shape->identity, sizeof shape->identity) != 0)
        return fault_set(fault, STATUS_CONFLICT, "model",
                         "the segments are another model's than %s", options->model_path);
    if (geometry->step_rows_max > options->step_rows_max ||
        geometry->step_sequences_max > options->step_sequences_max ||
        geometry->context_length > options->context_length)
        return fault_set(
            fault, STATUS_CONFLICT, NULL,
            "the scheduler's steps (%u tokens, %u sequences, context %u) are larger than "
            "this worker's (%u, %u, %u); give both the same options",
            geometry->step_rows_max, geometry->step_sequences_max,
            geometry->context_length, options->step_rows_max, options->step_sequences_max,
            options->context_length);
    if (attachment->kv_region.size_bytes < layout_kv_bytes(geometry) ||
        attachment->worker >= geometry->workers_max)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "the segments do not hold what their header says");
    return STATUS_OK;
}

static enum status map_segments(struct attachment *attachment, const char *instance,
                                struct fault *fault)
{
    char name[SHM_NAME_BYTES];
    shm_region_name(name, instance, LAYOUT_CONTROL_PART);
    enum status status = shm_region_open(&attachment->control_region, name, fault);
    if (!status)
        status = layout_view(attachment->control_region.base,
                             attachment->control_region.size_bytes, &attachment->control,
                             fault);
    shm_region_name(name, instance, LAYOUT_KV_PART);
    if (!status)
        status = shm_region_open(&attachment->kv_region, name, fault);
    if (status)
        return status;
    const struct control_header *header = attachment->control.header;
    attachment->scheduler =
        process_open((pid_t)header->owner_pid, header->owner_start_ticks);
    if (header->generation != attachment->generation || attachment->scheduler < 0)
        return fault_set(fault, STATUS_UNAVAILABLE, NULL,
                         "the scheduler ended while we attached");
    return STATUS_OK;
}

enum status attachment_open(struct attachment *attachment, struct link_client *link,
                            const struct engine *engine,
                            const struct engine_options *options, struct fault *fault)
{
    char *bytes = NULL;
    char instance[INSTANCE_BYTES] = "";
    struct attach_reply reply;
    *attachment = (struct attachment){.scheduler = -1};
    enum status status = ask(link, engine, options, &bytes, &reply, fault);
    if (!status && reply.instance.size >= sizeof instance)
        status =
            fault_set(fault, STATUS_CORRUPT, NULL,
                      "the scheduler named its instance by %zu bytes; %zu are the most",
                      reply.instance.size, sizeof instance - 1);
    if (!status) {
        memcpy(instance, reply.instance.data, reply.instance.size);
        attachment->worker = reply.worker;
        attachment->generation = reply.generation;
    }
    free(bytes);
    if (!status)
        status = map_segments(attachment, instance, fault);
    if (!status)
        status = check_fit(attachment, engine, options, fault);
    if (status)
        attachment_close(attachment);
    return status;
}

void attachment_close(struct attachment *attachment)
{
    if (attachment->scheduler >= 0)
        close(attachment->scheduler);
    shm_region_close(&attachment->kv_region);
    shm_region_close(&attachment->control_region);
}

bool attachment_scheduler_lives(const struct attachment *attachment)
{
    return !process_ended(attachment->scheduler);
}

enum status attachment_beat(const struct attachment *attachment, struct link_client *link)
{
    struct buffer request, arena;
    struct span answer;
    struct beat_reply reply = {0};
    struct fault fault;
    char *bytes = NULL;
    const struct beat_request beat = {.worker = attachment->worker,
                                      .generation = attachment->generation};
    buffer_init(&request, REQUEST_BYTES_MAX);
    buffer_init(&arena, REQUEST_BYTES_MAX);
    beat_request_encode(&beat, &request);
    enum status status = call(link, &request, &bytes, &answer, &fault);
    if (!status)
        status = beat_reply_decode(answer, &reply, &arena, &fault);
    free(bytes);
    buffer_fini(&request);
    buffer_fini(&arena);
    return !status && reply.status ? STATUS_CONFLICT : STATUS_OK;
}
