/* door.h - the nng door: request-reply callers who speak msgpack.
 *
 * Form:    a map with the fields of the HTTP bodies and op: "chat", "completion",
 *          "models" or "status". The reply is a map of the same shape as the HTTP
 *          answer's JSON, or {"error":{…}}. Nothing is streamed.
 * Key:     where the server asks for one, the field api_key holds it.
 * Thread:  the loop's; nng completes elsewhere and wakes the loop.
 * Bound:   DOOR_CONTEXTS calls at once; more wait within nng. A caller's leaving cannot
 *          be seen; its request ends by itself, being bounded like any other.
 */
#ifndef ROPEWAY_FRONTEND_DOOR_H
#define ROPEWAY_FRONTEND_DOOR_H

#include "common/base/status.h"

#define DOOR_CONTEXTS 64 /* twice the slots of a default server */

struct door;
struct server;

/* Listens in the runtime directory, and on --nng-listen where that is given. */
enum status door_open(struct door **door, struct server *server, struct fault *fault);
void door_close(struct door *door);

#endif
