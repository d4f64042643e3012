/* main.c - ropeway-scheduler: owns requests, blocks and what runs next. Exits with 2 when
 * it cannot start with these options, and starting it again would not help; with 1 when
 * another one still serves the instance; with 0 on SIGTERM, leaving the segments, and all
 * requests in them, to a successor.
 */
#include "common/base/exit_codes.h"
#include "common/base/time_units.h"
#include "common/gguf/model_shape.h"
#include "common/os/clock.h"
#include "common/os/config.h"
#include "common/os/futex.h"
#include "common/os/log.h"
#include "scheduler/geometry.h"
#include "scheduler/kv_region.h"
#include "scheduler/loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Contexts: one held poll for each frontend, and as many short requests at once. */
#define CONTEXTS_COUNT 256

/* A frontend that was restarted has asked for its answers by then. */
#define DONE_KEPT_NS (60 * NS_PER_S)

/* The signal handler's: what to set and whom to wake. */
static volatile sig_atomic_t stop;
static _Atomic uint32_t *stop_bell;

static void on_stop(int signal_number)
{
    int error = errno; /* of what was interrupted */
    (void)signal_number;
    stop = 1;
    futex_ring(stop_bell);
    errno = error;
}

static void catch_signals(struct control_header *header)
{
    struct sigaction action = {.sa_handler = on_stop};
    stop_bell = &header->scheduler_bell;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* The bell goes with the segment. */
static void ignore_signals(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static void ring(void *bell)
{
    futex_ring(bell);
}

static enum status make_scheduler(const struct config *config,
                                  const struct control *control,
                                  struct scheduler **scheduler, struct fault *fault)
{
    struct scheduler_options options = {
        .policy = config->scheduling_policy,
        .prefill_chunk = config->prefill_chunk,
        .waiting_max = config->max_waiting,
        .queue_wait_ns = config->max_queue_wait_s * NS_PER_S,
        .done_kept_ns = DONE_KEPT_NS,
        .prefix_caching = strcmp(config->enable_prefix_caching, "on") == 0};
    if (getrandom(&options.secret, sizeof options.secret, 0) != sizeof options.secret)
        return fault_set(fault, STATUS_IO, "", "the system gives no random numbers");
    return scheduler_create(scheduler, control, &options, fault);
}

/* Opens the door and turns until told to stop. */
static enum status serve(const struct config *config, const struct control *control,
                         struct scheduler *scheduler, struct fault *fault)
{
    char url[CONFIG_TEXT_BYTES];
    struct service service;
    enum status status;
    struct frontends *frontends = frontends_create(control, scheduler);
    struct workers *workers = workers_create(control, scheduler, config->instance);
    if (frontends == NULL || workers == NULL) {
        status = fault_set(fault, STATUS_NO_SPACE, "", "no memory for the scheduler");
        goto destroy;
    }
    service_init(&service, control, scheduler, frontends, workers, config->prefill_chunk);
    config_url(config, CONFIG_SCHEDULER_DOOR, url, sizeof url);
    status = link_server_open(&service.server, url, CONTEXTS_COUNT, MESSAGE_BYTES_MAX,
                              ring, &control->header->scheduler_bell, fault);
    if (status != STATUS_OK)
        goto fini;
    log_info("serving url=%s generation=%u blocks=%u block_size=%u context=%u slots=%u",
             url, control->header->generation, control->header->geometry.blocks_count,
             control->header->geometry.block_size,
             control->header->geometry.context_length,
             control->header->geometry.step_sequences_max);
    loop_run(&service, &stop);
    log_info("stopping; the segments stay instance=%s", config->instance);
    link_server_close(service.server);
fini:
    service_fini(&service);
destroy:
    workers_destroy(workers);
    frontends_destroy(frontends);
    return status;
}

static enum status run(const struct config *config, struct fault *fault)
{
    struct model_shape shape;
    struct geometry geometry;
    struct kv_region region;
    struct scheduler *scheduler = NULL;
    enum status status = model_shape_read_file(config->model, &shape, fault);
    if (status == STATUS_OK)
        status = geometry_plan(config, &shape, &geometry, fault);
    if (status == STATUS_OK)
        status = kv_region_open(&region, config, &geometry, fault);
    if (status != STATUS_OK)
        return status;
    catch_signals(region.control.header);
    status = make_scheduler(config, &region.control, &scheduler, fault);
    if (status == STATUS_OK) {
        status = serve(config, &region.control, scheduler, fault);
        scheduler_destroy(scheduler);
    }
    /* Nobody can have submitted anything to a scheduler that never served. */
    if (status != STATUS_OK)
        instance_segments_unlink(config->instance);
    ignore_signals();
    kv_region_close(&region);
    return status;
}

int main(int argc, char **argv)
{
    struct config config;
    struct fault fault;
    bool exit_now;
    if (config_load(&config, CONFIG_SCHEDULER, argc, argv, &exit_now, &fault) !=
        STATUS_OK) {
        fprintf(stderr, "ropeway-scheduler: %s\n", fault.sentence);
        return EXIT_OPTIONS;
    }
    if (exit_now)
        return EXIT_SUCCESS;
    log_init("ropeway-scheduler", log_level_of(config.log_level));
    enum status status = run(&config, &fault);
    if (status == STATUS_OK)
        return EXIT_SUCCESS;
    log_error("%s", fault.sentence);
    return status == STATUS_CONFLICT ? EXIT_FAILURE : EXIT_OPTIONS;
}
