// Transcendental functions that are as good as the processor's. WGSL promises an absolute error of 2^-11 for
// sin and cos, and one that grows with the argument for exp; drivers make use of that. These are polynomials
// after an exact reduction, so every device computes the same function. The self-test checks them.

// cos and sin of x. Quarter turns are subtracted in three parts (Cody and Waite). The first two have so few
// bits that their products with n are exact up to |n| = 8192, whether or not the device fuses multiply and
// add.
fn cos_sin(x: f32) -> vec2<f32> {
    let n = round(x * 0.636619772);
    let r = fma(n, -7.549789954891882e-8, fma(n, -4.837512969970703125e-4, fma(n, -1.5703125, x)));
    let z = r * r;
    let s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 + z * -1.9515295891e-4));
    let c = 1.0 - 0.5 * z
        + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
    let quadrant = u32(i32(n)) & 3u;
    let odd = (quadrant & 1u) == 1u;
    let cosine = select(c, s, odd);
    let sine = select(s, c, odd);
    return vec2<f32>(
        select(cosine, -cosine, quadrant == 1u || quadrant == 2u),
        select(sine, -sine, quadrant >= 2u),
    );
}

// cos and sin of omega t. An angle of many turns needs more digits than f32 has: the rate is cut in two, the
// product of its first 12 bits with a position below 4096 is exact, and the two rotations are joined.
fn cos_sin_drift(omega: f32, t: u32) -> vec2<f32> {
    let high = bitcast<f32>(bitcast<u32>(omega) & 0xFFFFF000u);
    return turned(cos_sin(high * f32(t)), cos_sin((omega - high) * f32(t)));
}

// The phasor z turned forward by the phasor w.
fn turned(z: vec2<f32>, w: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(z.x * w.x - z.y * w.y, z.y * w.x + z.x * w.y);
}

// The phasor z turned back by the phasor w.
fn turned_back(z: vec2<f32>, w: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(z.x * w.x + z.y * w.y, z.y * w.x - z.x * w.y);
}

// An angle taken to (-pi, pi]: whole turns are subtracted in three parts, as in cos_sin.
fn wrapped(x: f32) -> f32 {
    let n = round(x * 0.159154943);
    return fma(n, -3.0199159819567528e-7, fma(n, -1.9350051879882812e-3, fma(n, -6.28125, x)));
}

// e^x. Below -87.3 the result would be subnormal, and is 0. A NaN fails the comparisons and stays.
fn exponential(x: f32) -> f32 {
    let y = select(select(x, -87.3, x < -87.3), 88.0, x > 88.0);
    let n = round(y * 1.44269504);
    let r = fma(n, 2.12194440e-4, fma(n, -0.693359375, y));
    let p = 0.49999994 + r * (0.16666515 + r * (0.041668456 + r * (0.008369419 + r * 0.0013813145)));
    let e = (1.0 + fma(r * r, p, r)) * bitcast<f32>(u32(i32(n) + 127) << 23u);
    return select(e, 0.0, x < -87.3);
}

// log(1 + e) of 0 <= e <= 1, by the series of atanh, so that a small e keeps its digits.
fn log_1p(e: f32) -> f32 {
    let s = e / (2.0 + e);
    let z = s * s;
    let p = 0.33333206 + z * (0.2001085 + z * (0.1399957 + z * 0.1401223));
    return fma(2.0 * s * z, p, 2.0 * s);
}

// log x of a normal x > 0. What is not finite stays: it must reach the loss.
fn logarithm(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let n = f32(i32(bits >> 23u) - 127);
    let y = fma(n, 0.693147181, log_1p(bitcast<f32>((bits & 0x7FFFFFu) | 0x3F800000u) - 1.0));
    return select(y, x, bits >= 0x7F800000u);
}

fn sigmoid(x: f32) -> f32 {
    let e = exponential(-abs(x));
    let p = 1.0 / (1.0 + e);
    return select(p, e * p, x < 0.0);
}

fn softplus(x: f32) -> f32 {
    return select(0.0, x, x > 0.0) + log_1p(exponential(-abs(x)));
}

// silu(gate), and its slope sigmoid + silu (1 - sigmoid).
fn silu_and_slope(gate: f32) -> vec2<f32> {
    let s = sigmoid(gate);
    let silu = gate * s;
    return vec2<f32>(silu, s + silu * (1.0 - s));
}

// tanh of x >= 0.
fn tanh_positive(x: f32) -> f32 {
    let z = x * x;
    let small = x + x * z * (-3.33332819422e-1 + z * (1.33314422036e-1 + z * (-5.37397155531e-2
        + z * (2.06390887954e-2 + z * -5.70498872745e-3))));
    let large = 1.0 - 2.0 / (exponential(2.0 * select(x, 20.0, x > 20.0)) + 1.0);
    return select(large, small, x < 0.625);
}

// tanh(x) / x - sech^2(x) of x > 0: what the radius of a bound receives. Where x is small the two cancel, and
// a series takes their place.
fn bound_gap(x: f32) -> f32 {
    let z = x * x;
    let tanh = tanh_positive(x);
    let series = z * (0.6666666667 + z * (-0.5333333333 + z * (0.3238095238
        + z * (-0.1749559083 + z * 0.0886323553))));
    return select(tanh / x - (1.0 - tanh * tanh), series, x < 0.25);
}
