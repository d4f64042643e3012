#include "frontend/core/utf8.h"

/* What may follow a lead byte: the range of the second byte is narrower for some (Unicode
 * 15, table 3-7). */
struct utf8_lead {
    unsigned char first, last;
    unsigned char second_min, second_max;
    unsigned char size;
};

static const struct utf8_lead utf8_leads[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

size_t utf8_character_size(struct span text, size_t *broken)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    *broken = 1;
    if (bytes[0] < 0x80)
        return 1;
    for (size_t row = 0; row < sizeof utf8_leads / sizeof utf8_leads[0]; row++) {
        const struct utf8_lead *lead = &utf8_leads[row];
        if (bytes[0] < lead->first || bytes[0] > lead->last)
            continue;
        for (size_t at = 1; at < lead->size; at++) {
            unsigned char low = at == 1 ? lead->second_min : 0x80;
            unsigned char high = at == 1 ? lead->second_max : 0xBF;
            if (at >= text.size || bytes[at] < low || bytes[at] > high)
                return 0;
            *broken = at + 1;
        }
        return lead->size;
    }
    return 0;
}

bool utf8_is_valid(struct span text)
{
    size_t broken = 0;
    while (text.size > 0) {
        size_t size = utf8_character_size(text, &broken);
        if (size == 0)
            return false;
        text = (struct span){text.data + size, text.size - size};
    }
    return true;
}
