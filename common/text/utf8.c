#include "common/text/utf8.h"

#include "common/base/invariant.h"

/* A row of table 3-7: leads up to last_lead have size bytes, and the second lies in
 * low..high (which is what keeps overlong forms, surrogates and large codes out). */
struct lead {
    uint8_t last_lead;
    uint8_t size; /* 0: no character begins so */
    uint8_t low, high;
};

static const struct lead leads[] = {
    {0x7F, 1, 0, 0},       {0xC1, 0, 0, 0},       {0xDF, 2, 0x80, 0xBF},
    {0xE0, 3, 0xA0, 0xBF}, {0xEC, 3, 0x80, 0xBF}, {0xED, 3, 0x80, 0x9F},
    {0xEF, 3, 0x80, 0xBF}, {0xF0, 4, 0x90, 0xBF}, {0xF3, 4, 0x80, 0xBF},
    {0xF4, 4, 0x80, 0x8F}, {0xFF, 0, 0, 0},
};

static struct utf8_step step_of(const uint8_t *bytes, size_t count)
{
    const struct lead *lead = leads;
    while (bytes[0] > lead->last_lead)
        lead++;
    if (lead->size == 0)
        return (struct utf8_step){UTF8_BROKEN, 1, 0};
    /* A lead of n bytes carries 7 - n bits of the code; each byte after it, 6. */
    uint32_t code = bytes[0] & (0x7Fu >> lead->size);
    for (uint8_t i = 1; i < lead->size; i++) {
        if (i == count)
            return (struct utf8_step){UTF8_CUT, i, 0};
        uint8_t low = i == 1 ? lead->low : 0x80, high = i == 1 ? lead->high : 0xBF;
        if (bytes[i] < low || bytes[i] > high)
            return (struct utf8_step){UTF8_BROKEN, i, 0};
        code = code << 6 | (bytes[i] & 0x3F);
    }
    return (struct utf8_step){UTF8_WHOLE, lead->size, code};
}

struct utf8_step utf8_next(struct span text)
{
    INVARIANT(text.size > 0);
    uint8_t first = (uint8_t)text.data[0];
    if (first < 0x80)
        return (struct utf8_step){UTF8_WHOLE, 1, first};
    return step_of((const uint8_t *)text.data, text.size);
}

bool utf8_valid(struct span text)
{
    while (text.size > 0) {
        struct utf8_step step = utf8_next(text);
        if (step.kind != UTF8_WHOLE)
            return false;
        text.data += step.size;
        text.size -= step.size;
    }
    return true;
}

uint8_t utf8_write(uint32_t code, char bytes[UTF8_BYTES_MAX])
{
    INVARIANT(code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF));
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    uint8_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (uint8_t i = size; --i > 0; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(0xF00u >> size | code);
    return size;
}
