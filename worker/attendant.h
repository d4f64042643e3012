/* attendant.h - the worker's second thread: signals and the beat, while the first
 * computes.
 *
 * A signal's handler only rings the attendant's bell: libraries have threads of their own
 * (OpenBLAS starts some before main), so signals cannot be kept for one thread by
 * blocking. While the model is loading a signal ends the process at once, since a worker
 * holds nothing that must survive; later the step in flight is finished.
 */
#ifndef ROPEWAY_WORKER_ATTENDANT_H
#define ROPEWAY_WORKER_ATTENDANT_H

#include "worker/attachment.h"
#include <pthread.h>
#include <stdatomic.h>

struct attendant {
    pthread_t thread;
    pthread_mutex_t beating; /* held during a beat, and to change attachment */
    const struct attachment *attachment; /* NULL: none to beat for */
    struct link_client *link;
    _Atomic bool loading;
    _Atomic bool stop;     /* a signal came */
    _Atomic bool lost;     /* the scheduler does not know us any more */
    _Atomic uint32_t bell; /* rung with stop; the attendant and who pauses sleep on it */
};

/* Catches SIGTERM and SIGINT and starts. The attendant must live as long as the process.
 */
enum status attendant_start(struct attendant *attendant, struct fault *fault);

/* The model is loaded: signals stop the work in order from here on. link is borrowed. */
void attendant_loaded(struct attendant *attendant, struct link_client *link);

/* Beats for attachment from now on, or for none (NULL): then nobody reads the old one. */
void attendant_attach(struct attendant *attendant, const struct attachment *attachment);

/* Sleeps for timeout_ns or until stop. */
void attendant_pause(struct attendant *attendant, uint64_t timeout_ns);

#endif
