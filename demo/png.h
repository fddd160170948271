/* Writes a picture as PNG, uncompressed ("stored" deflate blocks), so that no library is needed. */
#ifndef TERN_DEMO_PNG_H
#define TERN_DEMO_PNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t png_crc(const unsigned char *data, size_t length)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

static uint32_t png_adler(const unsigned char *data, size_t length)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < length; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void png_number(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* One chunk: length, type, data, checksum of type and data. */
static int png_chunk(FILE *file, const char *type, const unsigned char *data, size_t length)
{
    unsigned char *chunk = malloc(length + 12);
    if (chunk == NULL)
        return -1;
    png_number(chunk, (uint32_t)length);
    memcpy(chunk + 4, type, 4);
    if (length > 0)
        memcpy(chunk + 8, data, length);
    png_number(chunk + 8 + length, png_crc(chunk + 4, length + 4));
    size_t written = fwrite(chunk, 1, length + 12, file);
    free(chunk);
    return written == length + 12 ? 0 : -1;
}

/* Image data as PNG wants it: each row behind a zero byte (no filter), in stored blocks of at most
 * 65535 bytes, in a zlib frame. Returns the length, 0 without memory; the caller frees *out. */
static size_t png_frame(const unsigned char *pixels, size_t width, size_t height,
                        unsigned char **out)
{
    size_t row = 3 * width + 1, length = row * height, blocks = (length + 65534) / 65535;
    unsigned char *raw = malloc(length), *to = *out = malloc(length + 5 * blocks + 6);
    if (raw == NULL || to == NULL) {
        free(raw);
        return 0;
    }
    for (size_t i = 0; i < height; i++) {
        raw[i * row] = 0;
        memcpy(raw + i * row + 1, pixels + i * 3 * width, 3 * width);
    }
    *to++ = 0x78;
    *to++ = 0x01;
    for (size_t at = 0; at < length; at += 65535) {
        size_t count = length - at < 65535 ? length - at : 65535;
        *to++ = at + count == length;
        *to++ = (unsigned char)count;
        *to++ = (unsigned char)(count >> 8);
        *to++ = (unsigned char)~count;
        *to++ = (unsigned char)(~count >> 8);
        memcpy(to, raw + at, count);
        to += count;
    }
    png_number(to, png_adler(raw, length));
    free(raw);
    return (size_t)(to + 4 - *out);
}

/* Writes `height` rows of `width` pixels of three bytes, red, green, blue. Returns 0, or -1. */
static int write_png(const char *path, const unsigned char *pixels, int width, int height)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {0}, *data = NULL;
    size_t length = png_frame(pixels, (size_t)width, (size_t)height, &data);
    FILE *file = length > 0 ? fopen(path, "wb") : NULL;
    if (file == NULL) {
        free(data);
        return -1;
    }
    png_number(header, (uint32_t)width);
    png_number(header + 4, (uint32_t)height);
    header[8] = 8; /* bits per sample */
    header[9] = 2; /* red, green, blue */
    int result = fwrite(signature, 1, 8, file) == 8 ? 0 : -1;
    result |= png_chunk(file, "IHDR", header, sizeof header);
    result |= png_chunk(file, "IDAT", data, length);
    result |= png_chunk(file, "IEND", NULL, 0);
    free(data);
    return fclose(file) == 0 ? result : -1;
}

#endif
