/* router.h - from a method and a path to its handler.
 *
 * Rules:   the query does not matter; one slash at the end of a path does not either; a
 *          path of the table asked with another method is 405 and names the right ones;
 *          HEAD is answered wherever GET is; OPTIONS is answered for every path of the
 *          table, without a key, so that browsers may ask first.
 * To add an endpoint: one file with its handler, one row in router.c.
 */
#ifndef ROPEWAY_FRONTEND_ROUTER_H
#define ROPEWAY_FRONTEND_ROUTER_H

#include "frontend/core/http_reader.h"
#include "frontend/sink.h"

struct server;

/* Answers the request through sink, now or later. request may be changed (its body
 * taken); it is the caller's again after the return. */
void router_route(struct server *server, struct http_request *request, struct sink *sink);

/* Whether clients may come in with this key; always where the server asks for none. */
bool router_key_is_right(const struct server *server, struct span key);

#endif
