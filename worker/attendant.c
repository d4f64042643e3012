#include "worker/attendant.h"

#include "common/os/futex.h"
#include "common/os/log.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEAT_PERIOD_S 1

static void fill_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
}

static void ring_worker(const struct attachment *attachment)
{
    futex_ring(&attachment->control.workers[attachment->worker].bell);
}

static void stop(struct attendant *attendant)
{
    if (attendant->loading)
        _exit(EXIT_SUCCESS);
    attendant->stop = true;
    futex_ring(&attendant->bell);
    pthread_mutex_lock(&attendant->beating);
    if (attendant->attachment)
        ring_worker(attendant->attachment);
    pthread_mutex_unlock(&attendant->beating);
}

static void beat(struct attendant *attendant)
{
    pthread_mutex_lock(&attendant->beating);
    if (attendant->attachment && !attendant->lost &&
        attachment_beat(attendant->attachment, attendant->link) != STATUS_OK) {
        log_warn("the scheduler does not know this worker any more; attaching anew");
        attendant->lost = true;
        ring_worker(attendant->attachment);
    }
    pthread_mutex_unlock(&attendant->beating);
}

static void *attend(void *data)
{
    struct attendant *attendant = data;
    const struct timespec period = {.tv_sec = BEAT_PERIOD_S};
    sigset_t signals;
    fill_signals(&signals);
    for (;;) {
        int caught = sigtimedwait(&signals, NULL, &period);
        if (caught > 0)
            stop(attendant);
        else if (errno == EAGAIN)
            beat(attendant);
    }
    return NULL;
}

enum status attendant_start(struct attendant *attendant, struct fault *fault)
{
    sigset_t signals;
    *attendant = (struct attendant){.loading = true};
    pthread_mutex_init(&attendant->beating, NULL);
    fill_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
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
