/* SPDX-License-Identifier: Apache-2.0 */
/* Marks what libspirkiln exports; everything else in it is hidden. */
#ifndef SPIRKILN_EXPORT_H
#define SPIRKILN_EXPORT_H

#if defined(SPIRKILN_STATIC)
#define SPIRKILN_API
#define SPIRKILN_HIDDEN
#elif defined(_WIN32)
#if defined(SPIRKILN_BUILDING)
#define SPIRKILN_API __declspec(dllexport)
#else
#define SPIRKILN_API __declspec(dllimport)
#endif
#define SPIRKILN_HIDDEN
#else
#define SPIRKILN_API __attribute__((visibility("default")))
/* For what is declared inside an exported class and is no part of the interface. */
#define SPIRKILN_HIDDEN __attribute__((visibility("hidden")))
#endif

#endif
