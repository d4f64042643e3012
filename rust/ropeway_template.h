/* ropeway_template.h - chat templates (Jinja) through minijinja, behind a C border.
 *
 * A panic never crosses the border: it comes back as an error. Thread: a compiled
 * template may be rendered from any number of threads at once.
 *
 * What people wrote must never become special tokens, though the template's own text may.
 * So every string of the context that came from a request is marked before rendering and
 * the output is handed back as pieces: alternately the template's own text and users'
 * text.
 */
#ifndef ROPEWAY_TEMPLATE_H
#define ROPEWAY_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ropeway_template;

/* One run of the rendered prompt. text borrows from the result. */
struct ropeway_template_piece {
    const char *text;
    size_t size;
    bool from_template; /* the template's own: special tokens are parsed in it */
};

struct ropeway_template_result {
    struct ropeway_template_piece *pieces;
    size_t pieces_count;
    void *owner;
};

enum ropeway_template_error {
    ROPEWAY_TEMPLATE_OK = 0,
    ROPEWAY_TEMPLATE_RAISED = 1,  /* the template's own raise_exception: its message */
    ROPEWAY_TEMPLATE_FAILED = 2,  /* syntax or type error, fuel or depth or size bound */
    ROPEWAY_TEMPLATE_CONTEXT = 3, /* context is not a JSON object */
};

/* Compiles source. On failure returns NULL and writes one sentence, with line and column,
 * into message. Bound: 1 MiB of source. */
struct ropeway_template *ropeway_template_compile(const char *source, size_t size,
                                                  char *message, size_t message_bytes);
void ropeway_template_free(struct ropeway_template *compiled);

/* Renders with the variables of context_json, a JSON object whose key order is kept
 * (messages, tools, documents, add_generation_prompt, bos_token, eos_token, and any
 * extra). now_unix_s is what strftime_now sees (UTC). Bounds: 4 MiB of output, a fuel
 * limit. */
enum ropeway_template_error
ropeway_template_render(const struct ropeway_template *compiled, const char *context_json,
                        size_t size, int64_t now_unix_s,
                        struct ropeway_template_result *result, char *message,
                        size_t message_bytes);
void ropeway_template_result_free(struct ropeway_template_result *result);

#endif
