/* endpoints.h - the handlers of router.c's table, each in a file of its own.
 *
 * A handler answers through sink: before it returns, or later, having set on_leave.
 */
#ifndef ROPEWAY_FRONTEND_ENDPOINTS_H
#define ROPEWAY_FRONTEND_ENDPOINTS_H

#include "frontend/core/http_reader.h"
#include "frontend/sink.h"

struct server;

typedef void endpoint_handler(struct server *server, struct http_request *request,
                              struct sink *sink);

endpoint_handler endpoint_health;      /* GET /health */
endpoint_handler endpoint_version;     /* GET /version */
endpoint_handler endpoint_models;      /* GET /v1/models */
endpoint_handler endpoint_model;       /* GET /v1/models/NAME */
endpoint_handler endpoint_metrics;     /* GET /metrics */
endpoint_handler endpoint_completions; /* POST /v1/completions */
endpoint_handler endpoint_chat;        /* POST /v1/chat/completions */

/* What the nng door shows too. */
void endpoint_status(struct server *server, struct sink *sink);

#endif
