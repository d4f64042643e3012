/* rng.h - counter-based random numbers: the same key and counter give the same bits.
 *
 * Layer:   common/base (pure).
 * Source:  Philox4x32-10, Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
 *          SC 2011. No state: a draw is a function of (seed, choice, position, draw), so
 *          a token drawn again after a crash is the same token.
 */
#ifndef ROPEWAY_COMMON_BASE_RNG_H
#define ROPEWAY_COMMON_BASE_RNG_H

#include <stdint.h>

/* One block of Philox4x32-10. */
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Uniform in [0, 1), a multiple of 2^-24, for one draw of one position of one choice. */
float rng_uniform(uint64_t seed, uint32_t choice, uint32_t position, uint32_t draw);

#endif
