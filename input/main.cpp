#include "input/program.h"

int main(int argc, char** argv) { return quadrille::run_program(argc, argv); }
