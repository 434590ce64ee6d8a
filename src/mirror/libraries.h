/* Versions of the libraries that only this room touches, for 'tain doctor'. */
#ifndef TAIN_MIRROR_LIBRARIES_H
#define TAIN_MIRROR_LIBRARIES_H

const char *mirror_zstd_version(void); /* "1.5.4" */

#endif
