/* link_dialer.h - keeps an nng socket connected to one peer, however often that restarts.
 *
 * Why:     nng 1.5's dialer gives up for ever when its peer's end closes a new connection
 *          before both have shaken hands, as a peer that is being killed does: seen once
 *          in about fifty kills. So a dialer that stays without a connection is replaced.
 * Threads: works on threads of nng's; open and close are called from the owner's.
 * Not for others than link_client.c.
 */
#ifndef ROPEWAY_COMMON_OS_LINK_DIALER_H
#define ROPEWAY_COMMON_OS_LINK_DIALER_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>

struct link_dialer {
    nng_socket socket;
    nng_dialer dialer;
    char *url;
    nng_aio *watch;               /* sleeps, then looks */
    bool connected;               /* at the last look */
    _Atomic uint32_t pipes_count; /* connections that stand */
};

/* The peer need not be there yet. Returns nng's error, 0: none; close it either way. */
int link_dialer_open(struct link_dialer *dialer, nng_socket socket, const char *url);
/* Before the socket is closed. Safe on a zeroed one. */
void link_dialer_stop(struct link_dialer *dialer);
/* After the socket was closed, when no callback of its pipes can come any more. */
void link_dialer_close(struct link_dialer *dialer);

/* What the owner's pipe callback tells: a connection stands, or has gone. */
void link_dialer_gained(struct link_dialer *dialer);
void link_dialer_lost(struct link_dialer *dialer);

#endif
