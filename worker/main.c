/* main.c - ropeway-worker: loads the model once, then attaches to the scheduler and runs
 * its steps, and attaches anew when the scheduler starts again. */
#include "common/base/exit_codes.h"
#include "common/base/time_units.h"
#include "common/os/config.h"
#include "common/os/log.h"
#include "proto/message.h"
#include "worker/loop.h"
#include "worker/math/team.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The scheduler answers from memory, within a turn of its loop; and one that starts is
 * found soon. */
#define LINK_TIMEOUT_MS 2000
#define RETRY_PAUSE_NS  (100 * NS_PER_MS)

/* The engine's scratch follows the context, so that is taken from the file where no
 * option says it. */
static enum status read_options(const struct config *config,
                                struct engine_options *options, struct fault *fault)
{
    struct model_shape shape;
    enum status status = model_shape_read_file(config->model, &shape, fault);
    if (status)
        return status;
    *options = (struct engine_options){
        .model_path = config->model,
        .threads_count = config->threads ? config->threads : team_threads_default(),
        .step_rows_max = config->max_num_batched_tokens,
        .step_sequences_max = config->max_num_seqs,
        .context_length =
            config->max_model_len ? config->max_model_len : shape.context_length,
    };
    return STATUS_OK;
}

/* STATUS_OK after a signal or when the attachment was lost. */
static enum status attach_and_run(struct attendant *attendant, struct link_client *link,
                                  struct engine *engine,
                                  const struct engine_options *options,
                                  struct fault *fault)
{
    struct attachment attachment;
    enum status status = attachment_open(&attachment, link, engine, options, fault);
    if (status)
        return status;
    log_info("attached worker=%u generation=%u", attachment.worker,
             attachment.generation);
    attendant_attach(attendant, &attachment);
    loop_run(&attachment, engine, attendant);
    attendant_attach(attendant, NULL);
    attachment_close(&attachment);
    return STATUS_OK;
}

static bool may_pass(enum status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT ||
           status == STATUS_NOT_FOUND;
}

static enum status serve(const struct config *config, struct attendant *attendant,
                         struct engine *engine, const struct engine_options *options,
                         struct fault *fault)
{
    char url[CONFIG_TEXT_BYTES];
    struct link_client *link;
    config_url(config, CONFIG_SCHEDULER_DOOR, url, sizeof url);
    enum status status = link_client_open(&link, url, 1, MESSAGE_BYTES_MAX,
                                          LINK_TIMEOUT_MS, NULL, NULL, fault);
    if (status)
        return status;
    attendant_loaded(attendant, link);
    while (!attendant->stop && (!status || may_pass(status))) {
        status = attach_and_run(attendant, link, engine, options, fault);
        if (may_pass(status)) {
            log_debug("not attached yet url=%s reason=\"%s\"", url, fault->sentence);
            attendant_pause(attendant, RETRY_PAUSE_NS);
        }
    }
    return attendant->stop ? STATUS_OK : status;
}

static enum status run(const struct config *config, struct fault *fault)
{
    /* Both live until the process ends: the attendant's thread is never joined. */
    static struct attendant attendant;
    struct engine_options options;
    struct engine *engine;
    enum status status = attendant_start(&attendant, fault);
    if (!status)
        status = read_options(config, &options, fault);
    if (!status)
        status = engine_open(&engine, &options, fault);
    if (status)
        return status;
    log_info("loaded model=%s kernels=\"%s\" threads=%u", config->model,
             engine_kernels(engine), options.threads_count);
    status = serve(config, &attendant, engine, &options, fault);
    engine_close(engine);
    return status;
}

int main(int argc, char **argv)
{
    struct config config;
    struct fault fault;
    bool exit_now;
    if (config_load(&config, CONFIG_WORKER, argc, argv, &exit_now, &fault) != STATUS_OK) {
        fprintf(stderr, "ropeway-worker: %s\n", fault.sentence);
        return EXIT_OPTIONS;
    }
    if (exit_now)
        return EXIT_SUCCESS;
    log_init("ropeway-worker", log_level_of(config.log_level));
    if (run(&config, &fault) == STATUS_OK)
        return EXIT_SUCCESS;
    log_error("%s", fault.sentence);
    return EXIT_OPTIONS;
}
