/* A prompt becomes tokens in three steps: its pieces are laid side by side; one pass
 * finds the special tokens in that; what lies between them is merged, BPE word by word.
 */
#include "common/base/buffer.h"
#include "common/base/invariant.h"
#include "common/text/tokenizer_internal.h"
#include "common/text/utf8.h"
#include <stdlib.h>

/* Positions are 32 bits wide, and SPM's spaces grow to three bytes. */
#define TEXT_BYTES_MAX ((size_t)1 << 30)

struct encoding {
    const struct tokenizer *tokenizer;
    struct token_list *list;
    struct merger merger;
    struct buffer escaped; /* SPM */
    bool at_border;        /* SPM: nothing, or a special token, stands before */
    struct fault *fault;
};

static enum status no_memory(struct fault *fault)
{
    return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory to tokenize a prompt");
}

static enum status push(const struct encoding *encoding, uint32_t id)
{
    struct token_list *list = encoding->list;
    if (token_list_push(list, id))
        return STATUS_OK;
    if (list->count < list->bound)
        return no_memory(encoding->fault);
    return fault_set(encoding->fault, STATUS_CONTEXT_LENGTH, NULL,
                     "the prompt has more than %zu tokens", list->bound);
}

/* A symbol that is no token: its bytes' tokens, or else the unknown one. */
static enum status push_bytes(const struct encoding *encoding, struct span bytes)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < bytes.size && status == STATUS_OK; i++) {
        uint32_t id = tokenizer->vocabulary.byte_ids[(uint8_t)bytes.data[i]];
        if (id == TOKEN_NONE && !tokenizer->vocabulary.byte_level)
            id = tokenizer->unknown;
        if (id != TOKEN_NONE)
            status = push(encoding, id);
    }
    return status;
}

static enum status push_symbols(const struct encoding *encoding, const char *text)
{
    const struct merger *merger = &encoding->merger;
    enum status status = STATUS_OK;
    uint32_t at = merger->symbols_count > 0 ? 0 : SYMBOL_NONE;
    while (at != SYMBOL_NONE && status == STATUS_OK) {
        const struct symbol *symbol = &merger->symbols[at];
        status =
            symbol->id != TOKEN_NONE
                ? push(encoding, symbol->id)
                : push_bytes(encoding, (struct span){text + symbol->start, symbol->size});
        at = symbol->next;
    }
    return status;
}

static enum status take_word(void *context, struct span word, struct fault *fault)
{
    struct encoding *encoding = context;
    const struct tokenizer *tokenizer = encoding->tokenizer;
    if (pretokenizer_prefers_whole_words(tokenizer->pretokenizer)) {
        uint32_t id = map_find(&tokenizer->vocabulary.plain, word);
        if (id != MAP_NONE)
            return push(encoding, id);
    }
    if (!bpe_merge_word(&tokenizer->bpe, &tokenizer->vocabulary, word, &encoding->merger))
        return no_memory(fault);
    return push_symbols(encoding, word.data);
}

/* Text without special tokens. */
static enum status encode_plain(struct encoding *encoding, struct span text)
{
    if (text.size == 0)
        return STATUS_OK;
    const struct tokenizer *tokenizer = encoding->tokenizer;
    if (tokenizer->vocabulary.byte_level)
        return pretokenizer_split(tokenizer->pretokenizer, text, take_word, encoding,
                                  encoding->fault);
    bool prefixed = tokenizer->add_space_prefix && encoding->at_border;
    if (!spm_merge_text(&tokenizer->spm, text, prefixed, &encoding->escaped,
                        &encoding->merger))
        return no_memory(encoding->fault);
    encoding->at_border = false;
    return push_symbols(encoding, encoding->escaped.data);
}

/* Whether pieces one after another hold control tokens' text: runs of equal ones count as
 * one, so that a border within the template's own text hides no token. */
struct run {
    const struct text_piece *pieces;
    size_t pieces_count;
    size_t at;    /* the piece after the run */
    size_t end;   /* where the run ends in the joined text */
    bool special; /* control tokens are parsed in it */
};

static void run_advance(struct run *run)
{
    INVARIANT(run->at < run->pieces_count); /* the text would have ended */
    run->special = run->pieces[run->at].special;
    while (run->at < run->pieces_count && run->pieces[run->at].special == run->special)
        run->end += run->pieces[run->at++].text.size;
}

static enum status encode_joined(struct encoding *encoding, struct span text,
                                 struct run run)
{
    const struct special_index *specials = &encoding->tokenizer->vocabulary.specials;
    enum status status = STATUS_OK;
    size_t plain = 0; /* where the text begins that is not encoded yet */
    for (size_t at = 0; at < text.size && status == STATUS_OK;) {
        while (at >= run.end)
            run_advance(&run);
        const struct special *found =
            special_index_find(specials, (struct span){text.data + at, text.size - at},
                               run.special ? run.end - at : 0);
        if (!found) {
            at++;
            continue;
        }
        status = encode_plain(encoding, (struct span){text.data + plain, at - plain});
        if (status == STATUS_OK)
            status = push(encoding, found->id);
        encoding->at_border = true;
        at += found->text.size;
        plain = at;
    }
    if (status == STATUS_OK)
        status =
            encode_plain(encoding, (struct span){text.data + plain, text.size - plain});
    return status;
}

static enum status join(const struct text_piece *pieces, size_t pieces_count,
                        struct buffer *joined, struct fault *fault)
{
    for (size_t i = 0; i < pieces_count; i++) {
        if (!utf8_valid(pieces[i].text))
            return fault_set(fault, STATUS_MALFORMED, NULL,
                             "the text to tokenize is not valid UTF-8");
        buffer_append_span(joined, pieces[i].text);
    }
    if (joined->failed)
        return fault_set(fault, STATUS_TOO_LARGE, NULL,
                         "a text of more than %zu bytes cannot be tokenized",
                         TEXT_BYTES_MAX);
    return STATUS_OK;
}

enum status tokenizer_encode_pieces(const struct tokenizer *tokenizer,
                                    const struct text_piece *pieces, size_t pieces_count,
                                    int flags, struct token_list *list,
                                    struct fault *fault)
{
    struct encoding encoding = {
        .tokenizer = tokenizer, .list = list, .at_border = true, .fault = fault};
    struct buffer joined;
    buffer_init(&joined, TEXT_BYTES_MAX);
    buffer_init(&encoding.escaped, 3 * TEXT_BYTES_MAX + 3);
    merger_init(&encoding.merger);
    enum status status = join(pieces, pieces_count, &joined, fault);
    if (status == STATUS_OK && (flags & TOKENIZE_ADD) && tokenizer->add_bos)
        status = push(&encoding, tokenizer->bos);
    if (status == STATUS_OK)
        status =
            encode_joined(&encoding, buffer_span(&joined),
                          (struct run){.pieces = pieces, .pieces_count = pieces_count});
    if (status == STATUS_OK && (flags & TOKENIZE_ADD) && tokenizer->add_eos)
        status = push(&encoding, tokenizer->eos);
    merger_fini(&encoding.merger);
    buffer_fini(&encoding.escaped);
    buffer_fini(&joined);
    return status;
}

enum status tokenizer_encode(const struct tokenizer *tokenizer, struct span text,
                             int flags, struct token_list *list, struct fault *fault)
{
    struct text_piece piece = {text, (flags & TOKENIZE_SPECIAL) != 0};
    return tokenizer_encode_pieces(tokenizer, &piece, 1, flags, list, fault);
}
