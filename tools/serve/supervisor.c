#include "tools/serve/supervisor.h"

#include "common/base/exit_codes.h"
#include "common/base/time_units.h"
#include "common/os/clock.h"
#include "common/os/log.h"
#include "tools/serve/child.h"
#include "tools/serve/instance_lock.h"
#include "tools/serve/leftovers.h"
#include "tools/serve/notify.h"
#include "tools/serve/readiness.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often the start is looked at: a person does not notice, and it costs nothing. */
#define START_LOOK_NS (20 * NS_PER_MS)

/* Beyond the drain timeout the frontend ends what is left by itself; the others have
 * nothing to wait for. Who needs longer hangs. */
#define STOP_BOUND_NS  (5 * NS_PER_S)
#define HURRY_BOUND_NS (1 * NS_PER_S)

#define FOREVER UINT64_MAX

enum phase { STARTING, SERVING, STOPPING };

/* In the order in which they stop: who asks before who answers. */
enum { FRONTEND, WORKER, SCHEDULER, CHILDREN };

struct supervisor {
    struct config config; /* its port becomes the real one, for the next frontend */
    struct child children[CHILDREN];
    enum phase phase;
    int stopping; /* the child that is being stopped */
    uint64_t stop_bound_ns;
    bool hurried;
    int exit_code;
    int signals; /* signalfd */
};

static const char *describe_end(int wait_status, char *text, size_t text_bytes)
{
    if (WIFSIGNALED(wait_status))
        snprintf(text, text_bytes, "was ended by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(text, text_bytes, "ended with code %d", WEXITSTATUS(wait_status));
    return text;
}

/* --- stopping ----------------------------------------------------------------------- */

static void stop_child(struct supervisor *supervisor, uint64_t now_ns)
{
    struct child *child = &supervisor->children[supervisor->stopping];
    uint64_t bound_ns = STOP_BOUND_NS;
    if (supervisor->stopping == FRONTEND)
        bound_ns += supervisor->config.drain_timeout_s * NS_PER_S;
    if (supervisor->hurried)
        bound_ns = HURRY_BOUND_NS;
    supervisor->stop_bound_ns = now_ns + bound_ns;
    child_signal(child, SIGTERM);
}

static void begin_stop(struct supervisor *supervisor, int exit_code, uint64_t now_ns)
{
    if (supervisor->phase == STOPPING)
        return;
    notify_send("STOPPING=1");
    supervisor->phase = STOPPING;
    supervisor->exit_code = exit_code;
    supervisor->stopping = FRONTEND;
    stop_child(supervisor, now_ns);
}

/* The next of those that run is told to end; CHILDREN when none runs. */
static void go_on_stopping(struct supervisor *supervisor, uint64_t now_ns)
{
    while (supervisor->stopping < CHILDREN &&
           supervisor->children[supervisor->stopping].pid == 0) {
        supervisor->stopping++;
        if (supervisor->stopping < CHILDREN)
            stop_child(supervisor, now_ns);
    }
    if (supervisor->stopping < CHILDREN && now_ns >= supervisor->stop_bound_ns) {
        const struct child *child = &supervisor->children[supervisor->stopping];
        log_warn("%s did not end in time and is killed", child->name);
        child_signal(child, SIGKILL);
        supervisor->stop_bound_ns = FOREVER;
    }
}

static void on_stop_signal(struct supervisor *supervisor, uint32_t signal_number,
                           uint64_t now_ns)
{
    if (supervisor->phase != STOPPING) {
        log_info("stopping on signal %u: streams have %u s to end; again to hurry",
                 signal_number, supervisor->config.drain_timeout_s);
        begin_stop(supervisor, EXIT_SUCCESS, now_ns);
    } else if (!supervisor->hurried) {
        supervisor->hurried = true;
        log_info("hurrying on signal %u", signal_number);
        stop_child(supervisor, now_ns);
    }
}

/* --- starting and restarting -------------------------------------------------------- */

/* Whether a child of that index is wanted alive: while the service serves, and while a
 * good end drains what needs it. */
static bool is_wanted(const struct supervisor *supervisor, int index)
{
    if (supervisor->phase != STOPPING)
        return true;
    return supervisor->exit_code == EXIT_SUCCESS && index > supervisor->stopping;
}

static void start_due(struct supervisor *supervisor, uint64_t now_ns)
{
    /* Whoever answers starts before whoever asks. */
    for (int index = CHILDREN - 1; index >= 0; index--) {
        struct child *child = &supervisor->children[index];
        struct fault fault;
        if (child->pid != 0 || now_ns < child->start_at_ns ||
            !is_wanted(supervisor, index))
            continue;
        if (index == FRONTEND)
            readiness_forget_port(&supervisor->config);
        if (child_start(child, &supervisor->config, now_ns, &fault) != STATUS_OK) {
            log_error("%s", fault.sentence);
            begin_stop(supervisor, EXIT_FAILURE, now_ns);
            return;
        }
        log_debug("started %s pid=%d", child->name, (int)child->pid);
    }
}

static void on_child_end(struct supervisor *supervisor, int index, int wait_status,
                         uint64_t now_ns)
{
    struct child *child = &supervisor->children[index];
    char text[96];
    if (!is_wanted(supervisor, index))
        return;
    describe_end(wait_status, text, sizeof text);
    bool exited = WIFEXITED(wait_status);
    int code = exited ? WEXITSTATUS(wait_status) : EXIT_FAILURE;
    if (supervisor->phase == STARTING || (exited && code == EXIT_OPTIONS)) {
        log_error("%s %s: stopping", child->name, text);
        begin_stop(supervisor, code != 0 ? code : EXIT_FAILURE, now_ns);
        return;
    }
    log_warn("%s %s and is started again in %llu ms", child->name, text,
             (unsigned long long)((child->start_at_ns - now_ns) / NS_PER_MS));
}

static void reap(struct supervisor *supervisor, uint64_t now_ns)
{
    int wait_status;
    for (int index = 0; index < CHILDREN; index++)
        if (child_ended(&supervisor->children[index], now_ns, &wait_status))
            on_child_end(supervisor, index, wait_status, now_ns);
}

/* As the frontend names it to clients. */
static void print_model_name(const struct config *config)
{
    static const char suffix[] = ".gguf";
    const char *slash = strrchr(config->model, '/');
    const char *name = slash != NULL ? slash + 1 : config->model;
    size_t size = strlen(name), suffix_size = sizeof suffix - 1;
    if (config->served_model_name[0])
        printf("%s", config->served_model_name);
    else if (size > suffix_size && strcmp(name + size - suffix_size, suffix) == 0)
        printf("%.*s", (int)(size - suffix_size), name);
    else
        printf("%s", name);
}

static void announce(const struct config *config, const struct readiness *readiness)
{
    bool is_ipv6 = strchr(config->host, ':') != NULL;
    char url[CONFIG_TEXT_BYTES + 32];
    snprintf(url, sizeof url, is_ipv6 ? "http://[%s]:%u" : "http://%s:%u", config->host,
             config->port);
    printf("ready: %s (model ", url);
    print_model_name(config);
    printf(", %u slots, %u KV blocks of %u tokens)\n", readiness->slots_count,
           readiness->blocks_count, readiness->block_size);
    printf("try:   curl -N %s/v1/chat/completions -H 'Content-Type: application/json' -d "
           "'{\"messages\": [{\"role\": \"user\", \"content\": \"Who are you?\"}], "
           "\"stream\": true, \"temperature\": 0.2, \"max_tokens\": 100}'\n",
           url);
    fflush(stdout);
}

static void look_at_start(struct supervisor *supervisor)
{
    struct readiness readiness;
    uint32_t port = readiness_port(&supervisor->config);
    if (port == 0 || !readiness_healthy(&supervisor->config, port) ||
        !readiness_read(&supervisor->config, &readiness))
        return;
    supervisor->phase = SERVING;
    supervisor->config.port = port;
    announce(&supervisor->config, &readiness);
    notify_send("READY=1");
}

/* --- the loop ----------------------------------------------------------------------- */

static uint64_t next_turn_ns(const struct supervisor *supervisor, uint64_t now_ns)
{
    uint64_t next_ns = FOREVER;
    if (supervisor->phase == STARTING)
        next_ns = now_ns + START_LOOK_NS;
    if (supervisor->phase == STOPPING)
        next_ns = supervisor->stop_bound_ns;
    for (int index = 0; index < CHILDREN; index++) {
        const struct child *child = &supervisor->children[index];
        if (child->pid == 0 && is_wanted(supervisor, index) &&
            child->start_at_ns < next_ns)
            next_ns = child->start_at_ns;
    }
    return next_ns;
}

/* Sleeps until a signal or the next turn's time. */
static void wait_and_take_signals(struct supervisor *supervisor)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t next_ns = next_turn_ns(supervisor, now_ns);
    uint64_t sleep_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(sleep_ns / NS_PER_S),
                               (long)(sleep_ns % NS_PER_S)};
    struct pollfd poll = {.fd = supervisor->signals, .events = POLLIN};
    struct signalfd_siginfo info;
    if (ppoll(&poll, 1, next_ns == FOREVER ? NULL : &timeout, NULL) <= 0)
        return;
    while (read(supervisor->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            on_stop_signal(supervisor, info.ssi_signo, clock_monotonic_ns());
}

static void turn(struct supervisor *supervisor)
{
    uint64_t now_ns = clock_monotonic_ns();
    reap(supervisor, now_ns);
    start_due(supervisor, now_ns);
    /* Last, since both may have begun the stop, and nothing would wake us for it. */
    if (supervisor->phase == STOPPING)
        go_on_stopping(supervisor, now_ns);
    if (supervisor->phase == STARTING)
        look_at_start(supervisor);
}

static void signals_of_ours(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGCHLD);
}

