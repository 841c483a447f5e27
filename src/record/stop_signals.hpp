#pragma once

namespace occbench {

/// From here on SIGINT and SIGTERM ask the program to stop when what it has in hand is finished and written.
void stop_on_signals();

/// Whether one of them came.
bool stop_asked();

}  // namespace occbench
