//! Puts a plan together: buffers, kernels from their WGSL files, launches.

use crate::matrix_units::MatrixUnits;
use crate::plan::{ALIGNMENT, Buffer, Kernel, Launch, Launches, Part, Plan};
use crate::product::{self, Product, Tile};

/// The text of a file in `kernels`.
macro_rules! kernel {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels/", $name, ".wgsl"))
    };
}
pub(crate) use kernel;

/// Threads of a workgroup that works on a row.
pub const THREADS: usize = 64;
/// Elements that a thread of the last sums and of the optimizer takes.
const EACH: usize = 16;
/// Elements that a workgroup of the last sums and of the optimizer takes.
pub const CHUNK: usize = THREADS * EACH;

/// One launch of a kernel file.
pub struct Rows<'a> {
    /// What it computes.
    pub name: &'a str,
    /// The kernel file's text.
    pub text: &'a str,
    /// Its function.
    pub entry: &'a str,
    /// Which of its `//if` parts it has.
    pub flags: &'a [&'a str],
    /// Constants beyond the model's sizes.
    pub constants: String,
    /// What is bound, by the names of the file. Names that it does not declare are left out.
    pub bindings: &'a [(&'a str, Part)],
    /// Workgroups.
    pub groups: [usize; 3],
}

/// A plan in the making.
pub struct Builder {
    /// What is made.
    pub plan: Plan,
    /// Constants of the model's sizes, before every kernel.
    sizes: String,
    /// Launches since the last [`Builder::take`].
    launches: Launches,
    /// What products run on, if not on ordinary units.
    units: Option<MatrixUnits>,
    /// What changes from batch to batch.
    pub batch: Part,
}

impl Builder {
    /// Of a model with these constants, whose products run on these units.
    pub fn new(sizes: String, units: Option<MatrixUnits>) -> Self {
        let sizes = format!("const THREADS: u32 = {THREADS}u;\nconst EACH: u32 = {EACH}u;\n{sizes}");
        let none = Part { buffer: 0, start: 0, len: 0, touched: 0 };
        let mut builder = Builder { plan: Plan::default(), sizes, launches: Vec::new(), units, batch: none };
        builder.batch = builder.uniform("batch", 8);
        builder
    }

    /// A buffer of so many elements.
    pub fn buffer(&mut self, name: &str, len: usize) -> Part {
        self.add(name, len.max(1).next_multiple_of(ALIGNMENT), false)
    }

    /// One for each layer; or, if nothing is kept for a backward pass, one that all share.
    pub fn per_layer(&mut self, name: &str, len: usize, layers: usize, kept: bool) -> Vec<Part> {
        if kept {
            return (0..layers).map(|_| self.buffer(name, len)).collect();
        }
        vec![self.buffer(name, len); layers]
    }

    /// A uniform buffer of so many elements.
    pub fn uniform(&mut self, name: &str, len: usize) -> Part {
        self.add(name, len, true)
    }

    fn add(&mut self, name: &str, len: usize, uniform: bool) -> Part {
        self.plan.buffers.push(Buffer { name: name.into(), len, uniform });
        Part { buffer: self.plan.buffers.len() - 1, start: 0, len, touched: len }
    }

    /// The launches added since it was last called.
    pub fn take(&mut self) -> Launches {
        std::mem::take(&mut self.launches)
    }

    /// Adds a launch of a kernel file.
    pub fn rows(&mut self, rows: Rows<'_>) {
        let text = selected(rows.text, rows.flags);
        let mut source = format!("{}{}\n", self.sizes, rows.constants);
        source.push_str(kernel!("numeric"));
        for (uses, part) in
            [("row_", kernel!("row")), ("batch.", kernel!("batch")), ("dropped(", kernel!("batch"))]
        {
            if text.contains(uses) && !source.contains(part) {
                source.push_str(part);
            }
        }
        source.push_str(&text);
        self.launch(rows.name, source, rows.entry, rows.bindings, rows.groups, 0.0);
    }

    /// Adds a launch of products that do not depend on each other.
    pub fn products(&mut self, name: &str, products: &[Product], bindings: &[(&str, Part)]) {
        let (enabled, tile, text) = match self.units {
            Some(units) => {
                let tile = units.tile(products);
                (MatrixUnits::ENABLED, tile, units.source(products, tile))
            }
            None => {
                let tile = Tile::for_products(products, product::TILES);
                ("", tile, product::source(products, tile))
            }
        };
        let mut source = format!("{enabled}{}{}", self.sizes, kernel!("numeric"));
        if text.contains("batch.") {
            source.push_str(kernel!("batch"));
        }
        source.push_str(&text);
        let flops = products.iter().map(Product::flops).sum();
        self.launch(name, source, "product", bindings, product::groups(products, tile), flops);
    }

    fn launch(
        &mut self,
        name: &str,
        source: String,
        entry: &str,
        bindings: &[(&str, Part)],
        groups: [usize; 3],
        flops: f64,
    ) {
        let declared = declared(&source);
        let bound = |declared: &str| match bindings.iter().find(|(name, _)| *name == declared) {
            Some((_, part)) => *part,
            None if declared == "batch" => self.batch,
            None => unreachable!("{name}: nothing is bound to {declared}"),
        };
        let bindings: Vec<_> = declared.iter().map(|(number, name)| (*number, bound(name))).collect();
        let kernel = Kernel { source, entry: entry.into() };
        let known = self.plan.kernels.iter().position(|known| *known == kernel);
        let kernel = known.unwrap_or_else(|| {
            self.plan.kernels.push(kernel);
            self.plan.kernels.len() - 1
        });
        let bytes = bindings.iter().map(|(_, part)| 4.0 * part.touched as f64).sum();
        let groups = groups.map(|count| count as u32);
        self.launches.push(Launch { name: name.into(), kernel, bindings, groups, flops, bytes });
    }
}

/// The parts of a text whose `//if` flags are all set. Such lines nest, and end with `//endif`.
fn selected(text: &str, flags: &[&str]) -> String {
    let mut out = String::new();
    let mut taken = Vec::new();
    for line in text.lines() {
        if let Some(flag) = line.strip_prefix("//if ") {
            taken.push(flags.contains(&flag));
        } else if line == "//endif" {
            taken.pop();
        } else if taken.iter().all(|taken| *taken) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Numbers and names of the bindings that a source declares.
fn declared(source: &str) -> Vec<(u32, &str)> {
    let parse = |line: &'_ str| -> Option<(u32, usize, usize)> {
        let rest = line.strip_prefix("@group(0) @binding(")?;
        let (number, rest) = rest.split_once(')')?;
        let name = rest.split_once('>')?.1.split_once(':')?.0.trim();
        let start = name.as_ptr() as usize - line.as_ptr() as usize;
        Some((number.parse().ok()?, start, start + name.len()))
    };
    source
        .lines()
        .filter_map(|line| parse(line).map(|(number, start, end)| (number, &line[start..end])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_nest() {
        let text = "a\n//if x\nb\n//if y\nc\n//endif\n//endif\n//if y\nd\n//endif\ne";
        assert_eq!(selected(text, &["x"]), "a\nb\ne\n");
        assert_eq!(selected(text, &["y"]), "a\nd\ne\n");
        assert_eq!(selected(text, &["x", "y"]), "a\nb\nc\nd\ne\n");
    }

    #[test]
    fn declarations_are_found() {
        let source = "@group(0) @binding(3) var<storage, read> psi: array<f32>;\nfn f() {}\n\
                      @group(0) @binding(15) var<uniform> batch: Batch;";
        assert_eq!(declared(source), [(3, "psi"), (15, "batch")]);
    }
}
