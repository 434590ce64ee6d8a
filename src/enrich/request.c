#include "enrich/request.h"
