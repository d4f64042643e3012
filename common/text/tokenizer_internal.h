/* tokenizer_internal.h - what tokenizer.c makes and tokenizer_encode.c uses. */
#ifndef ROPEWAY_COMMON_TEXT_TOKENIZER_INTERNAL_H
#define ROPEWAY_COMMON_TEXT_TOKENIZER_INTERNAL_H

#include "common/text/bpe.h"
#include "common/text/pretokenizer.h"
#include "common/text/spm.h"
#include "common/text/vocabulary.h"

struct tokenizer {
    struct vocabulary vocabulary;
    struct pretokenizer *pretokenizer; /* byte-level only */
    struct bpe bpe;                    /* byte-level only */
    struct spm spm;                    /* SPM only */
    uint32_t bos, eos, unknown;
    bool add_bos, add_eos, add_space_prefix;
};

#endif
