//! Matrix products on matrix units (tensor cores), by cooperative matrices: f16 operands and f32 sums.
//!
//! An f16 has 11 bits, so each operand x becomes two: the f16 nearest to x, and 2^11 times what is left of
//! it, again as f16. With A = H + L / 2^11 and the same for B,
//!
//!   A B = H_a H_b + (H_a L_b + L_a H_b) / 2^11
//!
//! but for L_a L_b / 2^22, which is as small as the roundings of f32. Three products of f16 so do the work of
//! one.
//!
//! An f16 ends at 65504, and below 6e-5 it loses digits: gradients of a mean over a batch are far below. So
//! the elements of a tile of A, and those of B, are first scaled by a power of two, which is exact, that
//! takes the largest of them to between 2^13 and 2^14. The sums of a tile are scaled back before they are
//! added to those of earlier tiles; this addition is an ordinary one, which rounds to nearest, while matrix
//! units may truncate. A tile with something that is not finite gives nothing but NaN, and where the
//! largest elements of two tiles have a product below 2^-100, theirs may be 0.

use crate::product::{Product, Tile, cases, declare, line, locate};

/// The matrix units of a device, as far as kernels depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixUnits {
    /// Rows and columns of the matrices that they multiply: 8 or 16.
    pub size: usize,
    /// Threads that hold a matrix together. The kernels are right with any number, and fastest with this one.
    pub subgroup: usize,
}

/// What a subgroup sums at a time, in matrices.
#[derive(Clone, Copy)]
struct Region {
    /// Along the rows of C.
    rows: usize,
    /// Along its columns.
    columns: usize,
    /// Along the inner dimension: as deep as a tile.
    depth: usize,
}

/// Threads that every device has in a workgroup.
const MOST_THREADS: usize = 256;
/// Subgroups have at least so many threads.
const SMALLEST_SUBGROUP: usize = 4;

impl MatrixUnits {
    #[cfg(feature = "wgpu")]
    /// Those of an adapter, if it has any that the kernels can use. On Metal matrices cannot be added or
    /// scaled.
    pub(crate) fn of(adapter: &wgpu::Adapter) -> Option<MatrixUnits> {
        let usable = |p: &wgpu::CooperativeMatrixProperties| {
            use wgpu::CooperativeScalarType::{F16, F32};
            p.ab_type == F16 && p.cr_type == F32 && p.m_size == p.n_size && p.m_size == p.k_size
        };
        let size = adapter.cooperative_matrix_properties().into_iter().find(usable)?.m_size as usize;
        let info = adapter.get_info();
        let units = MatrixUnits { size, subgroup: info.subgroup_min_size as usize };
        let room = adapter.limits().max_compute_workgroup_storage_size >= units.workgroup_bytes();
        let offered = info.backend == wgpu::Backend::Vulkan && adapter.features().contains(Self::features());
        (offered && room).then_some(units)
    }

    /// What a device must be opened with.
    #[cfg(feature = "wgpu")]
    pub(crate) fn features() -> wgpu::Features {
        wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX
            | wgpu::Features::SHADER_F16
            | wgpu::Features::SUBGROUP
    }

    /// Bytes that a workgroup shares at most.
    pub(crate) fn workgroup_bytes(self) -> u32 {
        let [large, _] = self.tiles();
        let (tiles, blocks) = ((large.m + large.n) * large.k * 4, self.regions(large) * self.block() * 4);
        let (tops, sums) = (self.threads(large) / SMALLEST_SUBGROUP * 8, large.m * 4);
        (tiles + blocks + tops + sums) as u32
    }

    /// With matrices of 16 x 16, 64 sums for each of 32 threads. Smaller ones are those of software devices,
    /// whose compilers take a second for every dozen products of matrices.
    fn region(self) -> Region {
        match self.size {
            16 => Region { rows: 4, columns: 2, depth: 2 },
            _ => Region { rows: 2, columns: 2, depth: 1 },
        }
    }

