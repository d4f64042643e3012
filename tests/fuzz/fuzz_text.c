/* fuzz_text.c - any bytes through both kinds of tokenizer, back to text, past stops.
 *
 * The input's first byte chooses flags and where the pieces' borders are. What is no
 * UTF-8 is refused; what is comes back from its tokens byte for byte.
 */
#include "common/base/invariant.h"
#include "common/text/detokenizer.h"
#include "common/text/stop_matcher.h"
#include "common/text/tokenizer_gguf.h"
#include "common/text/utf8.h"
#include <stdlib.h>

#define SPM_SPACE "\xE2\x96\x81" /* U+2581, which comes back as a space */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tokenizer *load(const char *path)
{
    struct gguf *gguf;
    struct tokenizer *tokenizer;
    struct fault fault;
    INVARIANT(gguf_open(&gguf, path, &fault) == STATUS_OK);
    INVARIANT(tokenizer_gguf_create(&tokenizer, gguf, &fault) == STATUS_OK);
    gguf_close(gguf);
    return tokenizer;
}

/* The tokens' text: whole, or cut into pieces at a byte of the input's choice. */
static bool encode(const struct tokenizer *tokenizer, struct span text, uint8_t choice,
                   struct token_list *list)
{
    struct fault fault = {0};
    enum status status;
    size_t border = text.size > 0 ? choice % (text.size + 1) : 0;
    if (choice & 1) {
        status =
            tokenizer_encode(tokenizer, text, choice & TOKENIZE_SPECIAL, list, &fault);
    } else {
        /* A border lies between characters. */
        while (border < text.size && ((uint8_t)text.data[border] & 0xC0) == 0x80)
            border++;
        const struct text_piece pieces[] = {
            {{text.data, border}, true},
            {{text.data + border, text.size - border}, false}};
        status = tokenizer_encode_pieces(tokenizer, pieces, 2, 0, list, &fault);
    }
    INVARIANT(status == (utf8_valid(text) ? STATUS_OK : STATUS_MALFORMED));
    return status == STATUS_OK;
}

static void check(const struct tokenizer *tokenizer, struct span text, uint8_t choice)
{
    struct token_list list;
    struct detokenizer detokenizer;
    struct stop_matcher matcher;
    struct buffer back, out;
    const struct span stops[] = {SPAN_LITERAL("ab"), SPAN_LITERAL("\n\n")};
    token_list_init(&list, 3 * text.size + 1);
    buffer_init(&back, 16 * text.size + 16);
    buffer_init(&out, 16 * text.size + 16);
    stop_matcher_init(&matcher, stops, 2);
    detokenizer_init(&detokenizer, tokenizer, true, true);
    if (encode(tokenizer, text, choice, &list)) {
        for (size_t i = 0; i < list.count; i++)
            detokenizer_push(&detokenizer, list.ids[i], &back);
        detokenizer_finish(&detokenizer, &back);
        bool special = choice & TOKENIZE_SPECIAL || !(choice & 1);
        /* A prefix after a control token is text of its own. */
        if (!special || !tokenizer_adds_space_prefix(tokenizer))
            INVARIANT(span_equal(buffer_span(&back), text));
        stop_matcher_push(&matcher, buffer_span(&back), &out);
        stop_matcher_finish(&matcher, &out);
        INVARIANT(out.size <= back.size);
        INVARIANT(span_equal(buffer_span(&out), (struct span){back.data, out.size}));
    }
    buffer_fini(&out);
    buffer_fini(&back);
    token_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokenizer *bpe, *spm;
    if (!bpe) {
        bpe = load(TINY_MODEL);
        spm = load(TINY_SPM_MODEL);
    }
    if (size == 0)
        return 0;
    struct span text = {(const char *)data + 1, size - 1};
    check(bpe, text, data[0]);
    if (!memmem(text.data, text.size, SPM_SPACE, strlen(SPM_SPACE)))
        check(spm, text, data[0]);
    return 0;
}
