/* names.h - the names of a table's rows in one line: for sentences that refuse another.
 *
 * Layer:   common/base (pure).
 */
#ifndef ROPEWAY_COMMON_BASE_NAMES_H
#define ROPEWAY_COMMON_BASE_NAMES_H

#include <stddef.h>

/* The name of row index, or NULL behind the last one. */
typedef const char *name_at(size_t index);

/* Joins all names with ", " between them into text, cut where it is too short; returns
 * text. */
const char *names_join(name_at *at, char *text, size_t text_bytes);

#endif
