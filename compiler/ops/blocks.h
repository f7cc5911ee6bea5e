/* blocks.h - the blocks of Col2Im. */
#pragma once

#include "ir/spatial.h"

/* The image that Col2Im computes, as the input of a convolution whose kernel is one block. */
bool col2im_read(Node *n, Image *m, Windows *w, Dim *block);
