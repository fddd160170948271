// ranks: 2 8 16
// timeout: 180
// Everybody to everybody, messages of random sizes in random order, every byte checked by a sum.
#include "check.h"
#include <stdint.h>

static uint64_t state;
static uint32_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

/* What a pair exchanges in a round follows from these three, so that both sides know. */
static int length(int from, int to, int round)
{
    uint32_t mixed = (from * 7919 + to) * 104729 + round * 1299709;
    mixed ^= mixed >> 13;
    mixed *= 2654435761u;
    mixed ^= mixed >> 15;
    switch (mixed % 8) {
    case 0: return 0;
    case 1: return mixed % 70000;
    case 2: return mixed % 10000;
    default: return mixed % 500;
    }
}

static uint64_t sum(const unsigned char *bytes, int len)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < len; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    state = 88172645463325252u + rank;
    const int rounds = 160 / size + 3;
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    unsigned char **out = calloc(size, sizeof *out), **in = calloc(size, sizeof *in);
    int *order = malloc(size * sizeof *order);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < size; i++) order[i] = i;
        for (int i = size - 1; i > 0; i--) {
            int j = random_number() % (i + 1), swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        /* A message carries its sum in front. Half of the receives are posted late. */
        for (int late = 0; late < 2; late++) {
            for (int i = 0; i < size; i++) {
                int peer = order[i], len = length(peer, rank, round) + 8;
                if ((peer + rank + round) % 2 != late) continue;
                in[peer] = calloc(len, 1);
                OK(MPI_Irecv(in[peer], len, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[peer]));
            }
            for (int i = 0; i < size && !late; i++) {
                int peer = order[i], len = length(rank, peer, round);
                out[peer] = malloc(len + 8);
                for (int at = 8; at < len + 8; at++) out[peer][at] = random_number();
                uint64_t own = sum(out[peer] + 8, len);
                memcpy(out[peer], &own, 8);
                OK(MPI_Isend(out[peer], len + 8, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[size + peer]));
            }
        }
        OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
        for (int peer = 0; peer < size; peer++) {
            uint64_t told;
            memcpy(&told, in[peer], 8);
            int len = length(peer, rank, round);
            CHECK(told == sum(in[peer] + 8, len), "%d bytes from %d in round %d", len, peer, round);
            free(in[peer]);
            free(out[peer]);
        }
    }
    return finish();
}
