#include "worker/math/quant_variant.h"

#define QUANT_TEXT_OF(name) #name
#define QUANT_TEXT(name)    QUANT_TEXT_OF(name)

static const struct quant_format formats[] = {
#define FORMAT(type, name, number, elements, bytes)                                      \
    {GGUF_TYPE_##type, QUANT_NAME(quant_##name)},
    GGUF_TYPE_TABLE(FORMAT)
#undef FORMAT
        {0, NULL},
};

extern const struct quant_variant QUANT_NAME(quant_variant);
const struct quant_variant QUANT_NAME(quant_variant) = {QUANT_TEXT(QUANT_VARIANT),
                                                        formats};