    /// Large and small tiles: eight regions and four.
    fn tiles(self) -> [Tile; 2] {
        let Region { rows, columns, depth } = self.region();
        let (m, k) = (2 * rows * self.size, depth * self.size);
        [4, 2].map(|across| Tile { m, n: across * columns * self.size, k })
    }

    /// How many elements a large tile splits for each operation of a product, two per multiply-add.
    pub(crate) fn elements_per_operation() -> f64 {
        let [Tile { m, n, .. }, _] = MatrixUnits { size: 16, subgroup: 32 }.tiles();
        (m + n) as f64 / (2 * m * n) as f64
    }

    /// The tile for products that share a launch.
    pub(crate) fn tile(self, products: &[Product]) -> Tile {
        Tile::for_products(products, self.tiles())
    }

    /// The matrices of a region.
    fn blocks(self) -> impl Iterator<Item = (usize, usize)> {
        let Region { rows, columns, .. } = self.region();
        (0..rows).flat_map(move |i| (0..columns).map(move |j| (i, j)))
    }

    /// Elements of a matrix.
    fn block(self) -> usize {
        self.size * self.size
    }

    /// Regions of a tile.
    fn regions(self, tile: Tile) -> usize {
        let Region { rows, columns, .. } = self.region();
        tile.m * tile.n / (rows * columns * self.block())
    }

    /// At least one for each row and column of a tile.
    fn threads(self, tile: Tile) -> usize {
        (self.regions(tile) * self.subgroup).clamp(tile.m.max(tile.n), MOST_THREADS)
    }

    /// What a kernel begins with.
    pub(crate) const ENABLED: &str = "enable f16;\nenable wgpu_cooperative_matrix;\n";

