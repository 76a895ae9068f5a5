// SPDX-License-Identifier: Apache-2.0
// Quadrilaterals and what is done with them.
#pragma once

#include <array>
#include <opencv2/core.hpp>

#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

// Corners clockwise on the screen (y down). Which one is first has a meaning of its own in each
// use.
using Quad = std::array<cv::Point2f, 4>;

// Length of the edges 0-1 and 2-3 (the longer one), and of 1-2 and 3-0.
float quad_width(const Quad& quad);
float quad_height(const Quad& quad);

// The corners of a rectangle, the one that is top left first: the rectangle is taken to lie between
// -45 and +45 degrees.
Quad ordered_corners(const cv::RotatedRect& rect);

// The same corners, beginning `quarter_turns` further on.
Quad turned(const Quad& quad, int quarter_turns);

// Degrees clockwise of the direction 0 -> 1 (together with 3 -> 2), (-180, 180].
float quad_angle(const Quad& quad);

// Angle into (-180, 180].
float wrap_degrees(float angle);

// A view of a picture without a copy. The view must not be written to.
cv::Mat as_mat(const Picture& picture);

// The part of the picture inside the quad, its corner 0 at the top left: perspective, bicubic,
// border pixels repeated. Empty where the quad has less than one pixel.
cv::Mat crop_quad(const cv::Mat& picture, const Quad& quad);

// Scales with what suits the direction: averaging where it shrinks, bilinear where it grows.
cv::Mat scaled(const cv::Mat& picture, cv::Size size);

}  // namespace spirkiln::ocr
