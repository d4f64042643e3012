#include "tools/serve/child.h"

#include "common/base/time_units.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A life of this length shows that the cause of the last death is gone. */
#define GOOD_LIFE_NS (10000 * NS_PER_MS)

/* The first restart waits for nothing, since streams wait for it; those after it wait
 * longer and longer, so that a broken process does not eat the machine. */
#define PAUSE_FIRST_NS (50 * NS_PER_MS)
#define PAUSE_MOST_NS  (5000 * NS_PER_MS)

#define PATH_BYTES     4096
#define EXIT_NOT_FOUND 127

uint64_t child_pause_ns(uint32_t deaths_count)
{
    uint64_t pause_ns = deaths_count > 1 ? PAUSE_FIRST_NS : 0;
    for (uint32_t death = 2; death < deaths_count && pause_ns < PAUSE_MOST_NS; death++)
        pause_ns *= 2;
    return pause_ns < PAUSE_MOST_NS ? pause_ns : PAUSE_MOST_NS;
}

static enum status find_executable(const char *name, char path[PATH_BYTES],
                                   struct fault *fault)
{
    char self[PATH_BYTES / 2];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0)
        return fault_set(fault, STATUS_IO, "", "cannot read /proc/self/exe: %s",
                         strerror(errno));
    self[size] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, PATH_BYTES, "%s/%s", self, name);
    if (access(path, X_OK) != 0)
        return fault_set(fault, STATUS_IO, "", "cannot run %s: %s", path,
                         strerror(errno));
    return STATUS_OK;
}

/* The API key is in the environment of the one that asks for it, and on no command line.
 */
static void set_environment(const struct child *child, const struct config *config)
{
    static const char *const systemd[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC",
                                          "WATCHDOG_PID"};
    for (size_t i = 0; i < sizeof systemd / sizeof *systemd; i++)
        unsetenv(systemd[i]);
    if (child->program == CONFIG_FRONTEND && config->api_key[0])
        setenv("ROPEWAY_API_KEY", config->api_key, 1);
    else
        unsetenv("ROPEWAY_API_KEY");
}

_Noreturn static void become(const struct child *child, const struct config *config,
                             const char *path, char **argv, pid_t supervisor)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The supervisor may have died before that line. */
    if (getppid() != supervisor)
        _exit(EXIT_FAILURE);
    setpgid(0, 0);
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0)
        _exit(EXIT_FAILURE);
    if (null != STDIN_FILENO)
        close(null);
    set_environment(child, config);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(path, argv);
    _exit(EXIT_NOT_FOUND);
}

enum status child_start(struct child *child, const struct config *config, uint64_t now_ns,
                        struct fault *fault)
{
    char path[PATH_BYTES];
    enum status status = find_executable(child->name, path, fault);
    if (status != STATUS_OK)
        return status;
    char **argv = config_argv(config, child->program, path);
    if (argv == NULL)
        return fault_set(fault, STATUS_NO_SPACE, "", "no memory to start %s",
                         child->name);
    pid_t supervisor = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(child, config, path, argv, supervisor);
    config_argv_free(argv);
    if (pid < 0)
        return fault_set(fault, STATUS_IO, "", "cannot start %s: %s", child->name,
                         strerror(errno));
    child->pid = pid;
    child->started_ns = now_ns;
    return STATUS_OK;
}

bool child_ended(struct child *child, uint64_t now_ns, int *wait_status)
{
    if (child->pid == 0 || waitpid(child->pid, wait_status, WNOHANG) != child->pid)
        return false;
    bool lived_well = now_ns - child->started_ns >= GOOD_LIFE_NS;
    child->pid = 0;
    child->deaths_count = lived_well ? 1 : child->deaths_count + 1;
    child->start_at_ns = now_ns + child_pause_ns(child->deaths_count);
    return true;
}

void child_signal(const struct child *child, int signal_number)
{
    if (child->pid != 0)
        kill(child->pid, signal_number);
}
