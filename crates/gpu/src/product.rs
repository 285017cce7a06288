//! The text of matrix products C = A B: tiles in workgroup memory, a register tile a thread, written out in
//! full so that every compiler keeps it in registers. What is read and written, and where, is given as WGSL
//! of `z`, `i`, `j` and `k`.
//!
//! Products that do not depend on each other share a launch: every workgroup finds out which product and
//! which tile of it is its own, and then runs the same loop. A weight gradient is a sum over all tokens: it
//! is cut into [`SLABS`] parts, each with an arena of its own, which are added in order at the end of the
//! step.

use crate::plan::MOST_GROUPS;

/// Parts into which sums over all tokens are cut.
pub const SLABS: usize = 8;

/// Which elements are not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causal {
    /// All are.
    Full,
    /// Of the output, tiles with no j <= i.
    OutputBelow,
    /// Terms k > i: A is lower triangular.
    InnerPast,
    /// Terms k < i: A is a transposed lower triangle.
    InnerFuture,
}

/// How an operand is read.
#[derive(Clone, Debug)]
pub struct Load {
    /// Statements that return an element, of (`z`, `i`, `k`) for A, of (`z`, `k`, `j`) for B.
    pub text: String,
    /// Neighbours in k are neighbours in memory, and so are read by neighbouring threads.
    pub along_k: bool,
}

impl Load {
    /// With neighbours in k side by side in memory.
    pub fn along_k(text: impl Into<String>) -> Load {
        Load { text: text.into(), along_k: true }
    }

    /// With neighbours in i or j side by side in memory.
    pub fn across_k(text: impl Into<String>) -> Load {
        Load { text: text.into(), along_k: false }
    }
}

/// One product, or a batch of equal ones.
#[derive(Clone, Debug)]
pub struct Product {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// How many; z says which.
    pub batch: usize,
    /// Bindings: name, type of an element, and whether it is written.
    pub bindings: Vec<(&'static str, &'static str, bool)>,
    /// How A is read.
    pub a: Load,
    /// How B is read.
    pub b: Load,
    /// Statements that store `v` at (`z`, `i`, `j`).
    pub store: String,
    /// Statements that store `v`, the sum of row i of A, at (`z`, `i`).
    pub row_sums: Option<String>,
    /// What is left out.
    pub causal: Causal,
    /// The sum is cut into [`SLABS`] parts, of which z says which.
    pub slabs: bool,
}

impl Product {
    /// Operations, two per multiply-add.
    pub fn flops(&self) -> f64 {
        let share = if self.causal == Causal::Full { 2.0 } else { 1.0 };
        share * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }

    fn layers(&self) -> usize {
        if self.slabs { SLABS } else { self.batch }
    }

    /// Workgroups along the columns, the rows and z.
    fn tiles(&self, tile: Tile) -> [usize; 3] {
        [self.n.div_ceil(tile.n), self.m.div_ceil(tile.m), self.layers()]
    }
}

/// What a workgroup computes at a time: m x n sums of k terms.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
}

/// Threads along the rows and the columns of a tile.
const SIDE: usize = 16;
const THREADS: usize = SIDE * SIDE;
/// 8 x 8 elements a thread: fewest reads of workgroup memory.
const LARGE: Tile = Tile { m: 8 * SIDE, n: 8 * SIDE, k: 8 };
/// 4 x 4 elements a thread: more workgroups.
const SMALL: Tile = Tile { m: 4 * SIDE, n: 4 * SIDE, k: 16 };
/// The tiles of [`source`].
pub const TILES: [Tile; 2] = [LARGE, SMALL];
/// A device should have so many workgroups to share out.
const ENOUGH_GROUPS: usize = 128;
/// Large tiles may compute so many times what small ones do: a part of the last tile of a row or column is
/// wasted.
const WASTE: f64 = 1.15;

impl Tile {
    /// Large tiles where they are filled and there are enough of them. The choice depends on sizes alone:
    /// another tile would give other roundings.
    pub fn for_products(products: &[Product], [large, small]: [Tile; 2]) -> Tile {
        let filled = large.computed(products) <= WASTE * small.computed(products);
        let enough = total(products, large) >= ENOUGH_GROUPS;
        if filled && enough { large } else { small }
    }

    /// Terms of all sums, those of whole tiles.
    fn computed(self, products: &[Product]) -> f64 {
        let terms = |product: &Product| {
            let [x, y, _] = product.tiles(self);
            (x * self.n * y * self.m) as f64 * (product.k * product.batch) as f64
        };
        products.iter().map(terms).sum()
    }
}

fn total(products: &[Product], tile: Tile) -> usize {
    products.iter().map(|product| product.tiles(tile).iter().product::<usize>()).sum()
}

