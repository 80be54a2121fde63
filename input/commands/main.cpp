#include "input/commands/program.h"

#include <csignal>

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file beyond `ulimit -f` is an error with a message, like a full disk
  return quadrille::run_program(argc, argv);
}