    /// The WGSL of these products.
    pub(crate) fn source(self, products: &[Product], tile: Tile) -> String {
        let mut text = String::new();
        let w = &mut text;
        declare(products, w);
        let (size, block, threads) = (self.size, self.block(), self.threads(tile));
        let Region { rows, columns, depth } = self.region();
        let (regions, across) = (self.regions(tile), tile.n / (columns * size));
        let Tile { m: tile_m, n: tile_n, k: tile_k } = tile;
        for (side, lines) in [("a", tile_m), ("b", tile_n)] {
            for part in ["high", "low"] {
                line!(w, "var<workgroup> {part}_{side}: array<f16, {}>;", lines * tile_k);
            }
        }
        line!(w, "var<workgroup> blocks: array<f32, {}>;", regions * block);
        line!(w, "var<workgroup> tops: array<vec2<u32>, {}>;", threads / SMALLEST_SUBGROUP);
        w.push_str(SPLIT);
        // Matrices lie one after the other, those along k first; of A rows are contiguous, of B columns.
        let (next_x, next_k) = ((depth - 1) * block, block - size);
        line!(w, "fn place(x: u32, k: u32) -> u32 {{");
        line!(w, "return x * {size}u + x / {size}u * {next_x}u + k + k / {size}u * {next_k}u; }}");
        cases(w, products, "fn load_a(part: u32, z: u32, i: u32, k: u32) -> f32", |p| p.a.text.clone());
        cases(w, products, "fn load_b(part: u32, z: u32, k: u32, j: u32) -> f32", |p| p.b.text.clone());
        cases(w, products, "fn store(part: u32, z: u32, i: u32, j: u32, v: f32)", |p| p.store.clone());
        let with_sums = products.iter().any(|product| product.row_sums.is_some());
        if with_sums {
            line!(w, "var<workgroup> row_sums: array<f32, {tile_m}>;");
            cases(w, products, "fn store_sum(part: u32, z: u32, i: u32, v: f32)", |p| {
                p.row_sums.clone().unwrap_or_default()
            });
        }
        line!(w, "@compute @workgroup_size({threads})");
        line!(
            w,
            "fn product(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,"
        );
        line!(w, "    @builtin(local_invocation_index) at: u32, @builtin(subgroup_invocation_id) lane: u32,");
        line!(w, "    @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {{");
        locate(w, products, tile);
        let own_rows = format!("for (var x = at; x < {tile_m}u; x += {threads}u)");
        if with_sums {
            line!(w, "{own_rows} {{ row_sums[x] = 0.0; }}");
        }
        // Where a thread's elements of a tile are, (x, k): its first, and the way to the next. Neighbours in
        // memory are read by neighbouring threads.
        for (side, lines) in [("a", tile_m), ("b", tile_n)] {
            let (along, across) = (threads / tile_k, threads / lines);
            line!(w, "let start_{side} = select(vec2<u32>(at % {lines}u, at / {lines}u),");
            line!(w, "vec2<u32>(at / {tile_k}u, at % {tile_k}u), {side}_along_k);");
            line!(
                w,
                "let step_{side} = select(vec2<u32>(0u, {across}u), vec2<u32>({along}u, 0u), {side}_along_k);"
            );
        }
        // Once, where subgroups are as large as planned.
        line!(w, "for (var first = 0u; first < {regions}u; first += subgroups) {{");
        line!(w, "let region = (first + subgroup) % {regions}u;");
        line!(w, "let row = region / {across}u * {rows}u; let column = region % {across}u * {columns}u;");
        let sums = format!("coop_mat{size}x{size}<f32, C>");
        for (i, j) in self.blocks() {
            line!(w, "var c{i}_{j} = {sums}();");
        }
        // Bounds: k0 grows by a whole tile in every round and ends at k_end; loads are guarded by m, n and
        // k_end.
        line!(w, "for (var k0 = k_begin; k0 < k_end; k0 += {tile_k}u) {{ var top = vec2<u32>();");
        let sides = [("a", tile_m, "x", "i0", "m"), ("b", tile_n, "y", "j0", "n")];
        for (side, lines, top, first, end) in sides {
            let each = lines * tile_k / threads;
            line!(w, "var {side}: array<f32, {each}>; for (var l = 0u; l < {each}u; l++) {{");
            line!(w, "let at = start_{side} + l * step_{side}; let x = {first} + at.x; let k = k0 + at.y;");
            let place = if side == "a" { "x, k" } else { "k, x" };
            line!(w, "var v = 0.0; if x < {end} && k < k_end {{ v = load_{side}(part, z, {place}); }}");
            line!(w, "{side}[l] = v; top.{top} = max(top.{top}, bitcast<u32>(v) & 0x7FFFFFFFu); }}");
        }
        line!(w, "top = subgroupMax(top); if lane == 0u {{ tops[subgroup] = top; }} workgroupBarrier();");
        line!(w, "for (var s = 0u; s < subgroups; s++) {{ top = max(top, tops[s]); }}");
        for (side, lines, top, ..) in sides {
            line!(w, "let scales_{side} = scales(top.{top});");
            line!(w, "for (var l = 0u; l < {}u; l++) {{", lines * tile_k / threads);
            line!(w, "let at = start_{side} + l * step_{side}; let p = place(at.x, at.y);");
            line!(w, "let v = split({side}[l] * scales_{side}.x);");
            line!(w, "high_{side}[p] = v.x; low_{side}[p] = v.y; }}");
        }
        line!(w, "workgroupBarrier(); let back = scales_a.y * scales_b.y;");
        if with_sums {
            line!(w, "if first == 0u && j0 == 0u {{ {own_rows} {{ var sum = 0.0;");
            line!(w, "for (var k = 0u; k < {tile_k}u; k++) {{ let p = place(x, k);");
            line!(w, "sum += f32(high_a[p]) + f32(low_a[p]) * LOW; }}");
            line!(w, "row_sums[x] = row_sums[x] + sum * scales_a.y; }} }}");
        }
        self.multiply(w, &sums);
        line!(w, "workgroupBarrier(); }}");
        // A region at a time would do, but all threads store better than some.
        line!(w, "let stored = min(subgroups, {regions}u - first) * {block}u;");
        for (i, j) in self.blocks() {
            line!(w, "coopStoreT(c{i}_{j}, &blocks[subgroup % {regions}u * {block}u], {size}u);");
            line!(w, "workgroupBarrier();");
            line!(w, "for (var e = at; e < stored; e += {threads}u) {{ let own = first + e / {block}u;");
            line!(w, "let i = i0 + (own / {across}u * {rows}u + {i}u) * {size}u + e % {block}u / {size}u;");
            line!(w, "let j = j0 + (own % {across}u * {columns}u + {j}u) * {size}u + e % {size}u;");
            line!(w, "if i < m && j < n {{ store(part, z, i, j, blocks[e]); }} }} workgroupBarrier();");
        }
        line!(w, "}}");
        if with_sums {
            line!(w, "if j0 == 0u {{ {own_rows} {{");
            line!(w, "if i0 + x < m {{ store_sum(part, z, i0 + x, row_sums[x]); }} }} }}");
        }
        line!(w, "}}");
        text
    }