/// Workgroups of a launch of these products.
pub fn groups(products: &[Product], tile: Tile) -> [usize; 3] {
    let total = total(products, tile);
    let rows = total.div_ceil(MOST_GROUPS);
    [total.div_ceil(rows), rows, 1]
}

/// Adds lines to a text. Writing to a string never fails.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        use std::fmt::Write;
        let _ = writeln!($text, $($format)*);
    }};
}
pub(crate) use line;

/// The WGSL of these products.
pub fn source(products: &[Product], tile: Tile) -> String {
    let mut text = String::new();
    declare(products, &mut text);
    let w = &mut text;
    let Tile { m: tile_m, n: tile_n, k: tile_k } = tile;
    let thread = tile_m / SIDE;
    // Rows of workgroup memory are four longer than they need be, so that columns fall on different banks.
    let (row_a, row_b) = (tile_m + 4, tile_n + 4);
    line!(w, "var<workgroup> tile_a: array<f32, {}>;", tile_k * row_a);
    line!(w, "var<workgroup> tile_b: array<f32, {}>;", tile_k * row_b);
    cases(w, products, "fn load_a(part: u32, z: u32, i: u32, k: u32) -> f32", |p| p.a.text.clone());
    cases(w, products, "fn load_b(part: u32, z: u32, k: u32, j: u32) -> f32", |p| p.b.text.clone());
    cases(w, products, "fn store(part: u32, z: u32, i: u32, j: u32, v: f32)", |p| p.store.clone());
    let with_sums = products.iter().any(|product| product.row_sums.is_some());
    if with_sums {
        cases(w, products, "fn store_sum(part: u32, z: u32, i: u32, v: f32)", |p| {
            p.row_sums.clone().unwrap_or_default()
        });
    }
    line!(w, "@compute @workgroup_size({THREADS})");
    line!(
        w,
        "fn product(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,"
    );
    line!(w, "    @builtin(local_invocation_index) at: u32) {{");
    locate(w, products, tile);
    line!(w, "let ti = at / {SIDE}u * {thread}u; let tj = at % {SIDE}u * {thread}u;");
    for (i, j) in pairs(thread) {
        line!(w, "var c{i}_{j} = vec4<f32>();");
    }
    line!(w, "var row_sum_a = 0.0;");
    // Bounds: k0 grows by a whole tile in every round and ends at k_end; loads are guarded by m, n and k_end.
    line!(w, "for (var k0 = k_begin; k0 < k_end; k0 += {tile_k}u) {{");
    for (side, rows, stride) in [("a", tile_m, row_a), ("b", tile_n, row_b)] {
        line!(w, "for (var l = 0u; l < {}u; l++) {{", rows * tile_k / THREADS);
        element(w, side, rows, tile_k);
        line!(w, "tile_{side}[k * {stride}u + x] = v; }}");
    }
    line!(w, "workgroupBarrier();");
    line!(
        w,
        "for (var k = 0u; k < {tile_k}u; k++) {{ let pa = k * {row_a}u + ti; let pb = k * {row_b}u + tj;"
    );
    for j in 0..thread / 4 {
        let at = |d: usize| format!("tile_b[pb + {}u]", 4 * j + d);
        line!(w, "let b{j} = vec4<f32>({}, {}, {}, {});", at(0), at(1), at(2), at(3));
    }
    for i in 0..thread {
        line!(w, "let a{i} = tile_a[pa + {i}u];");
    }
    for (i, j) in pairs(thread) {
        line!(w, "c{i}_{j} = fma(vec4<f32>(a{i}), b{j}, c{i}_{j});");
    }
    line!(w, "}}");
    if with_sums {
        line!(w, "if j0 == 0u && at < {tile_m}u {{");
        line!(w, "for (var k = 0u; k < {tile_k}u; k++) {{ row_sum_a += tile_a[k * {row_a}u + at]; }} }}");
    }
    line!(w, "workgroupBarrier(); }}");
    if with_sums {
        line!(
            w,
            "if j0 == 0u && at < {tile_m}u && i0 + at < m {{ store_sum(part, z, i0 + at, row_sum_a); }}"
        );
    }
    // One check for four columns where they end together: a compiler takes seconds over one for each element.
    let whole = products.iter().all(|product| product.n % 4 == 0);
    for (i, j) in pairs(thread) {
        line!(w, "if i0 + ti + {i}u < m && j0 + tj + {}u < n {{", 4 * j);
        line!(w, "let i = i0 + ti + {i}u; let j = j0 + tj + {}u;", 4 * j);
        for (d, component) in ["x", "y", "z", "w"].iter().enumerate() {
            let check = if whole || d == 0 { String::new() } else { format!("if j + {d}u < n ") };
            line!(w, "{check}{{ store(part, z, i, j + {d}u, c{i}_{j}.{component}); }}");
        }
        line!(w, "}}");
    }
    line!(w, "}}");
    text
}

