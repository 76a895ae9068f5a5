// SPDX-License-Identifier: Apache-2.0
// What is needed of OpenMP: how many threads oneDNN takes. Declared here, because not every
// compiler comes with omp.h.
#pragma once

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}
