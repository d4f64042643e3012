/* main.c - ropeway-frontend: text in, text out. Exits with 2 when it cannot start with
 * these options, and starting it again would not help; with 0 on SIGTERM or SIGINT, once
 * what runs has finished or --drain-timeout is over; a second signal ends it at once.
 *
 * One loop turn: connections parse requests, jobs submit them through the uplink, the
 * poll's events come back and are written out; nothing waits.
 */
#include "common/base/exit_codes.h"
#include "common/base/time_units.h"
#include "common/os/clock.h"
#include "common/os/log.h"
#include "frontend/connection.h"
#include "frontend/door.h"
#include "frontend/job.h"
#include "frontend/listener.h"
#include "frontend/server.h"
#include "frontend/text_model.h"
#include "frontend/uplink.h"
#include <openssl/sha.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long the scheduler has to take the last cancels in. */
#define FLUSH_MS 2000

/* SERVING, then one signal: DRAINING until all is answered or the time is over; then
 * FLUSHING until the scheduler has the last cancels; then CLOSED, and the loop runs out.
 */
enum stage { SERVING, DRAINING, FLUSHING, CLOSED };

struct frontend {
    struct server server;
    struct listener *listener;
    enum stage stage;
    uv_signal_t terminate, interrupt;
    uv_timer_t deadline;
    uv_check_t turn; /* looks at the end of each loop turn whether a stage is over */
    char port_path[CONFIG_PATH_BYTES];
};

/* --- stopping -------------------------------------------------------------------- */

static void close_all(struct frontend *frontend)
{
    frontend->stage = CLOSED;
    unlink(frontend->port_path);
    uplink_close(frontend->server.uplink);
    uv_close((uv_handle_t *)&frontend->terminate, NULL);
    uv_close((uv_handle_t *)&frontend->interrupt, NULL);
    uv_close((uv_handle_t *)&frontend->deadline, NULL);
    uv_close((uv_handle_t *)&frontend->turn, NULL);
}

static void on_flushed(uv_timer_t *timer)
{
    close_all(timer->data);
}

static void begin_flush(struct frontend *frontend)
{
    frontend->stage = FLUSHING;
    connections_close(&frontend->server);
    door_close(frontend->server.door);
    uv_timer_start(&frontend->deadline, on_flushed, FLUSH_MS, 0);
}

/* Whoever still waits is told so, rather than cut off. */
static void end_drain(struct frontend *frontend)
{
    struct fault fault;
    fault_set(&fault, STATUS_UNAVAILABLE, NULL,
              "The server is stopping before this request is whole; send it again.");
    job_table_end(frontend->server.jobs, &fault);
    begin_flush(frontend);
}

static void on_drain_over(uv_timer_t *timer)
{
    struct frontend *frontend = timer->data;
    log_warn("the drain time is over requests=%u",
             job_table_count(frontend->server.jobs));
    end_drain(frontend);
}

static void on_turn(uv_check_t *turn)
{
    struct frontend *frontend = turn->data;
    const struct server *server = &frontend->server;
    bool is_idle = job_table_count(server->jobs) == 0;
    if (frontend->stage == DRAINING && is_idle && server->connections_count == 0)
        begin_flush(frontend);
    if (frontend->stage == FLUSHING && is_idle && uplink_is_idle(server->uplink))
        close_all(frontend);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct frontend *frontend = handle->data;
    if (frontend->stage == DRAINING) {
        log_warn("hurrying signal=%d requests=%u", number,
                 job_table_count(frontend->server.jobs));
        end_drain(frontend);
        return;
    }
    if (frontend->stage != SERVING) {
        log_warn("ending at once signal=%d", number);
        unlink(frontend->port_path);
        _exit(EXIT_SUCCESS);
    }
    log_info("stopping: what runs may finish seconds=%u requests=%u",
             frontend->server.config->drain_timeout_s,
             job_table_count(frontend->server.jobs));
    frontend->stage = DRAINING;
    frontend->server.draining = true;
    listener_close(frontend->listener);
    connections_drain(&frontend->server);
    uv_timer_start(&frontend->deadline, on_drain_over,
                   frontend->server.config->drain_timeout_s * MS_PER_S, 0);
}