void supervisor_block_signals(void)
{
    sigset_t set;
    signals_of_ours(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int supervise(const struct config *config)
{
    struct supervisor supervisor = {
        .config = *config,
        .children = {
            [FRONTEND] = {.name = "ropeway-frontend", .program = CONFIG_FRONTEND},
            [WORKER] = {.name = "ropeway-worker", .program = CONFIG_WORKER},
            [SCHEDULER] = {.name = "ropeway-scheduler", .program = CONFIG_SCHEDULER}}};
    struct fault fault;
    sigset_t set;
    struct instance_lock lock;
    if (instance_lock_take(config, &lock, &fault) != STATUS_OK) {
        log_error("%s", fault.sentence);
        return EXIT_FAILURE;
    }
    signals_of_ours(&set);
    supervisor.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (supervisor.signals < 0) {
        log_error("signals cannot be received: %s", strerror(errno));
        instance_lock_release(&lock);
        return EXIT_FAILURE;
    }
    while (supervisor.phase != STOPPING || supervisor.stopping < CHILDREN) {
        turn(&supervisor);
        if (supervisor.phase != STOPPING || supervisor.stopping < CHILDREN)
            wait_and_take_signals(&supervisor);
    }
    leftovers_remove(config);
    close(supervisor.signals);
    instance_lock_release(&lock);
    return supervisor.exit_code;
}
