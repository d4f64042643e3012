/* link_listener.h - keeps an nng socket listening on an ipc path.
 *
 * Why:     nng 1.5's ipc listener accepts nobody any more once a peer has closed its
 *          connection before both have shaken hands, as a peer that is killed may do.
 *          (Its tcp listener goes on.) Nothing tells of it, so while nobody else arrives
 *          we arrive ourselves from time to time; where that is not noticed within
 *          LOOKS_MAX looks, the listener is replaced. Connections of the old one end,
 *          and their peers dial again.
 * Threads: works on threads of nng's; open, stop and close are called from the owner's.
 * Not for others than link_server.c.
 */
#ifndef ROPEWAY_COMMON_OS_LINK_LISTENER_H
#define ROPEWAY_COMMON_OS_LINK_LISTENER_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>

enum link_probe_step { PROBE_RESTS, PROBE_DIALS, PROBE_GREETS, PROBE_WAITS };

struct link_listener {
    nng_socket socket;
    nng_listener listener;
    char *url;
    _Atomic bool stopping;
    _Atomic uint32_t arrivals_count;
    uint32_t arrivals_seen;
    /* The probe: one aio, which sleeps, dials and greets by turns. */
    enum link_probe_step step;
    uint32_t looks_count;
    nng_aio *aio;
    nng_stream_dialer *dialer;
    nng_stream *stream;
};

/* Returns nng's error, 0: none; close it in either case. */
int link_listener_open(struct link_listener *listener, nng_socket socket,
                       const char *url);
/* Before the socket is closed. Safe on a zeroed one. */
void link_listener_stop(struct link_listener *listener);
/* After the socket was closed. */
void link_listener_close(struct link_listener *listener);

/* What the owner's pipe callback tells: somebody has arrived. */
void link_listener_met(struct link_listener *listener, nng_pipe pipe);

#endif