/* --- starting -------------------------------------------------------------------- */

static enum status open_handles(struct frontend *frontend, struct fault *fault)
{
    uv_loop_t *loop = frontend->server.loop;
    frontend->terminate.data = frontend;
    frontend->interrupt.data = frontend;
    frontend->deadline.data = frontend;
    frontend->turn.data = frontend;
    uv_timer_init(loop, &frontend->deadline);
    uv_check_init(loop, &frontend->turn);
    uv_check_start(&frontend->turn, on_turn);
    int error = uv_signal_init(loop, &frontend->terminate);
    if (!error)
        error = uv_signal_init(loop, &frontend->interrupt);
    if (!error)
        error = uv_signal_start(&frontend->terminate, on_signal, SIGTERM);
    if (!error)
        error = uv_signal_start(&frontend->interrupt, on_signal, SIGINT);
    return error ? server_no_wake(error, fault) : STATUS_OK;
}

static enum status open_uplink(struct server *server, struct fault *fault)
{
    char url[CONFIG_TEXT_BYTES];
    struct uplink_events events;
    uint32_t context_length = text_model_context_length(server->model);
    server->jobs = job_table_create(server);
    if (!server->jobs)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "There is no memory to start.");
    job_table_events(server->jobs, &events);
    config_url(server->config, CONFIG_SCHEDULER_DOOR, url, sizeof url);
    return uplink_open(&server->uplink, server->loop, url, context_length, &events,
                       fault);
}

/* Tests and serve read the port here, where 0 was asked for. */
static enum status write_port(struct frontend *frontend, uint32_t port,
                              struct fault *fault)
{
    config_path(frontend->server.config, CONFIG_PORT_FILE, frontend->port_path);
    FILE *file = fopen(frontend->port_path, "w");
    bool written = file && fprintf(file, "%u\n", port) > 0;
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        return fault_set(fault, STATUS_IO, "runtime-dir", "Cannot write %s: %m.",
                         frontend->port_path);
    return STATUS_OK;
}

static enum status start(struct frontend *frontend, const struct config *config,
                         struct fault *fault)
{
    struct server *server = &frontend->server;
    uint32_t port = 0;
    server->config = config;
    server->loop = uv_default_loop();
    server->started_unix_s = clock_unix_s();
    frontend_metrics_init(&server->metrics);
    text_model_name(config, server->model_name, sizeof server->model_name);
    SHA256((const unsigned char *)config->api_key, strlen(config->api_key),
           server->api_key_digest);
    enum status status = text_model_open(&server->model, config, fault);
    if (status != STATUS_OK)
        return status;
    status = open_handles(frontend, fault);
    if (status == STATUS_OK)
        status = open_uplink(server, fault);
    if (status == STATUS_OK)
        status = door_open(&server->door, server, fault);
    if (status == STATUS_OK)
        status = listener_open(&frontend->listener, server, &port, fault);
    if (status == STATUS_OK)
        status = write_port(frontend, port, fault);
    if (status == STATUS_OK)
        log_info("listening on http://%s:%u model=%s", config->host, port,
                 server->model_name);
    return status;
}

int main(int argc, char **argv)
{
    static struct config config;
    static struct frontend frontend;
    struct fault fault;
    bool exit_now = false;
    if (config_load(&config, CONFIG_FRONTEND, argc, argv, &exit_now, &fault) !=
        STATUS_OK) {
        fprintf(stderr, "ropeway-frontend: %s\n", fault.sentence);
        return EXIT_OPTIONS;
    }
    if (exit_now)
        return EXIT_SUCCESS;
    log_init("ropeway-frontend", log_level_of(config.log_level));
    signal(SIGPIPE, SIG_IGN);
    if (start(&frontend, &config, &fault) != STATUS_OK) {
        log_error("%s", fault.sentence);
        return EXIT_OPTIONS;
    }
    uv_run(frontend.server.loop, UV_RUN_DEFAULT);
    if (job_table_count(frontend.server.jobs) == 0)
        job_table_destroy(frontend.server.jobs);
    text_model_close(frontend.server.model);
    uv_loop_close(frontend.server.loop);
    return EXIT_SUCCESS;
}
