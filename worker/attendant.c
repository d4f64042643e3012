#include "worker/attendant.h"

#include "common/base/time_units.h"
#include "common/os/futex.h"
#include "common/os/log.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A scheduler's death is seen soon, so that its successor has its worker soon; whether a
 * living one still knows us is asked less often. */
#define LOOK_PERIOD_NS (200 * NS_PER_MS)
#define LOOKS_PER_BEAT 5

static struct attendant *signalled;

static void on_signal(int number)
{
    int error = errno; /* of what was interrupted */
    (void)number;
    signalled->stop = true;
    futex_ring(&signalled->bell);
    errno = error;
}

static void ring_worker(const struct attachment *attachment)
{
    futex_ring(&attachment->control.workers[attachment->worker].bell);
}

static void stop(struct attendant *attendant)
{
    if (attendant->loading)
        _exit(EXIT_SUCCESS);
    pthread_mutex_lock(&attendant->beating);
    if (attendant->attachment)
        ring_worker(attendant->attachment);
    pthread_mutex_unlock(&attendant->beating);
}

static void lose(struct attendant *attendant, const char *why)
{
    log_warn("the scheduler %s; attaching anew", why);
    attendant->lost = true;
    ring_worker(attendant->attachment);
}

static void look(struct attendant *attendant, bool with_beat)
{
    pthread_mutex_lock(&attendant->beating);
    const struct attachment *attachment = attendant->attachment;
    if (attachment && !attendant->lost) {
        if (!attachment_scheduler_lives(attachment))
            lose(attendant, "has ended");
        else if (with_beat && attachment_beat(attachment, attendant->link) != STATUS_OK)
            lose(attendant, "does not know this worker any more");
    }
    pthread_mutex_unlock(&attendant->beating);
}

static void *attend(void *data)
{
    struct attendant *attendant = data;
    for (uint32_t looks = 0;; looks++) {
        uint32_t seen = attendant->bell;
        if (attendant->stop)
            stop(attendant);
        else
            look(attendant, looks % LOOKS_PER_BEAT == 0);
        futex_wait(&attendant->bell, seen, LOOK_PERIOD_NS);
    }
    return NULL;
}

enum status attendant_start(struct attendant *attendant, struct fault *fault)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    *attendant = (struct attendant){.loading = true};
    pthread_mutex_init(&attendant->beating, NULL);
    signalled = attendant;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int error = pthread_create(&attendant->thread, NULL, attend, attendant);
    if (error)
        return fault_set(fault, STATUS_INTERNAL, NULL, "no thread can be made: %s",
                         strerror(error));
    pthread_detach(attendant->thread);
    return STATUS_OK;
}

void attendant_loaded(struct attendant *attendant, struct link_client *link)
{
    attendant->link = link;
    attendant->loading = false;
}

void attendant_attach(struct attendant *attendant, const struct attachment *attachment)
{
    pthread_mutex_lock(&attendant->beating);
    attendant->attachment = attachment;
    attendant->lost = false;
    pthread_mutex_unlock(&attendant->beating);
}

void attendant_pause(struct attendant *attendant, uint64_t timeout_ns)
{
    uint32_t seen = attendant->bell;
    if (!attendant->stop)
        futex_wait(&attendant->bell, seen, timeout_ns);
}
