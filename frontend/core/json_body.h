/* json_body.h - a request's body to JSON, bounded, with errors that quote none of it.
 *
 * Layer:   frontend/core (pure; jansson).
 * Rules:   one object; repeated keys, NaN, broken UTF-8, lone surrogates and more than
 *          JSON_DEPTH_MAX levels are refused. A number too large for 64 bits becomes a
 *          real, so that the check of its field names the field.
 */
#ifndef ROPEWAY_FRONTEND_CORE_JSON_BODY_H
#define ROPEWAY_FRONTEND_CORE_JSON_BODY_H

#include "common/base/span.h"
#include "common/base/status.h"
#include <jansson.h>
#include <stdbool.h>

#define JSON_DEPTH_MAX 100 /* schemas of tools nest a dozen deep; C's stack holds it */

/* The caller json_decref's *root. */
enum status json_body_parse(struct span body, json_t **root, struct fault *fault);

/* True when value is an integer, be it written as 3 or as 3.0. */
bool json_body_integer(const json_t *value, json_int_t *integer);

/* A string's bytes, borrowed from value. */
struct span json_body_text(const json_t *value);

#endif
