// SPDX-License-Identifier: Apache-2.0
// psc(x): the specialization constant x, or the push constant p.x where that is 0 (its default).
// x is one identifier that names both; the push-constant block's instance is called p.
#define psc(x) ((x) == 0 ? p.x : (x))
