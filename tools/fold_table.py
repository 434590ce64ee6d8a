#!/usr/bin/env python3
"""Makes the tables by which search reads text: which characters beyond ASCII belong to words, which
are words by themselves (ideographs, kana, pictures), and what a character is folded to (lower case,
without its diacritics, wide and styled forms as plain ones).

    fold_table.py OUT.c
"""
import sys
import unicodedata

LAST = 0x3FFFF
SINGLES = [(0x3041, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
           (0x1F300, 0x1FAFF), (0x20000, 0x3FFFF)]
# What Unicode does not take apart.
EXTRA = {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i",
         "ħ": "h", "ŋ": "n", "ŧ": "t", "ĸ": "k"}
MAX_FOLDED = 11  # bytes; a longer one is left as it is


def in_words(char):
    return unicodedata.category(char)[0] in "LNM"


def is_accent(char):
    return 0x300 <= ord(char) <= 0x36F


def folded(cp):
    char = chr(cp)
    if 0xAC00 <= cp <= 0xD7A3 or not in_words(char):
        return char
    parts = unicodedata.normalize("NFKD", char.casefold())
    plain = "".join(EXTRA.get(c, c) for c in parts.casefold() if not is_accent(c))
    plain = unicodedata.normalize("NFC", plain)
    fine = all(in_words(c) for c in plain) and len(plain.encode()) <= MAX_FOLDED
    return plain if fine else char


def ranges(test):
    found = []
    for cp in range(0x80, LAST + 1):
        if 0xD800 <= cp <= 0xDFFF or not test(cp):
            continue
        if found and found[-1][1] == cp - 1:
            found[-1][1] = cp
        else:
            found.append([cp, cp])
    return found


def write_ranges(out, name, found):
    out.write(f"\nconst struct fold_range {name}[] = {{\n")
    out.writelines(f"    {{0x{lo:x}, 0x{hi:x}}},\n" for lo, hi in found)
    out.write(f"}};\nconst size_t {name}_n = {len(found)};\n")


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write('/* Made by tools/fold_table.py. */\n#include "store/search_words_int.h"\n')
        write_ranges(out, "fold_words", ranges(lambda cp: in_words(chr(cp))))
        write_ranges(out, "fold_singles",
                     [[lo, hi] for lo, hi in SINGLES])
        pairs = [(cp, folded(cp)) for cp in range(0x80, LAST + 1)
                 if not 0xD800 <= cp <= 0xDFFF and folded(cp) != chr(cp)]
        out.write("\nconst struct fold_pair fold_pairs[] = {\n")
        for cp, text in pairs:
            raw = "".join(f"\\x{b:02x}" for b in text.encode())
            out.write(f'    {{0x{cp:x}, "{raw}"}},\n')
        out.write(f"}};\nconst size_t fold_pairs_n = {len(pairs)};\n")


main()
