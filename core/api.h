// What libquadrille.so exports: everything else has hidden visibility.
#pragma once

#define QUADRILLE_API __attribute__((visibility("default")))
