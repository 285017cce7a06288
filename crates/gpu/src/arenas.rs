//! What both models' plans share: sizes, parameters and their state, inputs, slabs of gradients, the
//! optimizer.

use crate::builder::{Builder, CHUNK, Rows, kernel};
use crate::matrix_units::MatrixUnits;
use crate::places::Places;
use crate::plan::{ALIGNMENT, Part, Plan};
use crate::product::{SLABS, slab_rows};

/// The sizes of a micro-batch.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// b, sequences.
    pub sequences: usize,
    /// T, tokens of a sequence.
    pub tokens: usize,
    /// k or d.
    pub width: usize,
    /// h.
    pub heads: usize,
    /// L.
    pub layers: usize,
    /// V.
    pub vocab: usize,
    /// What the plan is for.
    pub mode: Mode,
    /// What products run on, if not on ordinary units.
    pub units: Option<MatrixUnits>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Gradients and updates.
    Training,
    /// Losses alone.
    Evaluation,
    /// Logits, and the states and couplings of every layer.
    Tracing,
}

impl Sizes {
    /// Tokens of all sequences.
    pub fn rows(&self) -> usize {
        self.sequences * self.tokens
    }

    /// Coordinates of a head.
    pub fn head(&self) -> usize {
        self.width / self.heads
    }

    /// True if there is room for gradients.
    pub fn training(&self) -> bool {
        self.mode == Mode::Training
    }

    /// Distance of the columns of `scalars`.
    fn scalar_stride(&self) -> usize {
        self.rows().next_multiple_of(ALIGNMENT)
    }

    /// Distance of the keys of a layer and purpose, in elements.
    pub fn key_stride(&self) -> usize {
        (2 * self.sequences).next_multiple_of(ALIGNMENT)
    }

    /// WGSL constants; `slab` is the distance of slabs.
    fn constants(&self, slab: usize) -> String {
        let head = self.head();
        let integers = [
            ("M", self.rows()),
            ("T", self.tokens),
            ("K", self.width),
            ("KH", head),
            ("HEADS", self.heads),
            ("VOCAB", self.vocab),
            ("SLABS", SLABS),
            ("SLAB", slab),
            ("SLAB_ROWS", slab_rows(self.rows())),
            ("ROWS", self.scalar_stride()),
        ];
        let mut text: String =
            integers.iter().map(|(name, value)| format!("const {name}: u32 = {value}u;\n")).collect();
        for (name, value) in [("INVERSE_ROOT_HEAD", head), ("INVERSE_ROOT_WIDTH", self.width)] {
            text.push_str(&format!("const {name}: f32 = {:e};\n", 1.0 / (value as f64).sqrt() as f32));
        }
        text
    }
}

/// A model's plan.
pub struct ModelPlan {
    pub plan: Plan,
    /// What both models have.
    pub arenas: Arenas,
    /// Buffers that are filled once.
    pub constants: Vec<(Part, Vec<f32>)>,
    /// What a trace of a Kuramoto model reads.
    pub traced: Option<Traced>,
}

/// What a trace reads.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Phases (rows x k) before each layer and after the last.
    pub states: Vec<Part>,
    /// Coupling A (h x T x T) of each layer; what lies after the diagonal is not computed.
    pub couplings: Vec<Part>,
    /// Before their scale (rows x V).
    pub logits: Part,
}

/// Buffers that both models have.
pub struct Arenas {
    /// What changes from batch to batch.
    pub batch: Part,
    /// Where tensors lie.
    pub places: Places,
    /// All parameters.
    pub parameters: Part,
    /// Gradients, [`SLABS`] times; each slab ends with the model's tables.
    pub slabs: Part,
    /// The sum of the slabs.
    pub gradient: Part,
    /// The sum of squares of each chunk of the gradient.
    pub squares: Part,
    /// First and second moments.
    pub moments: [Part; 2],
    /// Learning rates and what decay leaves, for every stretch of parameters.
    pub rates: Part,
    /// The numbers of an update.
    pub how: Part,
    /// Inputs (rows).
    pub tokens: Part,
    /// What follows them (rows).
    pub targets: Part,
    /// Dropout keys (layers x 3 purposes x sequences).
    pub keys: Part,
    /// Nats (rows).
    pub losses: Part,
    /// What each row gives to scalar parameters (columns x rows).
    pub scalars: Part,
    /// Which columns belong to which parameter.
    pub scalar_table: Vec<[u32; 4]>,
    /// The same on the device.
    pub table: Part,
}

