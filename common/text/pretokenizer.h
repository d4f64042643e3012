/* pretokenizer.h - cuts text into the words within which byte-level BPE may merge.
 *
 * Layer:   common/text (pure; PCRE2).
 * Names:   those of tokenizer.ggml.pre. A name that is not in the table is refused, never
 *          taken for gpt2: other cuts give other tokens, and nobody would notice.
 *          "default" means that the file's writer did not know, and is refused too.
 * Source:  the expressions of the models' own tokenizer.json or tiktoken files.
 * Thread:  read-only after create.
 */
#ifndef ROPEWAY_COMMON_TEXT_PRETOKENIZER_H
#define ROPEWAY_COMMON_TEXT_PRETOKENIZER_H

#include "common/base/span.h"
#include "common/base/status.h"

struct pretokenizer;

enum status pretokenizer_create(struct pretokenizer **pretokenizer, const char *name,
                                struct fault *fault);
void pretokenizer_destroy(struct pretokenizer *pretokenizer);

/* A word that is a token is that token, without merging (llama3's "ignore_merges"). */
bool pretokenizer_prefers_whole_words(const struct pretokenizer *pretokenizer);

/* Whether models with this pre-tokenizer begin a text with BOS where their file does not
 * say: llama3's do. False for NULL and unknown names. */
bool pretokenizer_adds_bos(const char *name);

/* Calls take for each word of text, in order; together they are the text. Text is valid
 * UTF-8. Ends early with the first status other than STATUS_OK that take returns. */
typedef enum status pretokenizer_take(void *context, struct span word,
                                      struct fault *fault);
enum status pretokenizer_split(const struct pretokenizer *pretokenizer, struct span text,
                               pretokenizer_take *take, void *context,
                               struct fault *fault);

#endif
