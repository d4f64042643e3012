#include "worker/math/float_environment.h"
#include "common/base/invariant.h"
#include <float.h>
#include <stdint.h>

#if defined(__x86_64__)

/* MXCSR: bit 6 denormals are zeros, bits 13 and 14 rounding mode, bit 15 flush to zero.
 */
#define MXCSR_CHANGED_BITS ((1u << 6) | (3u << 13) | (1u << 15))

static void set_control_bits(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~MXCSR_CHANGED_BITS);
}

#elif defined(__aarch64__)

/* FPCR: bits 22 and 23 rounding mode, bit 24 flush to zero. */
#define FPCR_CHANGED_BITS ((3ull << 22) | (1ull << 24))

static void set_control_bits(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control & ~FPCR_CHANGED_BITS));
}

#else
#error "float_environment: how does this processor set its rounding mode?"
#endif

void float_environment_set(void)
{
    set_control_bits();
    INVARIANT(float_environment_right());
}

bool float_environment_right(void)
{
    /* volatile: the sums must be computed here and now, not by the compiler. */
    volatile float one = 1.0f, half_step = FLT_EPSILON / 2, smallest = FLT_MIN;
    volatile float tie = one + half_step;           /* even neighbour: 1 */
    volatile float odd_tie = one + 3 * half_step;   /* even neighbour: 1 + 2 steps */
    volatile float negative_tie = -one - half_step; /* tells up and down apart */
    volatile float denormal = smallest / 2;         /* 0 when flushed */
    volatile float denormal_read = denormal * 2;    /* 0 when read as zero */
    return tie == 1.0f && odd_tie == 1.0f + 2 * FLT_EPSILON && negative_tie == -1.0f &&
           denormal != 0.0f && denormal_read == FLT_MIN;
}
