/* ropeway_template.h - chat templates (Jinja) through minijinja, behind a C border.
 *
 * Library:  rw_template (rust/). A panic never crosses the border: it comes back as an
 *           error. Messages are one sentence, carry the template's own words, and never
 *           its source.
 * Thread:   a compiled template may be rendered from any number of threads at once.
 * Jinja:    as transformers renders: trim_blocks, lstrip_blocks, loop controls,
 *           {% generation %} transparent, tojson like Python's json.dumps with
 *           ensure_ascii off, strftime_now, raise_exception, Python's methods of strings,
 *           lists and dicts.
 *
 * What people wrote must never become special tokens, though the template's own text may,
 * and some templates build a special token around a role's name ("<|" + role + "|>"). So
 * not whole strings are marked, only what could do harm: in every string of the context,
 * the first character of each special token's text, and of the beginning of one at the
 * string's end, is marked as the user's. Strings without such text, nearly all, are what
 * they were, so a template's comparisons, lengths and splits work. The output comes back
 * cut at the marks: a piece that is not from the template holds a marked character, and a
 * special token that needs it is barred (tokenizer_encode_pieces).
 */
#ifndef ROPEWAY_TEMPLATE_H
#define ROPEWAY_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ropeway_template;

struct ropeway_template_text {
    const char *text;
    size_t size;
};

/* One run of the rendered prompt. text borrows from the result. */
struct ropeway_template_piece {
    const char *text;
    size_t size;
    bool from_template; /* special tokens may be parsed in it */
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

/* Compiles source. specials are the texts of the control tokens, which users may not
 * write; they are copied. On failure returns NULL and writes one sentence, with line and
 * column, into message. Bound: 1 MiB of source. */
struct ropeway_template *
ropeway_template_compile(const char *source, size_t size,
                         const struct ropeway_template_text *specials,
                         size_t specials_count, char *message, size_t message_bytes);
void ropeway_template_free(struct ropeway_template *compiled);

/* Renders with the variables of context_json, a JSON object whose key order is kept
 * (messages, tools, documents, add_generation_prompt, bos_token, eos_token, and any
 * extra). The caller's own texts bos_token, eos_token, unk_token, pad_token, sep_token,
 * cls_token and mask_token are not marked: a request must not be able to set them.
 * now_unix_s is what strftime_now sees (UTC). Bounds: 4 MiB of output, a fuel limit, a
 * depth limit. On failure result is left empty and message holds one sentence. */
enum ropeway_template_error
ropeway_template_render(const struct ropeway_template *compiled, const char *context_json,
                        size_t size, int64_t now_unix_s,
                        struct ropeway_template_result *result, char *message,
                        size_t message_bytes);
void ropeway_template_result_free(struct ropeway_template_result *result);

#endif