    /// Adds the product of a tile to the sums of a subgroup's region, written out in full so that every
    /// compiler keeps matrices in registers: those of B first, then row by row those of A.
    fn multiply(self, w: &mut String, sums: &str) {
        let (size, block, Region { rows, columns, depth }) = (self.size, self.block(), self.region());
        let load = |w: &mut String, side: &str, first: &str, i: usize, d: usize| {
            // Rows of A are contiguous, and columns of B.
            let (role, load) = if side == "a" { ("A", "coopLoadT") } else { ("B", "coopLoad") };
            for part in ["high", "low"] {
                line!(
                    w,
                    "let {part}_{side}{i}_{d} = {load}<coop_mat{size}x{size}<f16, {role}>>(\
                     &{part}_{side}[(({first} + {i}u) * {depth}u + {d}u) * {block}u], {size}u);"
                );
            }
        };
        for (j, d) in (0..columns).flat_map(|j| (0..depth).map(move |d| (j, d))) {
            load(w, "b", "column", j, d);
        }
        for i in 0..rows {
            (0..depth).for_each(|d| load(w, "a", "row", i, d));
            for j in 0..columns {
                line!(w, "var sum{i}_{j} = {sums}();");
                let add = |w: &mut String, a: &str, b: &str| {
                    for d in 0..depth {
                        line!(w, "sum{i}_{j} = coopMultiplyAdd({a}_a{i}_{d}, {b}_b{j}_{d}, sum{i}_{j});");
                    }
                };
                add(w, "high", "low");
                add(w, "low", "high");
                line!(w, "sum{i}_{j} = sum{i}_{j} * LOW;");
                add(w, "high", "high");
                line!(w, "c{i}_{j} = c{i}_{j} + sum{i}_{j} * back;");
            }
        }
    }
}

/// How f32 becomes two f16. Bits are cut by hand: a conversion may round up or down as it likes, and a
/// compiler may take a conversion there and back for nothing.
const SPLIT: &str = "
const LOW: f32 = 0.00048828125;

// x to the 11 bits of an f16.
fn leading(x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) + 0x1000u) & 0xFFFFE000u);
}

// The leading part of |x| < 2^14, and 2^11 times the rest.
fn split(x: f32) -> vec2<f16> {
    let high = leading(x);
    return vec2<f16>(f16(high), f16(leading((x - high) * 2048.0)));
}

// The power of two that takes what has these bits, without its sign, to between 2^13 and 2^14, and its
// inverse: NaN where it is not finite. Less than 2^-113 is not taken so far.
fn scales(top: u32) -> vec2<f32> {
    let exponent = max(top >> 23u, 14u);
    let inverse = select((exponent - 13u) << 23u, top | 0x7FC00000u, top >= 0x7F800000u);
    return vec2<f32>(bitcast<f32>((267u - exponent) << 23u), bitcast<f32>(inverse));
}
";
