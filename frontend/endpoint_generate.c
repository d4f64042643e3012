/* endpoint_generate.c - POST /v1/completions and POST /v1/chat/completions: the same but
 * for the kind of their answers. */
#include "frontend/endpoints.h"

#include "frontend/job.h"

static void generate(struct server *server, struct http_request *request,
                     struct sink *sink, enum answer_kind kind)
{
    struct job_input input = {.kind = kind,
                              .body = &request->body,
                              .request_id = http_request_header(request, "x-request-id")};
    job_start(server, &input, sink);
}

void endpoint_completions(struct server *server, struct http_request *request,
                          struct sink *sink)
{
    generate(server, request, sink, ANSWER_COMPLETION);
}

void endpoint_chat(struct server *server, struct http_request *request, struct sink *sink)
{
    generate(server, request, sink, ANSWER_CHAT);
}
