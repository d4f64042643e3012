#include "tools/bench.h"

#include "common/base/exit_codes.h"
#include "common/base/time_units.h"
#include "tools/bench/report.h"
#include "tools/bench/user.h"
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_MS      100
#define PROGRESS_COLUMNS 30

struct run {
    struct bench_options options;
    struct results results;
    struct sockaddr_storage address;
    uv_loop_t loop;
    uv_timer_t progress;
    uv_signal_t interrupt;
    struct user *users;
    uint32_t users_count;
    uint32_t asked_count;
    bool over;
};

/* --- the end ------------------------------------------------------------------------ */

static void finish(struct run *run)
{
    if (run->over)
        return;
    run->over = true;
    run->results.ended_ns = uv_hrtime();
    for (uint32_t i = 0; i < run->users_count; i++) {
        if (run->users[i].asking)
            results_add_incomplete(&run->results, &run->users[i].answer);
        user_close(&run->users[i]);
    }
    uv_close((uv_handle_t *)&run->progress, NULL);
    uv_close((uv_handle_t *)&run->interrupt, NULL);
}

static void on_interrupt(uv_signal_t *signal, int signal_number)
{
    (void)signal_number;
    finish(signal->data);
}

static void on_end(struct user *user, enum failure failure)
{
    struct run *run = user->context;
    struct results *results = &run->results;
    results_add(results, &user->answer, failure, user->detail, uv_hrtime());
    if (run->asked_count < run->options.requests_count)
        user_ask(user, run->asked_count++);
    else if (results->succeeded_count + results->failed_count ==
             run->options.requests_count)
        finish(run);
}

/* --- progress, on a terminal -------------------------------------------------------- */

static void draw_progress(const struct run *run)
{
    const struct results *results = &run->results;
    uint32_t ended = results->succeeded_count + results->failed_count;
    uint32_t all = run->options.requests_count;
    int filled = (int)((uint64_t)PROGRESS_COLUMNS * ended / all);
    double seconds = (double)(uv_hrtime() - results->began_ns) / NS_PER_S;
    fprintf(stderr, "\r[%.*s%*s] %u/%u, %u failed, %.1f tokens/s ", filled,
            "##############################", PROGRESS_COLUMNS - filled, "", ended, all,
            results->failed_count,
            seconds > 0 ? (double)results->completion_tokens / seconds : 0);
}

static void on_progress(uv_timer_t *timer)
{
    draw_progress(timer->data);
}

/* --- the run ------------------------------------------------------------------------ */

static enum status find_address(struct run *run, struct fault *fault)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    int error = getaddrinfo(run->options.host, run->options.port, &hints, &found);
    if (error != 0)
        return fault_set(fault, STATUS_INVALID, "URL", "host '%.200s' is not known: %s",
                         run->options.host, gai_strerror(error));
    memcpy(&run->address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return STATUS_OK;
}

static enum status make_users(struct run *run, struct fault *fault)
{
    const struct bench_options *options = &run->options;
    uint32_t count = options->concurrency < options->requests_count
                         ? options->concurrency
                         : options->requests_count;
    run->users = calloc(count, sizeof *run->users);
    bool made = run->users != NULL;
    for (; made && run->users_count < count; run->users_count++)
        made = user_init(&run->users[run->users_count], &run->loop, options,
                         (struct sockaddr *)&run->address, &run->results.gaps_ms, on_end,
                         run);
    if (!made)
        return fault_set(fault, STATUS_NO_SPACE, "concurrency",
                         "no memory for %u users: give a smaller --concurrency", count);
    return STATUS_OK;
}

static void run_loop(struct run *run)
{
    bool shows_progress = isatty(STDERR_FILENO);
    uv_timer_init(&run->loop, &run->progress);
    uv_signal_init(&run->loop, &run->interrupt);
    run->progress.data = run->interrupt.data = run;
    uv_signal_start(&run->interrupt, on_interrupt, SIGINT);
    if (shows_progress)
        uv_timer_start(&run->progress, on_progress, PROGRESS_MS, PROGRESS_MS);
    run->results.began_ns = uv_hrtime();
    for (uint32_t i = 0; i < run->users_count; i++)
        user_ask(&run->users[i], run->asked_count++);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    if (shows_progress) {
        draw_progress(run);
        fprintf(stderr, "\n");
    }
}

static enum status measure(struct run *run, struct fault *fault)
{
    enum status status = find_address(run, fault);
    if (status != STATUS_OK)
        return status;
    int error = uv_loop_init(&run->loop);
    if (error != 0)
        return fault_set(fault, STATUS_IO, NULL, "no event loop can be made: %s",
                         uv_strerror(error));
    status = make_users(run, fault);
    if (status == STATUS_OK)
        run_loop(run);
    for (uint32_t i = 0; i < run->users_count; i++)
        user_fini(&run->users[i]);
    uv_loop_close(&run->loop); /* all handles are closed when it has run */
    free(run->users);
    return status;
}

int bench_main(int argc, char **argv)
{
    struct run run = {0};
    struct fault fault;
    bool exit_now = false;
    signal(SIGPIPE, SIG_IGN);
    enum status status = bench_options_parse(&run.options, argc, argv, &exit_now, &fault);
    if (status == STATUS_OK && exit_now)
        return EXIT_SUCCESS;
    if (status == STATUS_OK)
        status = measure(&run, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "ropeway bench: %s\n", fault.sentence);
        return EXIT_OPTIONS;
    }
    (run.options.json ? report_json : report_text)(&run.results, &run.options, stdout);
    bool all_good = run.results.succeeded_count == run.options.requests_count;
    results_fini(&run.results);
    return all_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
