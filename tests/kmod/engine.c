/* Copies by a DMA engine: the one in software of this directory, which must be there. */
#include "harness.h"

#define LEN (700000UL)

static void set_fail(const char *value)
{
    FILE *file = fopen("/sys/module/softdma/parameters/fail", "w");
    CHECK(file && fputs(value, file) >= 0 && fclose(file) == 0);
}

/* Pieces of all kinds of lengths, by the engine alone; with an engine that fails, and by the option without one, by the processor. */
static void engine_copies(void)
{
    int fd = device();
    struct tern_about about;
    CHECK(ioctl(fd, TERN_IOC_ABOUT, &about) == 0 && (about.features & TERN_HAS_DMA));
    char *own = memory(LEN + PAGE) + 11, *got = memory(LEN + PAGE) + 300;
    fill(own, LEN, 8);
    uint64_t source = region(fd, own, LEN, TERN_READ, 0), target = region(fd, got, LEN, TERN_WRITE, 0);
    static _Atomic int status;
    for (int way = 0; way < 3; way++) {
        long before = count("dma_bytes");
        set_fail(way == 1 ? "1" : "0");
        FILE *file = fopen("/sys/module/tern/parameters/use_dma", "w");
        CHECK(file && fputs(way == 2 ? "0" : "1", file) >= 0 && fclose(file) == 0);
        for (size_t len = 1; len <= LEN; len = len * 5 + 3) {
            memset(got, 0, len + 1);
            CHECK(start(fd, TERN_ASYNC_DMA, TERN_READ, got, source, len, &status) == 0 && end_of(&status) == 0);
            CHECK(is_filled(got, 0, len, 8) && got[len] == 0);
        }
        memset(got, 0, LEN);
        struct tern_copy arg = {.from = source, .to = target, .len = LEN, .flags = TERN_ASYNC_DMA, .status = (uintptr_t)&status};
        CHECK(ioctl(fd, TERN_IOC_COPY, &arg) == 0 && end_of(&status) == 0);
        CHECK(is_filled(got, 0, LEN, 8));
        CHECK(way == 0 ? count("dma_bytes") >= before + (long)LEN : count("dma_bytes") == before);
    }
    set_fail("0");
    FILE *file = fopen("/sys/module/tern/parameters/use_dma", "w");
    CHECK(file && fputs("1", file) >= 0 && fclose(file) == 0);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    run("engine_copies", engine_copies);
    return sum();
}
