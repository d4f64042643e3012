/* fuzz_template.c - any bytes as a chat template and its variables, parted by a NUL. */
#include "common/base/invariant.h"
#include "common/base/span.h"
#include "common/text/utf8.h"
#include "rust/ropeway_template.h"

#define NOW_UNIX_S 1700000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A panic is caught at the border, and is a fault of the engine all the same. */
static void check_message(const char *message)
{
    INVARIANT(utf8_valid(span_of(message)) && message[0] != '\0');
    INVARIANT(strstr(message, "failed inside") == NULL);
}

static void check_result(const struct ropeway_template_result *result)
{
    for (size_t i = 0; i < result->pieces_count; i++) {
        const struct ropeway_template_piece *piece = &result->pieces[i];
        INVARIANT(piece->size > 0);
        INVARIANT(utf8_valid((struct span){piece->text, piece->size}));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ropeway_template_text specials[] = {{"<s>", 3}, {"<|end|>", 7}};
    const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t source_size = end ? (size_t)(end - data) : size;
    char message[64];
    struct ropeway_template *compiled = ropeway_template_compile(
        (const char *)data, source_size, specials, 2, message, sizeof message);
    if (!compiled) {
        check_message(message);
        return 0;
    }
    struct ropeway_template_result result;
    const char *context = end ? (const char *)end + 1 : "{}";
    size_t context_size = end ? size - source_size - 1 : 2;
    if (ropeway_template_render(compiled, context, context_size, NOW_UNIX_S, &result,
                                message, sizeof message) == ROPEWAY_TEMPLATE_OK)
        check_result(&result);
    else
        check_message(message);
    ropeway_template_result_free(&result);
    ropeway_template_free(compiled);
    return 0;
}
