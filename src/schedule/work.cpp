#include "schedule/work.hpp"