/// Element `v` of a tile, in row x of A or column x of B and at k, which is the l-th that a thread reads.
fn element(w: &mut String, side: &str, rows: usize, tile_k: usize) {
    let (first, bound, place) = match side {
        "a" => ("i0", "m", "first + x, k0 + k"),
        _ => ("j0", "n", "k0 + k, first + x"),
    };
    line!(w, "let index = l * {THREADS}u + at; let first = {first}; var v = 0.0;");
    line!(w, "let x = select(index % {rows}u, index / {tile_k}u, {side}_along_k);");
    line!(w, "let k = select(index / {rows}u, index % {tile_k}u, {side}_along_k);");
    line!(w, "if first + x < {bound} && k0 + k < k_end {{ v = load_{side}(part, z, {place}); }}");
}

fn pairs(thread: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..thread).flat_map(move |i| (0..thread / 4).map(move |j| (i, j)))
}

/// Every binding once, numbered in order.
pub fn declare(products: &[Product], w: &mut String) {
    let mut seen: Vec<&str> = Vec::new();
    for &(name, element, written) in products.iter().flat_map(|product| &product.bindings) {
        if seen.contains(&name) {
            continue;
        }
        let access = if written { "read_write" } else { "read" };
        line!(w, "@group(0) @binding({}) var<storage, {access}> {name}: array<{element}>;", seen.len());
        seen.push(name);
    }
}

/// A function that does what each product gives for it.
pub fn cases(w: &mut String, products: &[Product], head: &str, body: impl Fn(&Product) -> String) {
    line!(w, "{head} {{");
    if let [product] = products {
        line!(w, "{}", body(product));
    } else {
        line!(w, "switch part {{");
        for (part, product) in products.iter().enumerate() {
            let label = if part + 1 == products.len() { "default".into() } else { format!("case {part}u") };
            line!(w, "{label}: {{ {} }}", body(product));
        }
        line!(w, "}}");
    }
    line!(w, "}}");
}

/// Which product, which tile of it, and its sizes.
pub fn locate(w: &mut String, products: &[Product], tile: Tile) {
    line!(w, "let tile = group.y * groups.x + group.x;");
    line!(w, "if tile >= {}u {{ return; }}", total(products, tile));
    for name in ["part", "m", "n", "k_begin", "k_end", "z", "i0", "j0"] {
        line!(w, "var {name} = 0u;");
    }
    line!(w, "var a_along_k = false; var b_along_k = false;");
    let mut begin = 0;
    for (part, product) in products.iter().enumerate() {
        let [x, y, z] = product.tiles(tile);
        let end = begin + x * y * z;
        let Product { m, n, k, .. } = *product;
        line!(w, "if tile >= {begin}u && tile < {end}u {{");
        line!(w, "part = {part}u; m = {m}u; n = {n}u;");
        line!(w, "a_along_k = {}; b_along_k = {};", product.a.along_k, product.b.along_k);
        line!(w, "let own = tile - {begin}u; j0 = own % {x}u * {}u;", tile.n);
        line!(w, "i0 = own / {x}u % {y}u * {}u; z = own / {}u;", tile.m, x * y);
        let (k_begin, k_end) = match (product.slabs, product.causal) {
            (true, _) => {
                let rows = slab_rows(k);
                (format!("min(z * {rows}u, {k}u)"), format!("min((z + 1u) * {rows}u, {k}u)"))
            }
            (false, Causal::InnerPast) => ("0u".into(), format!("min(i0 + {}u, {k}u)", tile.m)),
            (false, Causal::InnerFuture) => (format!("i0 / {0}u * {0}u", tile.k), format!("{k}u")),
            (false, Causal::Full | Causal::OutputBelow) => ("0u".into(), format!("{k}u")),
        };
        line!(w, "k_begin = {k_begin}; k_end = {k_end};");
        if product.causal == Causal::OutputBelow {
            // Nothing to sum and to store. A return would not be seen to be that of a whole workgroup.
            line!(w, "if j0 > i0 + {}u {{ m = 0u; k_end = 0u; }}", tile.m - 1);
        }
        line!(w, "}}");
        begin = end;
    }
}

/// Rows of a slab when so many are shared out.
pub fn slab_rows(rows: usize) -> usize {
    rows.div_ceil(SLABS).next_multiple_of(SMALL.k)
}
