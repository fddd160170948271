/* What programs ask of other MPI libraries whether they take memory of graphics cards: Tern does not.
 * For programs that include this file where it is there; the functions need no library. */
#ifndef TERN_MPI_EXT_H
#define TERN_MPI_EXT_H

#define MPIX_CUDA_AWARE_SUPPORT 0
#define MPIX_ROCM_AWARE_SUPPORT 0

#ifdef __cplusplus
extern "C" {
#endif

static inline int MPIX_Query_cuda_support(void) { return 0; }
static inline int MPIX_Query_rocm_support(void) { return 0; }
static inline int MPIX_Query_hip_support(void) { return 0; }
static inline int MPIX_Query_ze_support(void) { return 0; }

#ifdef __cplusplus
}
#endif

#endif
