// How fast a device is: multiply-adds in registers, a copy through memory, and a launch that does nothing.
//if multiply
@group(0) @binding(0) var<storage, read_write> sums: array<vec4<f32>>;

// Eight chains of vectors, so that no multiply-add waits for the one before it.
@compute @workgroup_size(THREADS)
fn multiply(@builtin(global_invocation_id) at: vec3<u32>) {
    let start = f32(at.x & 1023u) * 0.0009765625;
    let factor = vec4<f32>(0.5 + start * 0.25);
    var a = vec4<f32>(start); var b = a + 0.1; var c = a + 0.2; var d = a + 0.3;
    var e = a + 0.4; var f = a + 0.5; var g = a + 0.6; var h = a + 0.7;
    for (var i = 0u; i < ROUNDS; i++) {
        a = fma(a, factor, b); b = fma(b, factor, c); c = fma(c, factor, d); d = fma(d, factor, e);
        e = fma(e, factor, f); f = fma(f, factor, g); g = fma(g, factor, h); h = fma(h, factor, factor);
    }
    sums[at.x] = a + b + c + d + e + f + g + h;
}
//endif
//if copy
@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> copied: array<vec4<f32>>;

@compute @workgroup_size(THREADS)
fn copy(@builtin(global_invocation_id) at: vec3<u32>) {
    for (var i = 0u; i < EACH; i++) {
        let own = at.x + i * COUNT / EACH;
        copied[own] = source[own];
    }
}
//endif
//if launch
@group(0) @binding(0) var<storage, read_write> sums: array<vec4<f32>>;

@compute @workgroup_size(THREADS)
fn launch(@builtin(global_invocation_id) at: vec3<u32>) {
    sums[at.x] += 1.0;
}
//endif
