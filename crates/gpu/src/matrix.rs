//! How the elements of a matrix are read and written by a product, as WGSL; and the products that both models
//! are made of.

use crate::product::{Causal, Load, Product};

/// A matrix of one or more bound buffers.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Names of what it reads or writes.
    names: Vec<&'static str>,
    /// An expression of `{r}` and `{c}`.
    read: String,
    /// Statements that store `v`, of `{r}` and `{c}`.
    write: String,
}

impl Matrix {
    /// Element (r, c) is `name[index]`.
    pub fn new(name: &'static str, index: &str) -> Matrix {
        let read = format!("{name}[{index}]");
        Matrix { names: vec![name], write: format!("{read} = v;"), read }
    }

    /// Rows of `stride`, of which columns from `first` on are used.
    pub fn rows(name: &'static str, stride: usize, first: usize) -> Matrix {
        Matrix::new(name, &format!("({{r}}) * {stride}u + {first}u + ({{c}})"))
    }

    /// Computed from what is bound.
    pub fn computed(names: &[&'static str], read: &str) -> Matrix {
        Matrix { names: names.to_vec(), read: read.into(), write: String::new() }
    }

    /// What is written instead of a plain element, by statements of `{r}`, `{c}` and `v`.
    pub fn stored(names: &[&'static str], write: &str) -> Matrix {
        Matrix { names: names.to_vec(), read: String::new(), write: write.into() }
    }

    /// Added to instead of written.
    pub fn added(self) -> Matrix {
        Matrix { write: format!("{0} = {0} + v;", self.read), ..self }
    }

    /// These `width` columns, then those of `next`.
    pub fn beside(self, width: usize, next: Matrix) -> Matrix {
        // Both sides of a select are evaluated, so both must stay within their buffers.
        let (left, right) =
            (format!("min({{c}}, {}u)", width - 1), format!("(max({{c}}, {width}u) - {width}u)"));
        let inner = self.read.replace("{c}", &left);
        let outer = next.read.replace("{c}", &right);
        let shifted = next.write.replace("{c}", &format!("({{c}} - {width}u)"));
        Matrix {
            names: [self.names, next.names].concat(),
            read: format!("select({outer}, {inner}, ({{c}}) < {width}u)"),
            write: format!("if ({{c}}) < {width}u {{ {} }} else {{ {shifted} }}", self.write),
        }
    }

    /// The expression of an element.
    pub fn at(&self, row: &str, column: &str) -> String {
        self.read.replace("{r}", row).replace("{c}", column)
    }

    fn load(&self, row: &str, column: &str) -> String {
        format!("return {};", self.at(row, column))
    }

    fn store(&self, row: &str, column: &str) -> String {
        self.write.replace("{r}", row).replace("{c}", column)
    }

    fn bindings(&self, written: &[&str]) -> Vec<(&'static str, &'static str, bool)> {
        self.names.iter().map(|name| (*name, "f32", written.contains(name))).collect()
    }
}

fn bindings(
    read: &[&Matrix],
    written: &Matrix,
    names: &[&'static str],
) -> Vec<(&'static str, &'static str, bool)> {
    let mut all: Vec<_> = read.iter().flat_map(|matrix| matrix.bindings(&[])).collect();
    all.extend(written.bindings(names));
    all
}

/// y (rows x n) = x (rows x k) w^T, w (n x k), plus a bias (n) that is bound as `bias`. What `y` writes is
/// `written`.
pub fn map(
    rows: usize,
    n: usize,
    k: usize,
    x: &Matrix,
    y: &Matrix,
    bias: bool,
    written: &[&'static str],
) -> Product {
    let w = Matrix::rows("w", k, 0);
    let mut bound = bindings(&[x, &w], y, written);
    let mut store = y.store("i", "j");
    if bias {
        bound.push(("bias", "f32", false));
        store = format!("{{ let v = v + bias[j]; {store} }}");
    }
    Product {
        m: rows,
        n,
        k,
        batch: 1,
        bindings: bound,
        a: Load::along_k(x.load("i", "k")),
        b: Load::along_k(w.load("j", "k")),
        store,
        row_sums: None,
        causal: Causal::Full,
        slabs: false,
    }
}

/// dx (rows x k) = dy (rows x n) w, w (n x k). What `dx` writes is `written`.
pub fn map_back(
    rows: usize,
    n: usize,
    k: usize,
    dy: &Matrix,
    dx: &Matrix,
    written: &[&'static str],
) -> Product {
    let w = Matrix::rows("w", k, 0);
    Product {
        m: rows,
        n: k,
        k: n,
        batch: 1,
        bindings: bindings(&[dy, &w], dx, written),
        a: Load::along_k(dy.load("i", "k")),
        b: Load::across_k(w.load("k", "j")),
        store: dx.store("i", "j"),
        row_sums: None,
        causal: Causal::Full,
        slabs: false,
    }
}

/// dw (n x k), in slabs, += dy^T x, dy (rows x n), x (rows x k); with a bias, whose gradient lies so many
/// elements after dw's first, its gradient += the column sums of dy.
pub fn weight_gradient(
    rows: usize,
    n: usize,
    k: usize,
    dy: &Matrix,
    x: &Matrix,
    bias: Option<usize>,
) -> Product {
    let add = |index: String| format!("let place = z * SLAB + {index}; dw[place] = dw[place] + v;");
    let dw = Matrix::stored(&["dw"], "");
    Product {
        m: n,
        n: k,
        k: rows,
        batch: 1,
        bindings: bindings(&[dy, x], &dw, &["dw"]),
        a: Load::across_k(dy.load("k", "i")),
        b: Load::across_k(x.load("k", "j")),
        store: add(format!("i * {k}u + j")),
        row_sums: bias.map(|bias| add(format!("{bias}u + i"))),
        causal: Causal::Full,
        slabs: true,
    }
}

/// silu(gate) up of a SwiGLU with so many gates, from what is bound as `wide`: gates, then ups.
pub fn swiglu_hidden(hidden: usize) -> Matrix {
    let wide = 2 * hidden;
    let element = |first: usize| format!("wide[({{r}}) * {wide}u + {first}u + ({{c}})]");
    Matrix::computed(&["wide"], &format!("silu_and_slope({}).x * {}", element(0), element(hidden)))
}

/// dhidden -> dgate and dup of a SwiGLU with so many gates, in what is bound as `dwide`.
pub fn swiglu_gradient(hidden: usize) -> Matrix {
    let wide = 2 * hidden;
    let write = format!(
        "let gate = ({{r}}) * {wide}u + ({{c}}); let s = silu_and_slope(wide[gate]); \
         dwide[gate + {hidden}u] = s.x * v; dwide[gate] = s.y * wide[gate + {hidden}u] * v;"
    );
    Matrix::stored(&["wide", "dwide"], &write)
}

/// The attention products of all sequences and heads; z is sequence * heads + head. A matrix here is that of
/// one of them: its elements may depend on `z`.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Sequences times heads.
    pub batch: usize,
}

impl Attention {
    fn product(&self, n: usize, k: usize, causal: Causal) -> Product {
        let nothing = Load::along_k("");
        Product {
            m: self.tokens,
            n,
            k,
            batch: self.batch,
            bindings: Vec::new(),
            a: nothing.clone(),
            b: nothing,
            store: String::new(),
            row_sums: None,
            causal,
            slabs: false,
        }
    }

    /// Equation (1), s: query, key (T x width) -> coupling (T x T), scores up to the diagonal
    pub fn scores(&self, width: usize, query: &Matrix, key: &Matrix) -> Product {
        let coupling = Matrix::new("coupling", SQUARE);
        Product {
            bindings: bindings(&[query, key], &coupling, &["coupling"]),
            a: Load::along_k(query.load("i", "k")),
            b: Load::along_k(key.load("j", "k")),
            store: coupling.store("i", "j"),
            ..self.product(self.tokens, width, Causal::OutputBelow)
        }
    }

    /// Equation (1), G: coupling with its dropout, values (T x width) -> means (T x width)
    pub fn mix(&self, width: usize, values: &Matrix, means: &Matrix, written: &[&'static str]) -> Product {
        let coupling = Matrix::new("coupling", SQUARE);
        Product {
            bindings: bindings(&[&coupling, values], means, written),
            a: Load::along_k(kept("i", "k")),
            b: Load::across_k(values.load("k", "j")),
            store: means.store("i", "j"),
            ..self.product(width, self.tokens, Causal::InnerPast)
        }
    }

    /// dmeans, values (T x width) -> the coupling's gradient, and at once that of the scores, dscores (T x
    /// T). With A the softmax, dS = A (dA - sum_u A dA), where dropped weights have no dA; the sum is `along`
    /// (tokens x heads).
    pub fn score_gradient(&self, width: usize, dmeans: &Matrix, values: &Matrix) -> Product {
        let mut bound = bindings(&[dmeans, values], &Matrix::new("dscores", SQUARE), &["dscores"]);
        bound.extend([("coupling", "f32", false), ("along", "f32", false)]);
        let store = "let place = (z * T + i) * T + j; let weight = coupling[place]; \
                     let d = select(v * batch.scale, 0.0, bitcast<u32>(weight) >= 0x80000000u); \
                     let mean = along[(z / HEADS * T + i) * HEADS + z % HEADS]; \
                     dscores[place] = abs(weight) * (d - mean);";
        Product {
            bindings: bound,
            a: Load::along_k(dmeans.load("i", "k")),
            b: Load::along_k(values.load("j", "k")),
            store: store.into(),
            ..self.product(self.tokens, width, Causal::OutputBelow)
        }
    }

    /// dscores, key (T x width) -> dquery (T x width)
    pub fn query_gradient(
        &self,
        width: usize,
        key: &Matrix,
        dquery: &Matrix,
        written: &[&'static str],
    ) -> Product {
        let dscores = Matrix::new("dscores", SQUARE);
        Product {
            bindings: bindings(&[&dscores, key], dquery, written),
            a: Load::along_k(below(&dscores, "i", "k")),
            b: Load::across_k(key.load("k", "j")),
            store: dquery.store("i", "j"),
            ..self.product(width, self.tokens, Causal::InnerPast)
        }
    }

    /// dscores, query (T x width) -> dkey (T x width)
    pub fn key_gradient(
        &self,
        width: usize,
        query: &Matrix,
        dkey: &Matrix,
        written: &[&'static str],
    ) -> Product {
        let dscores = Matrix::new("dscores", SQUARE);
        Product {
            bindings: bindings(&[&dscores, query], dkey, written),
            a: Load::across_k(below(&dscores, "k", "i")),
            b: Load::across_k(query.load("k", "j")),
            store: dkey.store("i", "j"),
            ..self.product(width, self.tokens, Causal::InnerFuture)
        }
    }

    /// coupling with its dropout, dmeans (T x width) -> dvalues (T x width)
    pub fn value_gradient(
        &self,
        width: usize,
        dmeans: &Matrix,
        dvalues: &Matrix,
        written: &[&'static str],
    ) -> Product {
        let coupling = Matrix::new("coupling", SQUARE);
        Product {
            bindings: bindings(&[&coupling, dmeans], dvalues, written),
            a: Load::across_k(kept("k", "i")),
            b: Load::across_k(dmeans.load("k", "j")),
            store: dvalues.store("i", "j"),
            ..self.product(width, self.tokens, Causal::InnerFuture)
        }
    }
}

/// An element of a matrix of tokens by tokens.
const SQUARE: &str = "(z * T + {r}) * T + {c}";

/// What lies after the diagonal was never written.
fn below(matrix: &Matrix, t: &str, u: &str) -> String {
    format!("if {u} > {t} {{ return 0.0; }} return {};", matrix.at(t, u))
}

/// A weight of the coupling after dropout: marked weights are dropped.
fn kept(t: &str, u: &str) -> String {
    format!(
        "if {u} > {t} {{ return 0.0; }} let weight = coupling[(z * T + {t}) * T + {u}]; \
         return select(weight * batch.scale, 0.0, bitcast<u32>(weight) >= 0x80000000u);"
    )
}
