/* vocabulary_fixture.h - small vocabularies for the tests, and what they make of texts.
 */
#ifndef ROPEWAY_TESTS_TEXT_VOCABULARY_FIXTURE_H
#define ROPEWAY_TESTS_TEXT_VOCABULARY_FIXTURE_H

#include "common/text/tokenizer.h"

/* Ids of the fixture's tokens that tests name; bytes follow at FIXTURE_BYTES. */
enum {
    FIXTURE_UNKNOWN = 0,
    FIXTURE_BOS = 1,
    FIXTURE_EOS = 2,
    FIXTURE_TURN = 3,  /* "<|turn|>", which the file calls user-defined */
    FIXTURE_BREAK = 4, /* "\n\n", user-defined */
    FIXTURE_BYTES = 5,
    FIXTURE_WORDS = FIXTURE_BYTES + 256
};

/* Tokens of the bytes as SPM or as the byte alphabet has them, then words. */
struct tokenizer *fixture_spm(bool add_space_prefix, const char *const *words);
struct tokenizer *fixture_bpe(const char *pre, const char *const *words,
                              const char *const *merges);

/* Asserts that text becomes the ids, which end with TOKEN_NONE. */
void fixture_expect(const struct tokenizer *tokenizer, const char *text, int flags,
                    const uint32_t *ids);
void fixture_expect_pieces(const struct tokenizer *tokenizer,
                           const struct text_piece *pieces, size_t pieces_count,
                           const uint32_t *ids);

#define IDS(...) ((const uint32_t[]){__VA_ARGS__, TOKEN_NONE})

#endif
