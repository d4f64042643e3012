#include "tests/text/reference_model.h"

#include "common/text/tokenizer_gguf.h"
#include "tests/golden/golden_model.h"
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 4096

struct tokenizer *reference_model_tokenizer(const char *variable, const char *file)
{
    char path[PATH_BYTES];
    struct gguf *gguf;
    struct tokenizer *tokenizer;
    struct fault fault;
    golden_model_path(variable, file, path, sizeof path);
    if (gguf_open(&gguf, path, &fault) != STATUS_OK ||
        tokenizer_gguf_create(&tokenizer, gguf, &fault) != STATUS_OK) {
        printf("%s\n", fault.sentence);
        exit(1);
    }
    gguf_close(gguf);
    return tokenizer;
}
