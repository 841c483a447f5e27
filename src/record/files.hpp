#pragma once

#include "files/input.hpp"             // IWYU pragma: export
#include "files/lock.hpp"              // IWYU pragma: export
#include "files/output.hpp"            // IWYU pragma: export
#include "files/temporary_folder.hpp"  // IWYU pragma: export