impl Arenas {
    /// For parameters at these places, with so many elements of tables and columns of scalars.
    pub fn new(
        places: Places,
        sizes: &Sizes,
        constants: &str,
        tables: usize,
        scalars: usize,
        scalar_table: Vec<[u32; 4]>,
    ) -> (Builder, Arenas) {
        let slab = places.padded + tables.next_multiple_of(ALIGNMENT);
        let mut builder = Builder::new(sizes.constants(slab) + constants, sizes.units);
        let (rows, padded) = (sizes.rows(), places.padded);
        let trained = |len: usize| if sizes.training() { len } else { 0 };
        let arenas = Arenas {
            batch: builder.batch,
            parameters: builder.buffer("parameters", padded),
            slabs: builder.buffer("slabs", trained(SLABS * slab)),
            gradient: builder.buffer("gradient", trained(padded)),
            squares: builder.buffer("squares", trained(padded.div_ceil(CHUNK))),
            moments: ["first moments", "second moments"].map(|name| builder.buffer(name, trained(padded))),
            rates: builder.buffer("rates", trained(2 * padded / ALIGNMENT)),
            how: builder.uniform("how", 12),
            tokens: builder.buffer("tokens", rows),
            targets: builder.buffer("targets", rows),
            keys: builder.buffer("keys", sizes.layers * 3 * sizes.key_stride()),
            losses: builder.buffer("losses", rows),
            scalars: builder.buffer("scalars", trained(scalars * sizes.scalar_stride())),
            table: builder.buffer("scalar table", 4 * scalar_table.len()),
            scalar_table,
            places,
        };
        (builder, arenas)
    }

    /// A parameter, or several that are stacked, of so many elements.
    pub fn parameter(&self, name: &str, len: usize) -> Part {
        self.parameters.at(self.places.start(name), len)
    }

    /// The gradients in all slabs from some element on, of which `len` elements of each slab are meant.
    fn gradients_at(&self, start: usize, len: usize) -> Part {
        Part {
            start: self.slabs.start + start,
            len: self.slabs.len - start,
            touched: SLABS * len,
            ..self.slabs
        }
    }

    /// The gradient of a parameter, or of several that are stacked, in all slabs.
    pub fn gradients(&self, name: &str, len: usize) -> Part {
        self.gradients_at(self.places.start(name), len)
    }

    /// The gradient of the model's tables in all slabs.
    pub fn table_gradients(&self, len: usize) -> Part {
        self.gradients_at(self.places.padded, len)
    }

    /// How far a tensor lies after another.
    pub fn distance(&self, from: &str, to: &str) -> usize {
        self.places.start(to) - self.places.start(from)
    }

    /// The keys of a layer's purpose (0 attention, 1 and 2 the increments).
    pub fn keys_of(&self, sizes: &Sizes, layer: usize, purpose: usize) -> Part {
        self.keys.at((3 * layer + purpose) * sizes.key_stride(), 2 * sizes.sequences)
    }

    /// A column of `scalars`.
    pub fn scalar(&self, sizes: &Sizes, column: usize) -> Part {
        self.scalars.at(column * sizes.scalar_stride(), sizes.rows())
    }

    /// Adds the sums of scalars over rows.
    pub fn sum_scalars(&self, builder: &mut Builder) {
        if self.scalar_table.is_empty() {
            return;
        }
        builder.rows(Rows {
            name: "scalars",
            text: kernel!("scalars"),
            entry: "backward",
            flags: &[],
            constants: String::new(),
            bindings: &[("scalars", self.scalars), ("table", self.table), ("slabs", self.slabs)],
            groups: [self.scalar_table.len(), 1, 1],
        });
    }

    /// Adds the sum of the slabs and their squares.
    pub fn reduce(&self, builder: &mut Builder) {
        builder.rows(Rows {
            name: "reduce",
            text: kernel!("reduce"),
            entry: "reduce",
            flags: &[],
            constants: format!("const COUNT: u32 = {}u;", self.places.padded),
            bindings: &[("slabs", self.slabs), ("gradient", self.gradient), ("squares", self.squares)],
            groups: self.chunks(),
        });
    }

    /// Adds the optimizer.
    pub fn adamw(&self, builder: &mut Builder) {
        let [first, second] = self.moments;
        builder.rows(Rows {
            name: "adamw",
            text: kernel!("adamw"),
            entry: "update",
            flags: &[],
            constants: format!("const COUNT: u32 = {}u;", self.places.padded),
            bindings: &[
                ("how", self.how),
                ("rates", self.rates),
                ("gradient", self.gradient),
                ("parameters", self.parameters),
                ("first", first),
                ("second", second),
            ],
            groups: self.chunks(),
        });
    }

    fn chunks(&self) -> [usize; 3] {
        [self.places.padded.div_ceil(CHUNK), 1, 1]
    }
}
