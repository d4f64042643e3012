/* listener.h - where HTTP clients come in.
 *
 * Thread:  the loop's.
 */
#ifndef ROPEWAY_FRONTEND_LISTENER_H
#define ROPEWAY_FRONTEND_LISTENER_H

#include "common/base/status.h"
#include <stdint.h>

struct listener;
struct server;

/* Listens on --host and --port; *port is the port, also where 0 was asked for. */
enum status listener_open(struct listener **listener, struct server *server,
                          uint32_t *port, struct fault *fault);

/* No more connections; open ones are not touched. */
void listener_close(struct listener *listener);

#endif
